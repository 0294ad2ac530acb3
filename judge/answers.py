"""The form in which a model answers: the JSON Schema it is held to, and the reading of its text.

Reasoning comes before the label, so that the label follows from it. Clients use both functions, so that every kind of
endpoint is asked for, and held to, the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.describe import shorten
from judge.question import STEP_STATUSES, Question, StepFinding

MOST_STEPS = 200
"""More steps than any instruction has; an answer with more is out of form."""
LONGEST_REASONING = 16_000
"""Characters that are kept. It travels with the verdict to places that take no message of megabytes."""

_TEXT = {"type": "string"}


class AnswerMalformed(ValueError):
    """The text is no answer to the question. Says why without repeating the text: it may quote the session."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said: the part of an `Answer` that is in its text. `steps` is None for a question of a label."""

    label: str
    reasoning: str
    steps: tuple[StepFinding, ...] | None = None


def answer_schema(question: Question) -> dict[str, object]:
    """The JSON Schema of an answer. Only what structured output supports: no lengths, no ranges."""
    if question.shape == "steps":
        reasoning = "Which steps the instructions prescribe for this session, in their own order, before any finding."
        step = _object(
            {
                "step": _TEXT | {"description": "The step, in a few words."},
                "evidence": _TEXT | {"description": "What in the record shows it, with the numbers of entries."},
                "status": _TEXT | {"enum": list(STEP_STATUSES)},
            }
        )
        return _object({"reasoning": _TEXT | {"description": reasoning}, "steps": {"type": "array", "items": step}})
    return _object(
        {
            "reasoning": _TEXT | {"description": "The facts the label rests on, in a few sentences."},
            "label": _TEXT | {"enum": list(question.offered)},
        }
    )


def parse_answer(text: str, question: Question) -> Reply:
    """What the text says, checked against the question's form. Raises `AnswerMalformed`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AnswerMalformed(f"the answer is not JSON ({len(text)} characters)") from error
    if not isinstance(value, dict):
        raise AnswerMalformed("the answer is no JSON object")
    return _steps(value) if question.shape == "steps" else _label(value, question)


def _label(value: Mapping[str, Any], question: Question) -> Reply:
    label, reasoning = value.get("label"), value.get("reasoning")
    if not isinstance(label, str) or not isinstance(reasoning, str):
        raise AnswerMalformed("the answer lacks its label or reasoning")
    if label not in question.scale.values:
        raise AnswerMalformed(f"the label {shorten(label)!r} is not one of {', '.join(question.scale.labels)}")
    return Reply(label, _kept(reasoning))


def _steps(value: Mapping[str, Any]) -> Reply:
    reasoning, items = value.get("reasoning"), value.get("steps")
    if not isinstance(reasoning, str) or not isinstance(items, list):
        raise AnswerMalformed("the answer lacks its steps or reasoning")
    if len(items) > MOST_STEPS:
        raise AnswerMalformed(f"the answer has {len(items)} steps; at most {MOST_STEPS} make sense")
    return Reply("", _kept(reasoning), tuple(_step(number, item) for number, item in enumerate(items, start=1)))


def _kept(reasoning: str) -> str:
    gone = len(reasoning) - LONGEST_REASONING
    return reasoning if gone <= 0 else f"{reasoning[:LONGEST_REASONING]}… ({gone} more characters)"


def _step(number: int, item: object) -> StepFinding:
    parts = [item.get(key) for key in ("step", "status", "evidence")] if isinstance(item, dict) else []
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) != 3:
        raise AnswerMalformed(f"step {number} of the answer lacks its text, status or evidence")
    step, status, evidence = texts
    if status not in STEP_STATUSES:
        raise AnswerMalformed(f"step {number} is {shorten(status)!r}, which is not one of {', '.join(STEP_STATUSES)}")
    return StepFinding(step, status, evidence)


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
