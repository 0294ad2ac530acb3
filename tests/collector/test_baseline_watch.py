"""Live traffic beside the current baseline, from a real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest_asyncio
from prometheus_client import generate_latest

from collector.baseline_watch import BaselineWatch
from collector.metrics import Metrics
from collector.store.baselines import Baseline, KeptSession
from collector.store.sqlite import SqliteStore
from judge.verdict import Judged, NotJudged, Outcome, Score
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS, closed, judged

YES, NO = Score(1.0, "Yes", ""), Score(0.0, "No", "")
HOUR_NS = 3_600 * 1_000_000_000


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """The baseline of the shop has three verdicts that passed and one that failed."""
    store = SqliteStore.open(tmp_path / "verdicts.db")
    kept = [KeptSession(closed(f"b-{n}"), (verdict(f"b-{n}", NO if n == 3 else YES, "6"),)) for n in range(4)]
    await store.baselines.save(Baseline("v6", "shop", "6", NOW_NS, 4), kept)
    await store.baselines.promote("v6", NOW_NS)
    yield store
    await store.close()


def verdict(session_id: str, outcome: Outcome, version: str = "7") -> Judged:
    return replace(judged(session_id, outcome=outcome), agent_version=version)


class Watched:
    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.clock = FakeClock(NOW_NS)
        self.metrics = Metrics()
        self.watch = BaselineWatch(store, self.clock, self.metrics, hours=2)

    async def close(self, session_id: str, outcome: Outcome, version: str = "7", ago_ns: int = 0) -> None:
        session = closed(session_id, closed_ns=self.clock.now_ns() - ago_ns)
        await self.store.finish(session, [verdict(session_id, outcome, version)], [], [])

    def value(self, name: str = "baseline_delta", version: str | None = "7") -> float | None:
        labels = {"service": "shop", "evaluator": "skill_selection"} | ({"agent_version": version} if version else {})
        return self.metrics.registry.get_sample_value(f"spanjudge_{name}", labels)


async def test_the_difference_of_pass_rates_is_shown_for_each_version_with_its_counts(store: SqliteStore) -> None:
    desk = Watched(store)
    await desk.close("a", YES)
    await desk.close("b", NO)
    await desk.close("c", YES, "8")
    await desk.watch.look()
    assert desk.value() == 0.5 - 0.75
    assert desk.value("baseline_expected_ratio") == 0.75
    assert desk.value(version="8") == 1 - 0.75
    assert desk.value("baseline_live_verdicts") == 2
    assert desk.value("baseline_verdicts", None) == 4


async def test_each_look_adds_what_is_new(store: SqliteStore) -> None:
    desk = Watched(store)
    await desk.close("a", YES)
    await desk.watch.look()
    await desk.close("b", NO)
    await desk.watch.look()
    await desk.watch.look()
    assert desk.value("baseline_live_verdicts") == 2
    assert desk.value() == -0.25


async def test_what_closed_before_the_window_is_forgotten(store: SqliteStore) -> None:
    desk = Watched(store)
    await desk.close("old", NO, ago_ns=3 * HOUR_NS)
    await desk.close("new", YES)
    await desk.watch.look()
    assert desk.value("baseline_live_verdicts") == 1
    desk.clock.advance(2 * 3600)
    await desk.watch.look()
    assert desk.value() is None, "a rate that is not known any more must not stand still"


async def test_a_restart_counts_the_window_again(store: SqliteStore) -> None:
    first = Watched(store)
    await first.close("a", YES)
    await first.watch.look()
    again = Watched(store)
    await again.watch.look()
    assert again.value("baseline_live_verdicts") == 1


async def test_another_promoted_baseline_is_compared_with_at_once(store: SqliteStore) -> None:
    desk = Watched(store)
    await desk.close("a", YES)
    await desk.watch.look()
    kept = [KeptSession(closed("b-9"), (verdict("b-9", NO),))]
    await store.baselines.save(Baseline("v7", "shop", "7", NOW_NS, 1), kept)
    await store.baselines.promote("v7", NOW_NS)
    await desk.watch.look()
    assert desk.value() == 1.0


async def test_without_scores_on_both_sides_nothing_is_shown(store: SqliteStore) -> None:
    desk = Watched(store)
    await desk.close("a", NotJudged("judge_refused"))
    other = judged("b", "budgets", YES)
    await store.finish(closed("b"), [other], [], [])
    await desk.watch.look()
    assert b"spanjudge_baseline_delta{" not in generate_latest(desk.metrics.registry)
    await desk.close("c", YES)
    await desk.watch.look()
    assert generate_latest(desk.metrics.registry).count(b"spanjudge_baseline_delta{") == 1


async def test_a_deleted_baseline_takes_its_metrics_along(store: SqliteStore) -> None:
    desk = Watched(store)
    await desk.close("a", YES)
    await desk.watch.look()
    await store.baselines.delete("v6")
    await desk.watch.look()
    assert desk.value() is None
    assert desk.value("baseline_verdicts", None) is None


async def test_a_closing_that_is_superseded_is_taken_back(store: SqliteStore) -> None:
    desk = Watched(store)
    await desk.close("a", NO)
    await desk.watch.look()
    assert desk.value() == -0.75
    again = replace(judged("a", outcome=YES, revision=2), agent_version="7")
    await store.finish(closed("a", revision=2), [again], [], [])
    await desk.watch.look()
    assert desk.value() == 0.25
    assert desk.value("baseline_live_verdicts") == 1


async def test_what_another_judge_found_is_counted_and_not_compared(store: SqliteStore) -> None:
    desk = Watched(store)
    other = verdict("a", NO)
    other = replace(other, verdict=replace(other.verdict, judge_model="model-b", prompt_version="v1"))
    await store.finish(closed("a"), [other], [], [])
    await desk.watch.look()
    assert desk.value() is None
    assert desk.value("baseline_left_out_verdicts") == 1
    await desk.close("b", YES)
    await desk.watch.look()
    assert desk.value() == 0.25
    assert (desk.value("baseline_live_verdicts"), desk.value("baseline_left_out_verdicts")) == (1, 1)


async def test_composites_are_not_compared_when_another_judge_had_a_part_in_them(store: SqliteStore) -> None:
    desk = Watched(store)

    def session(name: str, model: str) -> list[Judged]:
        goal = verdict(name, YES)
        goal = replace(goal, verdict=replace(goal.verdict, evaluator="goal_completion", judge_model=model))
        whole = judged(name, "composite", Score(1.0, "pass", ""))
        return [replace(goal, id=f"{name}-goal"), replace(whole, agent_version="7")]

    await store.baselines.save(
        Baseline("v7", "shop", "7", NOW_NS, 1), [KeptSession(closed("k"), tuple(session("k", "a")))]
    )
    await store.baselines.promote("v7", NOW_NS)
    labels = {"service": "shop", "evaluator": "composite", "agent_version": "7"}
    for name, model, delta in (("a", "a", 0.0), ("b", "b", None)):
        await store.finish(closed(name), session(name, model), [], [])
        await desk.watch.look()
        assert desk.metrics.registry.get_sample_value("spanjudge_baseline_delta", labels) == delta
    assert desk.metrics.registry.get_sample_value("spanjudge_baseline_left_out_verdicts", labels) == 2


async def test_versions_beyond_the_bound_of_labels_are_shown_together(store: SqliteStore) -> None:
    desk = Watched(store)
    for number in range(230):
        await desk.close(f"s-{number}", YES, f"build-{number}")
    await desk.watch.look()
    together = desk.value("baseline_live_verdicts", "other")
    assert together is not None
    assert together == 30
    assert desk.value(version="other") == 0.25
