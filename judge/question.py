"""What a judge model is asked, what it may answer, and how an answer becomes a verdict.

Two shapes of answer: `label`, one label of the scale; and `steps`, a list of findings of which we, never the model,
work out the share that holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from judge.describe import shorten
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Subject, Verdict

AnswerShape: TypeAlias = Literal["label", "steps"]

FOLLOWED = "followed"
NOT_APPLICABLE = "not_applicable"
STEP_STATUSES = (FOLLOWED, "out_of_order", "skipped", NOT_APPLICABLE)
"""What may be found about one step. The share is that of `followed`; `not_applicable` steps do not count."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The labels a judge may choose from, each with its score 0..1, best first.

    For answers of shape `steps` the numbers are the lowest share of followed steps that earns the label.
    """

    values: Mapping[str, float]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.values)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One rendered prompt. `prefix` is what all questions about one session share (instructions about the
    transcript and the transcript itself), so that it can be cached; `question` is the rest.

    `version` and `sha256` name the prompt template, not the rendered text. `lists_labels`: the text says which labels
    are this question's, since the form of the answer may hold those of others.
    """

    system: str
    prefix: str
    question: str
    version: str
    sha256: str
    lists_labels: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """One criterion about one subject, put to a model. Everything `settle` needs to make a `Verdict` of it.

    `model` and `effort` are this evaluator's own; None leaves them to the `Judge`. `votes` is how often it is to be
    asked (1, or an odd number; see `judge.voting`).

    `choices` are all labels that the form of the answer offers, those of other evaluators among them, so that it is the
    same for all and their questions share a cache; empty: those of the scale. Only the scale's are an answer.
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
    shape: AnswerShape = "label"
    votes: int = 1
    choices: tuple[str, ...] = ()

    @property
    def offered(self) -> tuple[str, ...]:
        """The labels in the form of the answer."""
        return self.choices or self.scale.labels


@dataclass(frozen=True, slots=True)
class StepFinding:
    """What the judge found about one step: the step in its words, one of `STEP_STATUSES`, and what shows it."""

    step: str
    status: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished, well-formed answer: a label of the question's scale and the reasoning that came before it.

    For a question of shape `steps`, `steps` has the findings and `label` is ""; None: the answer had no such list.

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
    steps: tuple[StepFinding, ...] | None = None


class Judge(Protocol):
    """A model that answers one question.

    Raises `JudgeUnavailable` when asking again later may help, `JudgeDeclined` when it will not, and
    `JudgeMisconfigured` when a person must act first.
    """

    model: str

    async def ask(self, question: Question) -> Answer: ...


def settle(question: Question, answer: Answer) -> Verdict:
    """The verdict that an answer makes of its question. A label or status that there is not, or an answer of the
    other shape, is not judged: the score of such an answer is nobody's guess."""
    outcome = _of_label(question.scale, answer) if question.shape == "label" else _of_steps(question.scale, answer)
    return replace(
        _verdict(question, outcome),
        judge_model=answer.model,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )


def _of_label(scale: Scale, answer: Answer) -> Outcome:
    value = scale.values.get(answer.label)
    if value is None:
        known = ", ".join(scale.labels)
        return NotJudged("answer_malformed", f"the judge answered {answer.label[:80]!r}; its choice was {known}")
    return Score(value, answer.label, answer.reasoning)


def _of_steps(scale: Scale, answer: Answer) -> Outcome:
    if answer.steps is None:
        return NotJudged("answer_malformed", "the judge gave no list of steps")
    if unknown := next((found.status for found in answer.steps if found.status not in STEP_STATUSES), None):
        known = ", ".join(STEP_STATUSES)
        return NotJudged("answer_malformed", f"the judge found a step {unknown[:80]!r}; its choice was {known}")
    counting = [found for found in answer.steps if found.status != NOT_APPLICABLE]
    if not counting:
        return NotApplicable(f"no step applied: {shorten(answer.reasoning)}")
    followed = sum(found.status == FOLLOWED for found in counting)
    share = followed / len(counting)
    label = next((label for label, lowest in scale.values.items() if share >= lowest), scale.labels[-1])
    told = "\n".join(f"- {found.status}: {shorten(found.step)} ({shorten(found.evidence)})" for found in answer.steps)
    return Score(share, label, f"{followed} of {len(counting)} steps followed\n{told}")


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
