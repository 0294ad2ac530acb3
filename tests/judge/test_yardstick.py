"""What may be compared: only scores that were measured alike."""

from __future__ import annotations

from judge.significance import Count
from judge.yardstick import Yardstick, comparable, composites_differ

GOOD = Count(20, 0)
CODE = Yardstick("budgets", "1")
OLD, NEW = (Yardstick("goal_completion", "1+v1", model, "v1") for model in ("model-a", "model-b"))
WHOLE = Yardstick("composite", "1")


def test_rates_of_one_yardstick_are_compared() -> None:
    found = comparable({CODE: GOOD, OLD: GOOD}, {CODE: Count(1, 2), OLD: Count(3, 4)})
    assert found.counts == {"budgets": (GOOD, Count(1, 2)), "goal_completion": (GOOD, Count(3, 4))}
    assert found.left_out == ()


def test_another_judge_is_named_and_not_compared() -> None:
    found = comparable({OLD: GOOD}, {NEW: Count(0, 9)})
    assert found.counts == {}
    (told,) = found.left_out
    assert told == (
        "goal_completion: not compared: 20 sessions by version 1+v1, prompt v1, judge model-a in the baseline, and "
        "9 sessions by version 1+v1, prompt v1, judge model-b now"
    )


def test_of_a_mixture_only_what_both_have_is_compared_and_the_rest_is_told() -> None:
    found = comparable({OLD: GOOD}, {OLD: Count(5, 0), NEW: Count(0, 9)})
    assert found.counts == {"goal_completion": (GOOD, Count(5, 0))}
    assert found.left_out == ("goal_completion: left out 9 sessions by version 1+v1, prompt v1, judge model-b now",)


def test_where_both_sides_have_several_judges_each_makes_a_rate_of_its_own() -> None:
    found = comparable({OLD: GOOD, NEW: Count(1, 1)}, {NEW: Count(2, 2), OLD: Count(3, 3)})
    assert found.counts == {
        f"goal_completion ({OLD})": (GOOD, Count(3, 3)),
        f"goal_completion ({NEW})": (Count(1, 1), Count(2, 2)),
    }


def test_what_only_one_side_has_scores_of_is_told() -> None:
    found = comparable({OLD: GOOD}, {CODE: Count(1, 0)})
    assert found.counts == {}
    assert found.left_out == (
        "budgets: not compared: no score in the baseline, 1 session by version 1 now",
        f"goal_completion: not compared: no score now, 20 sessions by {OLD} in the baseline",
    )


def test_a_composite_is_compared_only_if_the_same_judge_had_a_part_in_it() -> None:
    assert comparable({WHOLE: GOOD, OLD: GOOD}, {WHOLE: GOOD, OLD: GOOD}).counts.keys() == {
        "composite",
        "goal_completion",
    }
    assert comparable({WHOLE: GOOD}, {WHOLE: GOOD}).counts.keys() == {"composite"}
    changed = comparable({WHOLE: GOOD, OLD: GOOD}, {WHOLE: GOOD, NEW: GOOD})
    assert changed.counts == {}
    assert changed.left_out[0] == "composite: not compared: goal_completion had another yardstick"
    code_only = comparable({WHOLE: GOOD, OLD: GOOD}, {WHOLE: GOOD})
    assert code_only.left_out[0] == "composite: not compared: a judge had a part in it in the baseline, and none now"
    assert composites_differ({WHOLE: GOOD}, {OLD: GOOD}) == "a judge had a part in it now, and none in the baseline"


def test_another_evaluator_of_the_judge_that_applied_on_one_side_only_does_not_matter() -> None:
    choice = Yardstick("skill_selection", "1+v1", "model-a", "v1")
    assert composites_differ({OLD: GOOD}, {OLD: GOOD, choice: GOOD}) == ""
