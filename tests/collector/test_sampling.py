"""Which sessions are judged, and with which probability; whatever came first, and wherever it is decided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.sampling import (
    Included,
    Keep,
    KeepWhen,
    SampledOut,
    SamplingRule,
    SamplingRules,
    ceiling,
    decide,
    sampled_by,
)
from collector.sessions.keys import kept
from extractors.skills import LoadOutcome
from extractors.trajectory import Trajectory, Versions
from judge.catalog import build, plan_all
from judge.suites import Case, Match
from tests.judge.trajectories import call, case, failed, load, step, trajectory

LOW, HIGH = bytes(15), b"\xff" * 15
"""Digests that every rate above 0 keeps, and that only a rate of 1 keeps."""

NONE = SamplingRules(rate=0.0)


def _decide(rules: SamplingRules, of: Trajectory, *cases: Case, digest: bytes = HIGH) -> Included | SampledOut:
    return decide(rules, digest, of, cases, plan_all(of, cases, build()).verdicts)


def _keeping(*when: KeepWhen) -> SamplingRules:
    return SamplingRules(0.0, keep=Keep(when))


@pytest.mark.parametrize(
    ("when", "of", "cases"),
    [
        ("errors", trajectory(failed("pay")), ()),
        ("errors", trajectory(steps=(step(1, error="overloaded"),)), ()),
        ("refused_skill", trajectory(skill_invocations=(load("tax", LoadOutcome.REFUSED),)), ()),
        ("high_risk", trajectory(), (case("risk: high"),)),
        ("budget_exceeded", trajectory(call("a"), call("b")), (case("budgets: {tool_calls: 1}"),)),
        ("forbidden_event", trajectory(call("rm")), (case("forbidden_events: [{tool: rm}]"),)),
    ],
)
def test_what_is_to_be_kept_is_kept_for_certain(when: KeepWhen, of: Trajectory, cases: tuple[Case, ...]) -> None:
    assert _decide(_keeping(when), of, *cases) == Included(1.0, f"keep.{when}")
    assert _decide(_keeping(when), trajectory(call("look", number=3))) == SampledOut("rate")
    assert _decide(NONE, of, *cases) == SampledOut("rate")


@pytest.mark.parametrize("refused", [LoadOutcome.LOADED, LoadOutcome.REFUSED])
def test_a_session_that_asks_for_a_skill_of_high_risk_is_kept(refused: LoadOutcome) -> None:
    rules = SamplingRules(0.0, keep=Keep(skills=("deploy*", "pay")))
    asked = trajectory(skill_invocations=(load(None), load("bank:pay", refused)))
    assert _decide(rules, asked) == Included(1.0, "keep.skills.pay")
    assert _decide(rules, trajectory(skill_invocations=(load("tax"),))) == SampledOut("rate")


def test_a_session_that_an_evaluator_fails_is_kept() -> None:
    rules = SamplingRules(0.0, keep=Keep(failed=("answer_contains",)))
    wanted = case("answer_contains: [done]")
    assert _decide(rules, trajectory(answer="no"), wanted) == Included(1.0, "keep.failed.answer_contains")
    assert _decide(rules, trajectory(answer="done"), wanted) == SampledOut("rate")


def test_the_first_rule_that_matches_decides() -> None:
    shop = SamplingRule("shop", Match(service=("shop",)), 0.5)
    rules = SamplingRules(1.0, (shop, SamplingRule("all", Match(), 0.0)))
    assert _decide(rules, trajectory(versions=Versions(service="shop")), digest=LOW) == Included(0.5, "rules.shop")
    assert _decide(rules, trajectory(versions=Versions(service="bank")), digest=LOW) == SampledOut("rules.all")
    assert _decide(SamplingRules(0.5, (shop,)), trajectory(), digest=LOW) == Included(0.5, "rate")


@given(
    st.binary(min_size=15, max_size=15),
    st.floats(0, 1),
    st.lists(st.tuples(st.sampled_from(("shop", "bank", "*")), st.floats(0, 1)), max_size=3),
    st.sampled_from(("shop", "bank", "mill")),
)
def test_nothing_that_ingest_drops_would_have_been_kept(
    digest: bytes, rate: float, made: list[tuple[str, float]], service: str
) -> None:
    given_rules = tuple(SamplingRule(f"r{n}", Match(service=(name,)), at) for n, (name, at) in enumerate(made))
    rules = SamplingRules(rate, given_rules)
    decision = _decide(rules, trajectory(versions=Versions(service=service)), digest=digest)
    assert kept(digest, ceiling(rules)) or isinstance(decision, SampledOut)
    if isinstance(decision, Included):
        assert kept(digest, decision.probability)


def test_where_anything_is_to_be_kept_ingest_drops_nothing() -> None:
    assert ceiling(NONE) == 0.0
    assert ceiling(SamplingRules(0.1, (SamplingRule("a", Match(), 0.3),))) == 0.3
    assert ceiling(_keeping("errors")) == 1.0


def test_what_decided_can_be_read_from_the_note_of_a_session() -> None:
    for rule in ("rules.shop", "keep.errors"):
        assert sampled_by("; ".join((*Included(1.0, rule).notes, "a span was lost"))) == rule
    assert Included(0.1, "rate").notes == ()
    assert sampled_by("") == sampled_by("a span was lost") == "rate"
