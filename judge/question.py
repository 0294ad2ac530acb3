"""What a judge model is asked, what it may answer, and how an answer becomes a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from judge.verdict import Subject


@dataclass(frozen=True, slots=True)
class Scale:
    """The labels a judge may choose from, each with its score 0..1, best first."""

    values: Mapping[str, float]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.values)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One rendered prompt. `prefix` is what all questions about one session share (instructions about the
    transcript and the transcript itself), so that it can be cached; `question` is the rest.

    `version` and `sha256` name the prompt template, not the rendered text.
    """

    system: str
    prefix: str
    question: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Question:
    """One criterion about one subject, put to a model. Everything `settle` needs to make a `Verdict` of it."""

    evaluator: str
    evaluator_version: str
    subject: Subject
    prompt: Prompt
    scale: Scale
    case: str | None = None
    high_risk: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished, well-formed answer: a label of the question's scale and the reasoning that came before it."""

    label: str
    reasoning: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Judge(Protocol):
    """A model that answers one question.

    Raises `JudgeUnavailable` when asking again later may help, `JudgeDeclined` when it will not.
    """

    model: str

    async def ask(self, question: Question) -> Answer: ...
