"""What a judge model is asked, what it may answer, and how an answer becomes a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from judge.verdict import NotJudged, Outcome, Score, Subject, Verdict


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
    """One criterion about one subject, put to a model. Everything `settle` needs to make a `Verdict` of it.

    `model` and `effort` are this evaluator's own; None leaves them to the `Judge`.
    """

    evaluator: str
    evaluator_version: str
    subject: Subject
    prompt: Prompt
    scale: Scale
    case: str | None = None
    high_risk: bool = False
    model: str | None = None
    effort: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished, well-formed answer: a label of the question's scale and the reasoning that came before it.

    `input_tokens` counts all input, cached tokens included, as the GenAI conventions count; what was read from
    and written to the cache is part of it.
    """

    label: str
    reasoning: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Judge(Protocol):
    """A model that answers one question.

    Raises `JudgeUnavailable` when asking again later may help, `JudgeDeclined` when it will not, and
    `JudgeMisconfigured` when a person must act first.
    """

    model: str

    async def ask(self, question: Question) -> Answer: ...


def settle(question: Question, answer: Answer) -> Verdict:
    """The verdict that an answer makes of its question. A label that the scale lacks is not judged: the score of
    such an answer is nobody's guess."""
    value = question.scale.values.get(answer.label)
    outcome: Outcome
    if value is None:
        known = ", ".join(question.scale.labels)
        outcome = NotJudged("answer_malformed", f"the judge answered {answer.label[:80]!r}; its choice was {known}")
    else:
        outcome = Score(value, answer.label, answer.reasoning)
    return replace(
        _verdict(question, outcome),
        judge_model=answer.model,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )


def unanswered(
    question: Question, reason: str, detail: str = "", input_tokens: int = 0, output_tokens: int = 0
) -> Verdict:
    """The verdict of a question that nobody answered: `NotJudged`, never a label of the scale. The tokens are what
    a refused or cut answer used (`JudgeDeclined` says)."""
    verdict = _verdict(question, NotJudged(reason, detail))
    return replace(verdict, input_tokens=input_tokens, output_tokens=output_tokens)


def _verdict(question: Question, outcome: Outcome) -> Verdict:
    return Verdict(
        question.evaluator,
        question.evaluator_version,
        question.subject,
        outcome,
        case=question.case,
        high_risk=question.high_risk,
        judge_model=question.model,
        prompt_version=question.prompt.version,
        prompt_hash=question.prompt.sha256,
    )
