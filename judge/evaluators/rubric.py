"""A criterion of the user's own, from a rubric file: asked of a judge, once for each subject of its level."""

from __future__ import annotations

from collections.abc import Sequence

from extractors.skills import SkillInvocation
from extractors.trajectory import ToolCall, Trajectory
from judge.describe import arguments_text
from judge.evaluators.asking import Asking
from judge.evaluators.next_call import call_markup
from judge.fence import Markup, element, fence
from judge.options import DEFAULTS, EvaluatorOptions
from judge.question import Question, Scale
from judge.redaction import Redaction
from judge.rubrics import Part, Rubric
from judge.subjects import subjects_of
from judge.suites import Case
from judge.transcript import BYTES_PER_TOKEN, DEFAULT_TOKENS, Transcript
from judge.verdict import NotApplicable, NotJudged, Subject, Verdict, whole_session

PROMPT = "rubric"
LOGIC = "1"
NOTHING = {"session": "", "skill": "no skill was asked for", "tool_call": "no tool was called"}

About = SkillInvocation | ToolCall | None
"""What a question is about; None: the session."""


class RubricEvaluator:
    """Needs what the rubric says it needs. The version has the rubric's own, and a digest of what a judge is told."""

    def __init__(
        self, rubric: Rubric, options: EvaluatorOptions = DEFAULTS, transcript_tokens: int = DEFAULT_TOKENS
    ) -> None:
        self._rubric = rubric
        best_first = sorted(rubric.labels.items(), key=lambda entry: -entry[1].score)
        scale = Scale({name: label.score for name, label in best_first})
        logic = f"{rubric.version}+{rubric.digest}+{LOGIC}"
        self._asking = Asking(rubric.id, logic, scale, options, transcript_tokens, prompt=PROMPT)
        # Rubrics are the operator's words; they are escaped all the same, so that no tag of theirs breaks the form.
        self._labels = "\n".join(f"- `{name}`: {label.means}" for name, label in best_first)

    @property
    def id(self) -> str:
        return self._rubric.id

    @property
    def version(self) -> str:
        return self._asking.version

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        subjects = _subjects(trajectory, self._rubric.level)
        if not subjects:
            nothing = NotApplicable(NOTHING[self._rubric.level])
            return [self._asking.verdict(whole_session(trajectory), nothing, cases)]
        found: list[Question | Verdict] = []
        to_ask: list[tuple[About, Subject]] = []
        for about, subject in subjects:
            if missing := [part for part in self._rubric.needs if not _recorded(part, trajectory, about)]:
                gap = NotJudged("content_not_recorded", f"not recorded: {', '.join(missing)}")
                found.append(self._asking.verdict(subject, gap, cases))
            else:
                to_ask.append((about, subject))
        asked, left_out = self._asking.at_most(to_ask, trajectory)
        record = self._asking.transcript(trajectory)
        found += [self._question(about, subject, record, cases) for about, subject in asked]
        return [*found, *left_out]

    def _question(self, about: About, subject: Subject, record: Transcript, cases: Sequence[Case]) -> Question:
        room = int(self._asking.question_tokens * BYTES_PER_TOKEN)
        return self._asking.question(
            subject,
            record,
            cases,
            criterion=self._rubric.question,
            subject_shown=_shown(about, room // 2, self._asking.redaction),
            excerpt=Markup("") if about is None else self._asking.excerpt(record, about.anchor),
            labels=self._labels,
        )


def _subjects(trajectory: Trajectory, level: str) -> list[tuple[About, Subject]]:
    if level == "session":
        return [(None, whole_session(trajectory))]
    if level == "skill":
        loads = trajectory.skill_invocations
        return list(zip(loads, subjects_of(loads), strict=True))
    calls = trajectory.tool_calls
    return list(zip(calls, subjects_of(calls), strict=True))


def _recorded(part: Part, trajectory: Trajectory, about: About) -> bool:
    """Whether the part was recorded: for a call its own, for a session at least one."""
    calls = (about,) if isinstance(about, ToolCall) else trajectory.tool_calls
    match part:
        case "task":
            return trajectory.task is not None
        case "catalog":
            return trajectory.offered_skills is not None
        case "answer":
            return trajectory.answer is not None
        case "arguments":
            return any(arguments_text(call) is not None for call in calls)
        case "results":
            return any(call.result is not None or call.error is not None for call in calls)
        case "skill_body":
            return isinstance(about, SkillInvocation) and about.body is not None


def _shown(about: About, most_bytes: int, redaction: Redaction) -> Markup:
    match about:
        case None:
            return Markup("It is about the session as a whole.")
        case ToolCall():
            call, result = call_markup(about, redaction), Markup("")
            if about.result is not None:
                result = fence("result", about.result, most_bytes // 2, redaction)
            return Markup(f"It is about this call:\n{element('call', call, result)}")
    parts = [fence("name", about.name or "", 300, redaction), fence("outcome", about.outcome)]
    if about.body is not None:
        parts.append(fence("body", about.body, most_bytes // 2, redaction))
    return Markup(f"It is about this loading of a skill:\n{element('skill', *parts)}")
