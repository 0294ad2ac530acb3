"""Which labels an evaluator may give, for people who say which one would have been right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from judge.evaluators import (
    faithfulness,
    goal_completion,
    skill_abstention,
    skill_instruction_following,
    skill_selection,
)
from judge.passing import COMPOSITE, FAIL, PASS
from judge.question import Scale
from judge.rubrics import Rubric

BUILT_IN: Mapping[str, Scale] = {
    skill_selection.SkillSelection.id: skill_selection.SCALE,
    skill_abstention.SkillAbstention.id: skill_abstention.SCALE,
    skill_instruction_following.SkillInstructionFollowing.id: skill_instruction_following.SCALE,
    goal_completion.GoalCompletion.id: goal_completion.SCALE,
    faithfulness.Faithfulness.id: faithfulness.SCALE,
    COMPOSITE: Scale({PASS: 1.0, FAIL: 0.0}),
}
"""Of the evaluators that have no other labels; those that decide in code have many."""


def scales(rubrics: Iterable[Rubric] = ()) -> dict[str, Scale]:
    """By evaluator. One that is not there may give labels that nobody listed."""
    own = {rubric.id: Scale({name: label.score for name, label in rubric.labels.items()}) for rubric in rubrics}
    return {**BUILT_IN, **own}
