"""What the evaluators that ask a judge have in common: prompt version, own version, the transcript they share."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

from extractors.anchors import Anchor
from extractors.trajectory import Trajectory
from judge.fence import Markup
from judge.options import EvaluatorOptions
from judge.prompts import render, versions_of
from judge.question import AnswerShape, Question, Scale
from judge.session_record import session_record
from judge.suites import Case
from judge.transcript import Transcript, excerpt
from judge.verdict import NotJudged, Outcome, Subject, Verdict, whole_session

T = TypeVar("T")

QUESTION_SHARE = 0.15
"""Share of the token limit that is kept for what belongs to one question only."""


class Asking:
    """Builds the questions of one evaluator. `logic` is the version of its code, `prompt` the name of its prompt
    where that is not the evaluator's own. `redaction` is for what evaluators cut themselves."""

    def __init__(
        self,
        name: str,
        logic: str,
        scale: Scale,
        options: EvaluatorOptions,
        transcript_tokens: int,
        *,
        shape: AnswerShape = "label",
        prompt: str | None = None,
    ) -> None:
        self._name = name
        self._scale = scale
        self._options = options
        self.redaction = options.redaction
        self._shape = shape
        self._prompt = prompt or name
        self.prompt_version = options.prompt_version or versions_of(self._prompt)[-1]
        self.version = f"{logic}+{self.prompt_version}"
        if options.system_prompt is not None:
            # Another system prompt is another yardstick: its verdicts must not be counted with the others.
            self.version += f"+system-{sha256(options.system_prompt.encode()).hexdigest()[:8]}"
        if options.votes > 1:
            self.version += f"+votes-{options.votes}"
        self.question_tokens = int(transcript_tokens * QUESTION_SHARE)
        self._shared_tokens = transcript_tokens - self.question_tokens

    def transcript(self, trajectory: Trajectory) -> Transcript:
        return session_record(trajectory, self._shared_tokens, self.redaction)

    def excerpt(self, record: Transcript, anchor: Anchor) -> Markup:
        """The entries around a place, where the record is too long to be sure that it has them; else nothing."""
        if not record.elided:
            return Markup("")
        return excerpt(record, anchor, self.question_tokens // 2, redaction=self.redaction) or Markup("")

    def at_most(self, candidates: Sequence[T], trajectory: Trajectory) -> tuple[Sequence[T], list[Verdict]]:
        """Those that may be asked about, the first `max_questions`, and the verdict that counts the others, if any.
        To be called before questions are built: each holds the whole record."""
        most = self._options.max_questions
        left_out = over_limit(self._name, len(candidates), most)
        subject = whole_session(trajectory)
        return candidates[:most], [Verdict(self._name, self.version, subject, left_out)] if left_out else []

    def verdict(self, subject: Subject, outcome: Outcome, cases: Sequence[Case]) -> Verdict:
        """What is found without asking."""
        return Verdict(self._name, self.version, subject, outcome, high_risk=any(case.high_risk for case in cases))

    def question(self, subject: Subject, record: Transcript, cases: Sequence[Case], **values: str | Markup) -> Question:
        """A question about the subject; risk is high when any case of the session says so."""
        system = self._options.system_prompt
        prompt = render(self._prompt, self.prompt_version, system, transcript=record.text, **values)
        return Question(
            self._name,
            self.version,
            subject,
            prompt,
            self._scale,
            high_risk=any(case.high_risk for case in cases),
            model=self._options.model,
            effort=self._options.effort,
            shape=self._shape,
            votes=self._options.votes,
        )


def over_limit(name: str, wanted: int, most: int) -> NotJudged | None:
    """Why some of the wanted questions are not asked; None when all are."""
    if wanted <= most:
        return None
    return NotJudged(
        "over_limit", f"{wanted - most} of {wanted} questions were not asked: evaluators.{name}.max_questions is {most}"
    )
