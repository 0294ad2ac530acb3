"""One long text of a session, part by part: its own address, so that no page is larger than a phone can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collector.page.texts import Texts
from collector.page.timeline import masked_arguments
from extractors.trajectory import Trajectory
from judge.verdict import Judged, NotApplicable, NotJudged, Score

PART = 200_000
"""Characters of one part."""


@dataclass(frozen=True, slots=True)
class Part:
    """`number` of `parts`, counted from 0."""

    text: str
    number: int
    parts: int
    characters: int


def part_of(text: str, number: int, texts: Texts) -> Part:
    """Secrets are masked before the text is cut."""
    whole = texts.whole(text)
    parts = max(1, -(-len(whole) // PART))
    number = min(number, parts - 1)
    return Part(whole[number * PART : (number + 1) * PART], number, parts, len(whole))


def text_of(trajectory: Trajectory | None, verdicts: Sequence[Judged], of: str, texts: Texts) -> str | None:
    """The text of that name, as `texts.Texts.piece` has it; None for one that there is not."""
    kind, _, rest = of.partition(".")
    at, _, what = rest.partition(".")
    if kind == "verdict":
        return next((_explanation(one) for one in verdicts if one.id == at), None)
    if trajectory is None:
        return None
    if of in {"answer", "task"}:
        return trajectory.answer if of == "answer" else trajectory.task
    return (
        _of_item(trajectory, kind, int(at), what, texts) if at.isascii() and at.isdecimal() and len(at) < 10 else None
    )


def _explanation(judged: Judged) -> str:
    match judged.verdict.outcome:
        case Score(_, _, explanation):
            return explanation
        case NotJudged(_, detail):
            return detail
        case NotApplicable(reason):
            return reason


def _of_item(trajectory: Trajectory, kind: str, at: int, what: str, texts: Texts) -> str | None:
    match kind, what:
        case "prompt", "text" if at < len(trajectory.prompts):
            return trajectory.prompts[at].text
        case "step", "text" | "error" if at < len(trajectory.steps):
            step = trajectory.steps[at]
            return step.text if what == "text" else step.error
        case "call", "arguments" | "result" | "error" if at < len(trajectory.tool_calls):
            call = trajectory.tool_calls[at]
            return (
                masked_arguments(call, texts)
                if what == "arguments"
                else call.result
                if what == "result"
                else call.error
            )
        case "load", "refusal" | "body" if at < len(trajectory.skill_invocations):
            load = trajectory.skill_invocations[at]
            return load.refusal if what == "refusal" else load.body
        case "failure", "message" if at < len(trajectory.failures):
            return trajectory.failures[at].message
    return None
