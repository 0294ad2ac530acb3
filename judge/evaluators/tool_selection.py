"""Was each tool call a sensible next step? By the suite's cases where they name tools; else, if `ask` is set, by a
judge who sees only what the agent knew before the call.

Scale by code: `expected` 1 (a case requires a call of this tool), `forbidden` 0 (a case forbids this call). By a
judge: `Sensible` 1, `Wrong` 0. What no case says anything about is not scored by code: looking around is often right.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import ToolCall, Trajectory
from judge.before import known_before
from judge.describe import call_text
from judge.evaluators.asking import Asking
from judge.evaluators.next_call import call_markup, tools_markup
from judge.events import call_fits, rule_text
from judge.options import DEFAULTS, EvaluatorOptions
from judge.question import Question, Scale
from judge.subjects import subjects_of
from judge.suites import Case
from judge.transcript import DEFAULT_TOKENS
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Subject, Verdict, whole_session

SCALE = Scale({"Sensible": 1.0, "Wrong": 0.0})
LOGIC = "1"


class ToolSelection:
    """One verdict for each call and each case that says something about it; at most one question for each other
    call."""

    id = "tool_selection"

    def __init__(self, options: EvaluatorOptions = DEFAULTS, transcript_tokens: int = DEFAULT_TOKENS) -> None:
        self._asking = Asking(self.id, LOGIC, SCALE, options, transcript_tokens) if options.ask else None

    @property
    def version(self) -> str:
        return self._asking.version if self._asking else LOGIC

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        found: list[Question | Verdict] = []
        rest: list[tuple[ToolCall, Subject]] = []
        for call, subject in zip(trajectory.tool_calls, subjects_of(trajectory.tool_calls), strict=True):
            verdicts = [
                Verdict(self.id, self.version, subject, outcome, case=case.key, high_risk=case.high_risk)
                for case in cases
                if (outcome := _by_case(call, case)) is not None
            ]
            found += verdicts
            if not verdicts:
                rest.append((call, subject))
        if self._asking is not None:
            found += _questions(self._asking, trajectory, rest, cases)
        return found or [
            Verdict(self.id, self.version, whole_session(trajectory), NotApplicable(_why_none(trajectory)))
        ]


def _why_none(trajectory: Trajectory) -> str:
    if not trajectory.tool_calls:
        return "no tool was called"
    return "no case names a tool that was called, and evaluators.tool_selection.ask is off"


def _by_case(call: ToolCall, case: Case) -> Outcome | None:
    """None when the case says nothing about calls of this tool."""
    forbidden = [
        (call_fits(rule.tool, rule.arguments, call), rule) for rule in case.forbidden_events if rule.tool is not None
    ]
    if any(fits is True for fits, _ in forbidden):
        return Score(0.0, "forbidden", f"forbidden: {call_text(call)}")
    if any(fits is None for fits, _ in forbidden):
        return NotJudged("content_not_recorded", f"cannot tell whether {call.name} is forbidden without its arguments")
    # The tool is what is chosen here; whether its arguments are the required ones is argument_correctness.
    required = [rule for rule in case.required_steps if rule.tool is not None and call_fits(rule.tool, None, call)]
    return Score(1.0, "expected", f"required: {rule_text(required[0])}") if required else None


def _questions(
    asking: Asking, trajectory: Trajectory, calls: Sequence[tuple[ToolCall, Subject]], cases: Sequence[Case]
) -> list[Question | Verdict]:
    if calls and trajectory.task is None:
        missing = NotJudged("content_not_recorded", "the task was not recorded")
        return [asking.verdict(whole_session(trajectory), missing, cases)]
    asked, left_out = asking.at_most(calls, trajectory)
    return [*(_question(asking, trajectory, call, subject, cases) for call, subject in asked), *left_out]


def _question(
    asking: Asking, trajectory: Trajectory, call: ToolCall, subject: Subject, cases: Sequence[Case]
) -> Question:
    record = asking.transcript(known_before(trajectory, call))
    tools = tools_markup(trajectory.tool_definitions, asking.question_tokens, asking.redaction)
    return asking.question(subject, record, cases, call=call_markup(call, asking.redaction), tools=tools)
