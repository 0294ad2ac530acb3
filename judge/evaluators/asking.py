"""What the evaluators that ask a judge have in common: prompt version, own version, the transcript they share."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from extractors.trajectory import Trajectory
from judge.fence import Markup
from judge.options import EvaluatorOptions
from judge.prompts import render, versions_of
from judge.question import Question, Scale
from judge.suites import Case
from judge.transcript import Transcript, transcript
from judge.verdict import Subject

QUESTION_SHARE = 0.15
"""Share of the token limit that is kept for what belongs to one question only."""


class Asking:
    """Builds the questions of one evaluator. `logic` is the version of its code."""

    def __init__(self, name: str, logic: str, scale: Scale, options: EvaluatorOptions, transcript_tokens: int) -> None:
        self._name = name
        self._scale = scale
        self._options = options
        self.prompt_version = options.prompt_version or versions_of(name)[-1]
        self.version = f"{logic}+{self.prompt_version}"
        if options.system_prompt is not None:
            # Another system prompt is another yardstick: its verdicts must not be counted with the others.
            self.version += f"+system-{sha256(options.system_prompt.encode()).hexdigest()[:8]}"
        self.question_tokens = int(transcript_tokens * QUESTION_SHARE)
        self._shared_tokens = transcript_tokens - self.question_tokens

    def transcript(self, trajectory: Trajectory) -> Transcript:
        return transcript(trajectory, self._shared_tokens)

    def question(self, subject: Subject, record: Transcript, cases: Sequence[Case], **values: str | Markup) -> Question:
        """A question about the subject; risk is high when any case of the session says so."""
        prompt = render(self._name, self.prompt_version, self._options.system_prompt, transcript=record.text, **values)
        return Question(
            self._name,
            self.version,
            subject,
            prompt,
            self._scale,
            high_risk=any(case.high_risk for case in cases),
            model=self._options.model,
            effort=self._options.effort,
        )
