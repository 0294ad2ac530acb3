"""The outbox is drained: whatever the receiver does, nothing is lost and nothing stands in the way."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import grpc
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.clock import SystemClock
from collector.config import OtlpExport
from collector.exporters.otlp import OtlpExporter
from collector.exporting import Backoff, Delivered, Exporting, Later, Outcome, Rejected
from collector.metrics import Metrics
from collector.store.sqlite import SqliteStore
from judge.verdict import Judged, verdict_span_id
from tests.collector.exporters.desk import SERVE, Protocol
from tests.fakes.clock import FakeClock
from tests.fakes.otlp_sink import OtlpSink, Received, Refusal, grpc_sink, span_count
from tests.fakes.verdicts import NOW_NS, closed, judged

EVER_NS = 2**62
QUICK = Backoff(first_s=0.02, max_s=0.05)


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    yield store
    await store.close()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


class WatchedExporter:
    """Answers each batch as `answer` says and keeps what it saw; `until` waits for it."""

    name = "otlp"

    def __init__(self, answer: Callable[[Sequence[Judged]], Awaitable[Outcome]]) -> None:
        self._answer = answer
        self._changed = asyncio.Condition()
        self.batches: list[list[str]] = []
        self.taken: list[str] = []
        self.failures = 0

    async def send(self, judged: Sequence[Judged]) -> Outcome:
        names = [item.session.session_id for item in judged]
        outcome = await self._answer(judged)
        async with self._changed:
            self.batches.append(names)
            self.taken += names if isinstance(outcome, Delivered) else []
            self.failures += isinstance(outcome, Later)
            self._changed.notify_all()
        return outcome

    async def until(self, condition: Callable[[], bool], within_s: float = 20) -> None:
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(condition)

    async def close(self) -> None:
        """Nothing to close."""


def _scripted(decide: Callable[[Sequence[Judged]], Outcome] = lambda _: Delivered()) -> WatchedExporter:
    async def answer(judged: Sequence[Judged]) -> Outcome:
        return decide(judged)

    return WatchedExporter(answer)


async def _queue(store: SqliteStore, *names: str) -> None:
    for name in names:
        await store.finish(closed(name), [judged(name)], [], ["otlp"])


@asynccontextmanager
async def _running(exporting: Exporting) -> AsyncIterator[None]:
    stop = asyncio.Event()
    running = asyncio.create_task(exporting.run(stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(running, 20)


def _count(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(f"spanjudge_{name}", {"exporter": "otlp", **labels}) or 0


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
async def test_a_receiver_that_was_down_gets_everything_once_it_is_up(
    protocol: Protocol, store: SqliteStore, metrics: Metrics
) -> None:
    async with SERVE[protocol](OtlpSink()) as endpoint:
        port = urlsplit(endpoint).port
    await _queue(store, *(f"s-{n}" for n in range(25)))
    otlp = OtlpExporter(OtlpExport(endpoint=endpoint, protocol=protocol, timeout_seconds=2))
    exporter = WatchedExporter(otlp.send)
    sink = OtlpSink()
    async with _running(Exporting(store, exporter, SystemClock(), metrics, backoff=QUICK, batch=10, idle_s=0.05)):
        await exporter.until(lambda: exporter.failures > 1)
        async with SERVE[protocol](sink, port):
            await exporter.until(lambda: len(exporter.taken) == 25)
    await otlp.close()
    assert set(sink.span_ids) == {verdict_span_id(judged(f"s-{n}").id) for n in range(25)}
    assert sink.records >= 25
    assert await store.outbox_size("otlp") == 0
    assert _count(metrics, "export_sent_total") == 25


async def test_a_poke_is_heard_at_once(store: SqliteStore, metrics: Metrics) -> None:
    exporter = _scripted()
    exporting = Exporting(store, exporter, SystemClock(), metrics, idle_s=3600)
    async with _running(exporting):
        for name in ("s-1", "s-2"):
            await _queue(store, name)
            exporting.poke()
            await exporter.until(lambda name=name: name in exporter.taken)  # type: ignore[misc]


async def test_neither_a_poke_nor_the_next_batch_cuts_a_pause_the_receiver_asked_for(
    store: SqliteStore, metrics: Metrics
) -> None:
    await _queue(store, "s-1", "s-2")
    exporter = _scripted(lambda _: Later("unavailable", "down", after_s=3600))
    exporting = Exporting(store, exporter, SystemClock(), metrics, batch=1)
    async with _running(exporting):
        await exporter.until(lambda: exporter.failures == 1)
        exporting.poke()
        await store.outbox_size("otlp")
    assert exporter.batches == [["s-1"]], "and a stop ends the pause"
    assert await store.outbox_size("otlp") == 2


async def test_a_batch_nobody_can_take_does_not_stand_in_the_way(store: SqliteStore, metrics: Metrics) -> None:
    await _queue(store, "slow", "s-1", "s-2", "s-3")

    def decide(batch: Sequence[Judged]) -> Outcome:
        slow = any(item.session.session_id == "slow" for item in batch)
        return Later("deadline_exceeded", "too slow") if slow else Delivered()

    exporter = _scripted(decide)
    async with _running(Exporting(store, exporter, SystemClock(), metrics, backoff=QUICK, batch=1, idle_s=0.01)):
        await exporter.until(lambda: len(exporter.taken) == 3)
    assert await store.outbox_size("otlp") == 1


async def test_one_item_the_receiver_refuses_does_not_stop_the_others(store: SqliteStore, metrics: Metrics) -> None:
    bad = bytes.fromhex(verdict_span_id(judged("s-5").id))

    def decide(request: Received) -> Refusal | None:
        refused = span_count(request) and bad in request.SerializeToString()
        return Refusal(grpc.StatusCode.INVALID_ARGUMENT) if refused else None

    await _queue(store, *(f"s-{n}" for n in range(16)))
    sink = OtlpSink(decide)
    async with grpc_sink(sink) as endpoint:
        exporter = OtlpExporter(OtlpExport(endpoint=endpoint))
        assert await Exporting(store, exporter, SystemClock(), metrics).drain(EVER_NS) == 0
        await exporter.close()
    assert sorted(sink.span_ids) == sorted(verdict_span_id(judged(f"s-{n}").id) for n in range(16) if n != 5)
    assert _count(metrics, "export_sent_total") == 15
    assert _count(metrics, "export_failed_total", reason="invalid_argument") == 1


@settings(max_examples=12, deadline=None)
@given(bad=st.sets(st.integers(0, 11)), raises=st.booleans())
def test_any_set_of_bad_items_costs_only_itself(bad: set[int], raises: bool) -> None:
    names = {f"s-{number}" for number in bad}

    def decide(batch: Sequence[Judged]) -> Outcome:
        if not any(item.session.session_id in names for item in batch):
            return Delivered()
        if raises:
            raise KeyError("a bug about this item")
        return Rejected("invalid_argument", "odd")

    async def check(directory: Path) -> None:
        store = SqliteStore.open(directory / "verdicts.db")
        exporter = _scripted(decide)
        await store.finish(closed(), [judged(f"s-{n}") for n in range(12)], [], ["otlp"])
        left = await Exporting(store, exporter, FakeClock(), Metrics()).drain(EVER_NS)
        assert sorted(exporter.taken) == sorted({f"s-{n}" for n in range(12)} - names)
        assert left == (len(bad) if raises else 0), "a bug of ours keeps them, a refusal gives them up"
        await store.close()

    with TemporaryDirectory() as directory:
        asyncio.run(check(Path(directory)))


async def test_a_refusal_of_the_whole_batch_is_not_taken_apart(store: SqliteStore, metrics: Metrics) -> None:
    await _queue(store, "s-1", "s-2")
    exporter = _scripted(lambda _: Rejected("internal", "bug over there", by_item=False))
    assert await Exporting(store, exporter, FakeClock(), metrics).drain(EVER_NS) == 0
    assert exporter.batches == [["s-1", "s-2"]]
    assert _count(metrics, "export_failed_total", reason="internal") == 2


async def test_a_partial_success_is_counted_and_not_repeated(store: SqliteStore, metrics: Metrics) -> None:
    await _queue(store, "s-1", "s-2", "s-3")
    exporter = _scripted(lambda _: Delivered(rejected=1, detail="one is odd"))
    assert await Exporting(store, exporter, FakeClock(), metrics).drain(EVER_NS) == 0
    assert _count(metrics, "export_sent_total") == 2
    assert _count(metrics, "export_failed_total", reason="partial_success") == 1


async def test_a_store_that_fails_after_the_delivery_causes_no_second_one(tmp_path: Path, metrics: Metrics) -> None:
    path = tmp_path / "verdicts.db"
    store = SqliteStore.open(path, busy_timeout_s=0.05)
    await _queue(store, "s-1")
    other = sqlite3.connect(path, isolation_level=None)

    def decide(_: Sequence[Judged]) -> Outcome:
        other.execute("BEGIN IMMEDIATE")  # from here on nothing can be written
        return Delivered()

    exporter = _scripted(decide)
    exporting = Exporting(store, exporter, FakeClock(), metrics)
    assert await exporting.drain(EVER_NS) == 1
    other.rollback()
    assert await exporting.drain(EVER_NS) == 0
    assert exporter.batches == [["s-1"]]
    other.close()
    await store.close()


async def test_draining_tries_what_waits_too_and_stops_at_the_first_failure(
    store: SqliteStore, metrics: Metrics
) -> None:
    await _queue(store, "s-1", "s-2")
    clock = FakeClock()
    await store.postpone_exports("otlp", [judged("s-1").id], clock.now_ns() + 10**12)
    exporter = _scripted(lambda _: Later("unavailable", "down"))
    assert await Exporting(store, exporter, clock, metrics, batch=1).drain(EVER_NS) == 2
    assert exporter.batches == [["s-1"]]


async def test_draining_ends_at_its_deadline_and_keeps_what_is_left(store: SqliteStore, metrics: Metrics) -> None:
    await _queue(store, "s-1")

    async def never(_: Sequence[Judged]) -> Outcome:
        await asyncio.Event().wait()
        return Delivered()

    clock = FakeClock()
    exporting = Exporting(store, WatchedExporter(never), clock, metrics)
    assert await exporting.drain(clock.now_ns() + 50_000_000) == 1
    assert await exporting.drain(clock.now_ns() - 1) == 1


@given(failures=st.integers(1, 5000), chance=st.floats(0, 1))
def test_a_wait_is_within_its_bounds_and_doubles(failures: int, chance: float) -> None:
    backoff = Backoff(first_s=0.5, max_s=60)
    wait_s = backoff.wait_s(failures, chance)
    assert 0.25 <= wait_s <= 60
    assert backoff.wait_s(1, 1.0) == 0.5
    assert backoff.wait_s(3, 1.0) == 2.0
    assert backoff.wait_s(failures + 1, chance) >= wait_s


async def test_how_long_each_verdict_took_is_counted_when_it_is_delivered(store: SqliteStore, metrics: Metrics) -> None:
    clock = FakeClock(NOW_NS)
    for name, ago in (("s-1", 2), ("s-2", 40)):
        session = closed(name, closed_ns=NOW_NS - ago * 1_000_000_000)
        await store.finish(session, [judged(name)], [], ["otlp"])
    exporter = _scripted()
    assert await Exporting(store, exporter, clock, metrics).drain(NOW_NS + 10**9) == 0
    assert _count(metrics, "export_lag_seconds_count") == 2
    assert _count(metrics, "export_lag_seconds_sum") == 42
