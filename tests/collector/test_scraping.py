"""Which format a scraper gets, and that nothing waits while it is written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CLASSIC
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.registry import Collector

from collector.metrics import Metrics
from collector.scraping import Scraping, takes_openmetrics

PROMETHEUS_2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain"
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.2"
)
MEDIA = ["application/openmetrics-text", "text/plain", "*/*", ";", ",", "=", "version", "1.0.0", "abc", "q", "0", " "]


class Slow(Collector):
    """Metrics that are there when somebody lets them be; how many collect them at a time is counted."""

    def __init__(self) -> None:
        self.may_go = threading.Event()
        self.most = 0
        self._now = 0

    def collect(self) -> Iterable[Metric]:
        self._now += 1
        self.most = max(self.most, self._now)
        assert self.may_go.wait(30)
        self._now -= 1
        return []


@pytest.mark.parametrize(
    "accept",
    [PROMETHEUS_2, PROMETHEUS_3, "application/openmetrics-text", "Application/OpenMetrics-Text; Version=1.0.0"],
)
def test_who_names_openmetrics_gets_it(accept: str) -> None:
    assert takes_openmetrics(accept)


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        "text/plain;version=1.0.0",
        "application/openmetrics-text;version=0.0.1",
        "application/openmetrics-text;version=2.0.0",
        "application/openmetrics-text;version=abc",
        "application/openmetrics-text;q=0.0",
        "application/vnd.google.protobuf;encoding=delimited",
    ],
)
def test_who_does_not_or_wants_another_version_gets_classic_text(accept: str) -> None:
    assert not takes_openmetrics(accept)


@given(st.lists(st.sampled_from(MEDIA)).map("".join) | st.text(max_size=40))
async def test_whatever_is_asked_for_metrics_come_under_the_type_that_they_have(accept: str) -> None:
    text, content_type = await Scraping(CollectorRegistry()).text(accept)
    assert (content_type, text) in {(OPENMETRICS, b"# EOF\n"), (CLASSIC, b"")}


async def test_other_work_goes_on_while_metrics_are_written_and_scrapes_take_turns() -> None:
    slow, registry = Slow(), CollectorRegistry()
    slow.may_go.set()
    registry.register(slow)
    slow.may_go.clear()
    scraping = Scraping(registry)
    scrapes = [asyncio.create_task(scraping.text("")) for _ in range(3)]
    await asyncio.sleep(0)
    slow.may_go.set()  # nobody would come to do so if the event loop were waiting
    await asyncio.gather(*scrapes)
    assert slow.most == 1


async def test_text_is_the_same_as_the_registry_has() -> None:
    text, _ = await Scraping(Metrics("1.2.3").registry).text(PROMETHEUS_3)
    assert b'spanjudge_build_info{version="1.2.3"} 1.0' in text
