"""Pass rates as metrics, from a real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest_asyncio

from collector.calibrating import Calibrating
from collector.metrics import Metrics
from collector.store.labels import Label
from collector.store.sqlite import SqliteStore
from judge.calibration import Minimum
from judge.verdict import Judged, Score
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS, closed, judged

YES, NO = Score(1.0, "Yes", ""), Score(0.0, "No", "")
SHOP = {"service": "shop", "evaluator": "skill_selection", "agent_version": "7"}


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """Eight sessions that passed and two that failed, one of them long ago."""
    store = SqliteStore.open(tmp_path / "verdicts.db")
    for number in range(10):
        at_ns = NOW_NS - (9_000_000_000_000 if number == 9 else 0)
        await store.finish(closed(f"s-{number}", closed_ns=at_ns), [verdict(number)], [], [])
    yield store
    await store.close()


def verdict(number: int) -> Judged:
    return judged(f"s-{number}", outcome=YES if number < 8 else NO)


async def shown(store: SqliteStore, metrics: Metrics | None = None) -> Metrics:
    metrics = metrics or Metrics()
    minimum = Minimum(labels=6, each=2)
    calibrating = Calibrating(store, FakeClock(NOW_NS), metrics, window_s=3600, interval_s=60, minimum=minimum)
    await calibrating.look()
    return metrics


def value(metrics: Metrics, name: str) -> float | None:
    return metrics.registry.get_sample_value(f"spanjudge_pass_ratio{name}", SHOP)


async def label(store: SqliteStore, number: int, *, agrees: bool = True) -> None:
    passed = (number < 8) == agrees
    assert await store.labels.add(Label(verdict(number).id, "ana", NOW_NS, agrees, passed, "I read it."))


async def test_a_rate_is_shown_as_it_was_counted_within_its_window(store: SqliteStore) -> None:
    metrics = await shown(store)
    assert value(metrics, "") == 8 / 9
    assert value(metrics, "_verdicts") == 9


async def test_a_corrected_rate_is_not_shown_before_there_are_enough_labels(store: SqliteStore) -> None:
    for number in (0, 1, 8):
        await label(store, number)
    metrics = await shown(store)
    assert value(metrics, "_labels") == 3
    for name in ("_corrected", "_corrected_low", "_corrected_high"):
        assert value(metrics, name) is None


async def test_a_corrected_rate_comes_with_its_interval(store: SqliteStore) -> None:
    for number in (0, 1, 2, 3, 4, 5, 8, 9):
        await label(store, number)
    metrics = await shown(store)
    low, corrected, high = (value(metrics, name) for name in ("_corrected_low", "_corrected", "_corrected_high"))
    assert low is not None
    assert corrected is not None
    assert high is not None
    assert 0 <= low < corrected < high <= 1
    assert value(metrics, "_labels") == 8


async def test_a_rate_that_is_not_known_any_more_disappears(store: SqliteStore) -> None:
    metrics = await shown(store)
    assert await store.retention.purge(NOW_NS + 1, 100) == 10
    await shown(store, metrics)
    assert value(metrics, "") is None


async def test_agents_beyond_the_bound_of_labels_are_shown_together(store: SqliteStore) -> None:
    for number in range(300):
        one = replace(judged(f"many-{number}", outcome=YES), agent_version=f"build-{number}")
        await store.finish(closed(f"many-{number}"), [one], [], [])
    metrics = await shown(store)
    together = {**SHOP, "agent_version": "other"}
    count = metrics.registry.get_sample_value("spanjudge_pass_ratio_verdicts", together)
    assert count is not None
    assert count > 1
