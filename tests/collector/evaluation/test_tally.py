"""Counts of many closings come to the metrics as if each had been counted by itself."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from collector.evaluation.tally import Counts, count, counted, tally
from collector.metrics import Metrics
from collector.skill_metrics import AskedFor
from judge.verdict import NotApplicable, NotJudged, Score
from tests.fakes.verdicts import judged

VERDICTS = [
    judged(f"s-{number}", evaluator, outcome)
    for number in range(3)
    for evaluator in ("budgets", "skill_selection")
    for outcome in (Score(1.0, "yes", ""), Score(0.0, "no", ""), NotJudged("judge_refused"), NotApplicable("no skill"))
]
SKILLS = [
    AskedFor("shop", skill, outcome, version)
    for skill in ("refunds", None)
    for outcome in ("loaded", "refused")
    for version in ("7", None)
]
CLOSINGS = st.builds(
    Counts,
    closed=st.sampled_from([None, "idle", "max_age", "unreadable"]),
    discarded=st.sampled_from([None, "nothing_happened"]),
    scopes=st.sampled_from([None, (), ("a",), ("a", "b")]),
    lost_spans=st.integers(0, 3),
    lost_records=st.integers(0, 3),
    late_spans=st.integers(0, 3),
    late_records=st.integers(0, 3),
    skills=st.lists(st.sampled_from(SKILLS), max_size=4).map(tuple),
    verdicts=st.lists(st.sampled_from(VERDICTS), max_size=6).map(counted),
)


def _text(metrics: Metrics) -> list[str]:
    lines = generate_latest(metrics.registry).decode().splitlines()
    return sorted(line for line in lines if line.startswith("spanjudge_"))


@given(st.lists(CLOSINGS, max_size=8), st.integers(0, 8))
def test_counting_groups_is_counting_each(closings: list[Counts], first: int) -> None:
    at_once, one_by_one = Metrics(), Metrics()
    for part in (closings[:first], closings[first:]):
        count(tally(part), at_once)
    for closing in closings:
        count(tally([closing]), one_by_one)
    assert _text(at_once) == _text(one_by_one)


def test_verdicts_that_say_the_same_cross_over_as_one_line() -> None:
    many = tally([Counts(verdicts=counted([judged(f"s-{number}")])) for number in range(100)])
    ((_, number, example),) = many.verdicts
    assert (number, example.session_id) == (100, "s-99")


def test_a_verdict_of_another_agent_version_is_a_line_of_its_own() -> None:
    both = [judged(), replace(judged("s-2"), agent_version="8")]
    assert len(tally([Counts(verdicts=counted(both))]).verdicts) == 2
