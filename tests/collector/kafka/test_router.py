"""Through a real broker: every span and record reaches the sessions that it belongs to, once."""

from __future__ import annotations

import pytest

from collector.kafka.traces import Patience
from tests.collector.kafka.routers import Bench, routing
from tests.collector.sessions.telemetry import span, trace_request
from tests.kafka.desk import Desk

pytestmark = pytest.mark.integration("kafka")


async def test_a_name_that_comes_late_takes_the_whole_trace_along(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench) as running:
        await bench.spans(1, trace_request([span(1, 2, 1)]), trace_request([span(1, 3, 1)]))
        await bench.caught_up()
        assert await bench.given() == {}
        assert running.value("router_items_total", signal="traces", outcome="parked") == 2
        await bench.spans(1, trace_request([span(1, 1, session__id="ann")]), trace_request([span(1, 4, 1)]))
        given = await bench.until(ann={1, 2, 3, 4})
        assert given["ann"].spans.total() == 4
        assert running.value("router_unparked_total", signal="traces", outcome="session") == 2
        assert running.router.problem() is None


async def test_a_trace_that_nobody_names_is_a_session_of_its_own(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench, Patience(name_ms=500)):
        await bench.spans(1, trace_request([span(1, 2, 1)]))
        name = f"trace:{1:032x}"
        assert (await bench.until(**{name: {2}}))[name].spans.total() == 1
