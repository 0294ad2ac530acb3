from __future__ import annotations

import pytest

from extractors.trajectory import Prompt, Trajectory, Versions
from judge.conditions import Condition
from judge.mismatch import mismatches
from judge.suites import Match
from tests.fakes.verdicts import ANCHOR

TRAJECTORY = Trajectory(
    "s-1",
    "strands",
    prompts=(Prompt("Refund order 7", ANCHOR, 1),),
    versions=Versions(service="shop", agent="clerk"),
    attributes={"region": "north"},
)


@pytest.mark.parametrize(
    ("match", "failed"),
    [
        (Match(), ()),
        (Match(service=("shop",), task_contains=("refund",), attributes={"region": "n*"}), ()),
        (Match(service=("bank", "post")), ("service wants bank or post; it is 'shop'",)),
        (Match(version=("7",)), ("version wants 7; it is not recorded",)),
        (Match(task_contains=("ship",)), ("task_contains wants ship; the task is another",)),
        (
            Match(harness=("codex",), attributes={"region": "south", "tier": 1}),
            (
                "harness wants codex; it is 'strands'",
                "attribute region is 'north', not 'south'",
                "attribute tier is not recorded, not 1",
            ),
        ),
        (
            Match(attributes={"region": Condition.model_validate({"in": ["south"]}), "service.name": "bank"}),
            ("attribute region is 'north', not in ('south',)", "attribute service.name is 'shop', not 'bank'"),
        ),
    ],
)
def test_every_condition_that_does_not_hold_is_told(match: Match, failed: tuple[str, ...]) -> None:
    assert mismatches(match, TRAJECTORY) == failed
