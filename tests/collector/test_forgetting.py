"""What is deleted by age, what by size, and how much of it at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from collector.errors import StoreUnavailable
from collector.forgetting import MOST, Bounds, Forgetting
from collector.metrics import Metrics
from collector.store.retention import StoreSize
from collector.store.sqlite import SqliteStore
from collector.store.store import SessionFilter
from tests.fakes.clock import SECOND_NS, FakeClock
from tests.fakes.verdicts import closed, judged, pending

DAY_NS = 86_400 * SECOND_NS
HOUR_NS = 3_600 * SECOND_NS


@dataclass
class Shelf:
    """A `collector.store.retention.Retention` of closings of one size, of which some must stay; deleting one takes a
    while. Nothing is found too old."""

    clock: FakeClock
    closings: int
    kept: int = 0
    each: int = 1_000
    seconds_each: float = 0.0
    empty: int = 0
    full_above: int | None = None
    """A disk with room to delete only so many at once."""
    asked: list[int] = field(default_factory=list)

    async def purge(self, before_ns: int, limit: int, *, only_done: bool = False) -> int:
        self.asked.append(limit)
        if not only_done:
            return 0
        if self.full_above is not None and limit > self.full_above:
            raise StoreUnavailable("database or disk is full")
        deleted = min(limit, self.closings - self.kept)
        self.clock.advance(deleted * self.seconds_each)
        self.closings -= deleted
        self.empty += deleted * self.each
        return deleted

    async def size(self) -> StoreSize:
        used = self.closings * self.each
        return StoreSize(used + self.empty, used)

    async def give_back(self) -> bool:
        self.empty = max(0, self.empty - 50 * self.each)
        return self.empty > 0


async def _until_quiet(forgetting: Forgetting) -> list[float]:
    """The pauses between steps, up to the first long one."""
    pauses: list[float] = []
    while not pauses or pauses[-1] < 60:
        pauses.append(await forgetting.step())
        assert len(pauses) < 10_000, "it never comes to rest"
    return pauses


def _value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"spanjudge_{name}", labels)


@given(closings=st.integers(0, 3_000), most=st.integers(0, 3_000), seconds=st.sampled_from([0.0, 0.001, 0.1, 3.0]))
async def test_by_size_as_many_go_as_must_and_hardly_more(closings: int, most: int, seconds: float) -> None:
    clock, metrics = FakeClock(), Metrics()
    shelf = Shelf(clock, closings, seconds_each=seconds)
    await _until_quiet(Forgetting(shelf, Bounds(DAY_NS, most * 1_000, 0), clock, metrics))
    assert shelf.closings <= most
    assert shelf.closings >= min(closings, most - MOST)
    assert _value(metrics, "sessions_removed_total", reason="size") == closings - shelf.closings
    assert _value(metrics, "store_used_bytes") == shelf.closings * 1_000


async def test_room_that_was_made_is_given_back_until_the_disk_has_it() -> None:
    clock, metrics = FakeClock(), Metrics()
    shelf = Shelf(clock, closings=500)
    await _until_quiet(Forgetting(shelf, Bounds(DAY_NS, 100_000, 0), clock, metrics))
    assert shelf.empty == 0
    assert _value(metrics, "store_bytes") == 100_000


async def test_fewer_go_at_once_when_deleting_takes_long_and_more_again_when_it_does_not() -> None:
    clock = FakeClock()
    shelf = Shelf(clock, closings=2_000, seconds_each=0.02)
    forgetting = Forgetting(shelf, Bounds(DAY_NS, 0, 0), clock, Metrics())
    for _ in range(6):
        await forgetting.step()
    assert shelf.asked[1::2] == [200, 100, 50, 25, 12, 12]
    shelf.seconds_each = 0
    await forgetting.step()
    await forgetting.step()
    assert shelf.asked[-1] == 24


async def test_a_full_disk_is_tried_again_with_less() -> None:
    clock, metrics = FakeClock(), Metrics()
    shelf = Shelf(clock, closings=50, full_above=5)
    forgetting = Forgetting(shelf, Bounds(DAY_NS, 0, 0), clock, metrics)
    with capture_logs() as logs:
        pauses = [await forgetting.step() for _ in range(3)]
    assert shelf.asked[1::2] == [200, 20, 2]
    assert pauses[:2] == [10, 10]
    assert [entry["event"] for entry in logs] == ["store_unavailable", "store_unavailable", "old_sessions_deleted"]
    assert _value(metrics, "sessions_removed_total", reason="size") == 2


async def test_a_store_that_has_to_stay_too_large_is_told_once() -> None:
    clock, metrics = FakeClock(), Metrics()
    shelf = Shelf(clock, closings=10, kept=10)
    forgetting = Forgetting(shelf, Bounds(DAY_NS, 5_000, 0), clock, metrics)
    with capture_logs() as logs:
        assert [await forgetting.step() for _ in range(3)] == [60, 60, 60]
    assert [entry["event"] for entry in logs] == ["store_above_max_bytes"]
    assert (logs[0]["used_bytes"], logs[0]["max_bytes"]) == (10_000, 5_000)
    assert _value(metrics, "store_excess_bytes") == 5_000


@pytest.mark.parametrize("max_bytes", [None, 10_000, 20_000])
async def test_a_store_within_its_bound_or_without_one_is_not_too_large(max_bytes: int | None) -> None:
    clock, metrics = FakeClock(), Metrics()
    await Forgetting(Shelf(clock, closings=10, kept=10), Bounds(DAY_NS, max_bytes, 0), clock, metrics).step()
    assert _value(metrics, "store_used_bytes") == 10_000
    assert _value(metrics, "store_excess_bytes") == 0


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    yield store
    await store.close()


async def _names(store: SqliteStore) -> set[str]:
    return {summary.ref.session_id for summary in await store.sessions(SessionFilter(limit=1_000))}


async def test_by_age_everything_goes_whatever_waits(store: SqliteStore) -> None:
    clock, metrics = FakeClock(), Metrics()
    now_ns = clock.now_ns()
    await store.finish(closed("old", closed_ns=now_ns - 2 * DAY_NS), [judged("old")], [pending("old")], ["otlp"])
    await store.finish(closed("new", closed_ns=now_ns), [judged("new")], [], ["otlp"])
    await _until_quiet(Forgetting(store.retention, Bounds(DAY_NS, None, HOUR_NS), clock, metrics))
    assert await _names(store) == {"new"}
    assert (await store.pending_questions(), await store.outbox_size("otlp")) == (0, 1)
    assert _value(metrics, "sessions_removed_total", reason="age") == 1
    assert (_value(metrics, "store_bytes") or 0) >= (_value(metrics, "store_used_bytes") or 0) > 0


async def test_by_size_the_oldest_go_but_for_what_is_in_use_and_what_closed_just_now(store: SqliteStore) -> None:
    clock, metrics = FakeClock(), Metrics()
    now_ns, text = clock.now_ns(), "word " * 20_000
    for number in range(30):
        age_ns = (30 - number) * HOUR_NS // 10
        await store.finish(closed(f"s-{number:02}", closed_ns=now_ns - age_ns, task=text), [], [], [])
    oldest_ns = now_ns - 9 * HOUR_NS
    await store.finish(closed("asked", closed_ns=oldest_ns, task=text), [], [pending("asked")], [])
    await store.finish(closed("unsent", closed_ns=oldest_ns, task=text), [judged("unsent")], [], ["otlp"])
    size = await store.retention.size()
    bounds = Bounds(DAY_NS, size.used * 3 // 4, HOUR_NS)
    await _until_quiet(Forgetting(store.retention, bounds, clock, metrics))
    assert (await store.retention.size()).used <= bounds.max_bytes  # type: ignore[operator]
    left = await _names(store)
    assert {"asked", "unsent"} <= left
    assert {f"s-{number:02}" for number in range(20, 30)} <= left, "closed within the hour"
