"""Rules of one case that no session could keep all at once: it would fail whatever the agent did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from judge.globs import contains, matches

if TYPE_CHECKING:
    from judge.suites import CaseEntry, Event, ForbiddenEvent


def contradictions(case: CaseEntry) -> Iterator[str]:
    """One line for each. Only what is certain: a skill that is required and forbidden may be loaded by the person."""
    tools = [step for step in case.required_steps if step.tool is not None]
    for number, step in enumerate(case.required_steps):
        for other, event in enumerate(case.forbidden_events):
            if _always(step, event):
                yield f"required_steps[{number}] is what forbidden_events[{other}] forbids ({step.tool})"
    most = case.budgets.tool_calls
    if most is not None and most < len(tools):
        yield f"required_steps need {len(tools)} calls, and budgets.tool_calls allows {most}"
    for text in case.answer_contains:
        for other, event in enumerate(case.forbidden_events):
            if event.answer_contains is not None and contains(event.answer_contains, text):
                yield f"answer_contains {text!r} is what forbidden_events[{other}] forbids"


def _always(step: Event, event: ForbiddenEvent) -> bool:
    """Whether every call that makes the step is forbidden."""
    if step.tool is None or event.tool is None:
        return False
    same_tool = step.tool == event.tool or ("*" not in step.tool and matches(event.tool, step.tool))
    return same_tool and (event.arguments is None or event.arguments == step.arguments)
