"""What failed a gate just before a process ended is told by the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from collector.gate_recalling import recall
from collector.metrics import Metrics
from collector.store.sqlite import SqliteStore
from judge.verdict import Judged, Score
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS, closed, judged

HOUR_NS = 3_600 * 1_000_000_000


def verdict(session_id: str, evaluator: str, label: str, *, high_risk: bool, judged_ns: int) -> Judged:
    score = Score(0.0, label, "")
    made = judged(session_id, evaluator, score, skill=None, ref="session", high_risk=high_risk, judged_ns=judged_ns)
    return replace(made, verdict=replace(made.verdict, case="desk/refund"))


async def kept(
    store: SqliteStore, session_id: str, evaluator: str, label: str, ago_ns: int, *, high_risk: bool
) -> None:
    at_ns = NOW_NS - ago_ns
    made = verdict(session_id, evaluator, label, high_risk=high_risk, judged_ns=at_ns)
    await store.finish(closed(session_id, closed_ns=at_ns), [made], [], [])


def told(metrics: Metrics) -> dict[tuple[str, str], float]:
    """(gate, evaluator) → time of the last failure."""
    return {
        (sample.labels["gate"], sample.labels["evaluator"]): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "spanjudge_gate_last_failure_timestamp_seconds"
    }


async def test_failures_of_the_last_hour_are_told_and_none_else(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    await kept(store, "old", "forbidden_events", "violated", 2 * HOUR_NS, high_risk=False)
    await kept(store, "first", "forbidden_events", "violated", HOUR_NS // 2, high_risk=False)
    await kept(store, "last", "forbidden_events", "violated", HOUR_NS // 4, high_risk=False)
    await kept(store, "clean", "forbidden_events", "clean", 0, high_risk=False)
    await kept(store, "usual", "budgets", "over", 0, high_risk=False)
    await kept(store, "risky", "step_efficiency", "loop", HOUR_NS // 3, high_risk=True)
    metrics = Metrics()
    await recall(store, FakeClock(NOW_NS), metrics.gates)
    await store.close()
    assert told(metrics) == {
        ("forbidden_events", "forbidden_events"): (NOW_NS - HOUR_NS // 4) / 1e9,
        ("high_risk", "step_efficiency"): (NOW_NS - HOUR_NS // 3) / 1e9,
    }


async def test_an_old_failure_alone_is_not_told(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "verdicts.db")
    await kept(store, "old", "forbidden_events", "violated", 2 * HOUR_NS, high_risk=False)
    metrics = Metrics()
    await recall(store, FakeClock(NOW_NS), metrics.gates)
    await store.close()
    assert told(metrics) == {}
