"""The composite: weights, parts that drop out, parts that were not judged, and what passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.composite import CompositeRules, composite, composites
from judge.passing import passed
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Subject, Verdict

SESSION = Subject("session", "session")
CASE = "desk/refund"
NOTHING = NotApplicable("nothing of the kind")


def score(value: float, label: str = "some") -> Score:
    return Score(value, label, "why")


def by_case(evaluator: str, outcome: Outcome, case: str = CASE, *, high_risk: bool = False) -> Verdict:
    return Verdict(evaluator, "1", SESSION, outcome, case=case, high_risk=high_risk)


def by_judge(evaluator: str, outcome: Outcome) -> Verdict:
    return Verdict(evaluator, "1+v1", SESSION, outcome)


def of_case(*verdicts: Verdict, rules: CompositeRules | None = None) -> Outcome:
    return composite(verdicts, CASE, rules or CompositeRules()).outcome


def test_the_parts_are_weighted() -> None:
    found = of_case(
        by_case("skill_expected", score(1)), by_case("required_steps", score(0.5)), by_case("answer_contains", score(0))
    )
    assert isinstance(found, Score)
    assert found.value == pytest.approx(0.45 + 0.35 * 0.5)
    assert found.label == "fail"


def test_a_part_that_does_not_apply_drops_out_and_the_explanation_says_so() -> None:
    found = of_case(by_case("skill_expected", score(1)), by_case("answer_contains", score(0.5)))
    assert isinstance(found, Score)
    assert found.value == pytest.approx((0.45 + 0.20 * 0.5) / 0.65)
    assert "without adherence, which did not apply" in found.explanation
    assert "0.69 x selection 1.00 (skill_expected)" in found.explanation


def test_a_part_that_was_not_judged_is_not_a_zero() -> None:
    found = of_case(by_case("skill_expected", score(1)), by_judge("goal_completion", NotJudged("judge_refused", "no")))
    assert found == NotJudged("judge_refused", "answer was not judged: goal_completion: no")


def test_what_the_case_expects_goes_before_what_the_judge_found() -> None:
    found = of_case(
        by_case("answer_contains", score(1)),
        by_judge("goal_completion", NotJudged("no_judge_configured")),
    )
    assert isinstance(found, Score)
    assert found.value == 1


def test_the_judge_speaks_where_the_case_is_silent() -> None:
    found = of_case(by_case("skill_expected", score(1)), by_judge("goal_completion", score(0.5)))
    assert isinstance(found, Score)
    assert "answer 0.50 (goal_completion)" in found.explanation


def test_another_case_s_verdicts_do_not_count() -> None:
    verdicts = [by_case("skill_expected", score(1)), by_case("skill_expected", score(0), "desk/other")]
    assert [one.case for one in composites(verdicts)] == [CASE, "desk/other"]
    assert [passed(one) for one in composites(verdicts)] == [True, False]


def test_a_high_total_fails_when_a_skill_was_chosen_wrongly() -> None:
    chosen = [by_judge("skill_selection", score(1)) for _ in range(9)]
    found = of_case(*chosen, by_judge("skill_selection", score(0)), by_judge("goal_completion", score(1)))
    assert isinstance(found, Score)
    assert found.value > 0.9
    assert (found.label, found.explanation.rpartition("; ")[2]) == ("fail", "selection must be at least 1")


def test_rounding_never_decides() -> None:
    parts = ("skill_expected", "required_steps", "answer_contains")
    found = of_case(*(by_case(name, score(1)) for name in parts), rules=CompositeRules(pass_total=1.0))
    assert isinstance(found, Score)
    assert found.label == "pass"


def test_a_part_of_no_weight_need_not_be_judged() -> None:
    verdicts = [by_case("skill_expected", score(1)), by_judge("goal_completion", NotJudged("pending"))]
    assert isinstance(of_case(*verdicts, rules=CompositeRules(answer=0)), Score)


def test_nothing_that_applies_is_not_applicable() -> None:
    assert isinstance(of_case(by_case("budgets", score(1)), by_judge("skill_selection", NOTHING)), NotApplicable)


def test_without_a_case_the_session_has_one_composite_by_the_judge() -> None:
    (found,) = composites([by_judge("skill_abstention", score(1)), by_judge("required_steps", NOTHING)])
    assert (found.case, found.subject, passed(found)) == (None, SESSION, True)


def test_of_no_verdicts_there_is_none() -> None:
    assert composites([]) == ()


def test_high_risk_is_that_of_the_case() -> None:
    verdicts = [by_case("skill_expected", score(1), high_risk=True), by_case("skill_expected", score(1), "desk/other")]
    assert [one.high_risk for one in composites(verdicts)] == [True, False]


def test_other_weights_are_another_version() -> None:
    versions = [composite([], CASE, rules).evaluator_version for rules in (CompositeRules(), CompositeRules(answer=1))]
    assert versions == ["1", "1+0.45-0.35-1-0.85-1"]


def test_weights_that_weigh_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="weights"):
        CompositeRules(0, 0, 0)


@given(
    values=st.dictionaries(
        st.sampled_from(["skill_expected", "required_steps", "answer_contains"]), st.floats(0, 1), min_size=1
    ),
    weights=st.tuples(*[st.floats(0.01, 10)] * 3),
)
def test_the_total_lies_between_the_lowest_part_and_the_highest(
    values: dict[str, float], weights: tuple[float, float, float]
) -> None:
    verdicts = [by_case(name, score(value)) for name, value in values.items()]
    found = of_case(*verdicts, rules=CompositeRules(*weights))
    assert isinstance(found, Score)
    assert min(values.values()) - 1e-9 <= found.value <= max(values.values()) + 1e-9


@given(
    st.permutations(
        [
            by_case("skill_expected", score(1)),
            by_case("skill_expected", score(0), "desk/other"),
            by_judge("goal_completion", score(0.5)),
            by_judge("skill_instruction_following", score(0.75)),
        ]
    )
)
def test_the_order_of_verdicts_does_not_matter(verdicts: list[Verdict]) -> None:
    assert {(one.case, one.outcome) for one in composites(verdicts)} == {
        (one.case, one.outcome) for one in composites(sorted(verdicts, key=repr))
    }
