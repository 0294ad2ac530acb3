"""Were the arguments of each tool call right? By the recorded definition of the tool and by the suite's cases; and, if
`ask` is set, by a judge who is asked whether the values come from what the agent knew.

Scale by code: `valid` 1 and `invalid` 0 against the JSON Schema of the definition; `as_expected` 1 and `not_expected`
0 against the arguments that a case requires. By a judge, for calls that are valid or have no schema: `Grounded` 1,
`Invented` 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import ToolCall, Trajectory
from judge.before import known_before
from judge.describe import arguments_text, call_text, listed, plural
from judge.evaluators.asking import Asking
from judge.evaluators.next_call import call_markup, tools_markup
from judge.events import call_fits, rule_text
from judge.globs import matches
from judge.options import DEFAULTS, EvaluatorOptions
from judge.question import Question, Scale
from judge.schemas import SchemaChecker, SchemaUnusable
from judge.subjects import subjects_of
from judge.suites import Case, Event
from judge.transcript import DEFAULT_TOKENS
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Subject, Verdict, whole_session

SCALE = Scale({"Grounded": 1.0, "Invented": 0.0})
LOGIC = "1"
MOST_CHECKED = 2_000
"""Calls of one session that are checked against their schemas: a schema may take a tenth of a second."""

Judged = tuple[ToolCall, Subject]


class ArgumentCorrectness:
    """One verdict for each call whose tool was defined, and one for each call and case that requires arguments."""

    id = "argument_correctness"

    def __init__(self, options: EvaluatorOptions = DEFAULTS, transcript_tokens: int = DEFAULT_TOKENS) -> None:
        self._asking = Asking(self.id, LOGIC, SCALE, options, transcript_tokens) if options.ask else None

    @property
    def version(self) -> str:
        return self._asking.version if self._asking else LOGIC

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        session = whole_session(trajectory)
        if not trajectory.tool_calls:
            return [Verdict(self.id, self.version, session, NotApplicable("no tool was called"))]
        calls = list(zip(trajectory.tool_calls, subjects_of(trajectory.tool_calls), strict=True))
        found: list[Question | Verdict] = [
            Verdict(self.id, self.version, subject, outcome, case=case.key, high_risk=case.high_risk)
            for case in cases
            for subject, outcome in _by_case(calls, case)
        ]
        by_schema = _by_schemas(trajectory, calls)
        if self._asking is None:
            found += [Verdict(self.id, self.version, subject, outcome) for subject, outcome in by_schema]
            return found
        bad = {subject.ref for subject, outcome in by_schema if isinstance(outcome, Score) and outcome.value < 1}
        found += [
            Verdict(self.id, self.version, subject, outcome) for subject, outcome in by_schema if subject.ref in bad
        ]
        rest = [(call, subject) for call, subject in calls if subject.ref not in bad]
        return [*found, *_questions(self._asking, trajectory, rest, cases)]


def _by_case(calls: Sequence[Judged], case: Case) -> list[tuple[Subject, Outcome]]:
    """For each required step with arguments: the calls that have them; if none does, each call of the tool. A tool may
    be called for other things as well, so calls beside one that fits are not held against the rule."""
    found: dict[str, tuple[Subject, Outcome]] = {}
    for rule in case.required_steps:
        if rule.tool is None or rule.arguments is None:
            continue
        fits = [(call_fits(rule.tool, rule.arguments, call), call, subject) for call, subject in calls]
        mine = [(fit, call, subject) for fit, call, subject in fits if matches(rule.tool, call.name)]
        right = any(fit is True for fit, _, _ in mine)
        for fit, call, subject in mine:
            # One call may be held against two rules: what fits one of them is right.
            if fit is True or (not right and subject.ref not in found):
                found[subject.ref] = (subject, _fit_outcome(fit, rule, call))
    return list(found.values())


def _fit_outcome(fit: bool | None, rule: Event, call: ToolCall) -> Outcome:
    if fit is None:
        return NotJudged("content_not_recorded", f"the arguments of {call.name} were not recorded")
    if fit:
        return Score(1.0, "as_expected", f"{call_text(call)} is {rule_text(rule)}")
    return Score(0.0, "not_expected", f"{call_text(call)}, where the case requires {rule_text(rule)}")


def _by_schemas(trajectory: Trajectory, calls: Sequence[Judged]) -> list[tuple[Subject, Outcome]]:
    """For each call of a tool with a schema what its check says; for all others one outcome on the session."""
    checkers = _checkers(trajectory, {call.name for call, _ in calls})
    defined = [(call, subject) for call, subject in calls if call.name in checkers]
    found = [(subject, _by_schema(call, checkers[call.name])) for call, subject in defined[:MOST_CHECKED]]
    gap = _gap(trajectory, sorted({call.name for call, _ in calls} - checkers.keys()))
    if over := len(defined) - len(found):
        text = f"{plural(over, 'call')} after the first {MOST_CHECKED} were not checked"
        found.append((whole_session(trajectory), NotJudged("over_limit", "; ".join(filter(None, (text, gap))))))
    elif gap:
        found.append((whole_session(trajectory), NotJudged("content_not_recorded", gap)))
    return found


def _checkers(trajectory: Trajectory, names: set[str]) -> dict[str, SchemaChecker | str]:
    """Tool name to its checker, or to what is wrong with its schema; without the tools that have none."""
    checkers: dict[str, SchemaChecker | str] = {}
    for tool in trajectory.tool_definitions or ():
        if tool.name in names and tool.schema is not None:
            try:
                checkers[tool.name] = SchemaChecker(tool.schema)
            except SchemaUnusable as error:
                checkers[tool.name] = str(error)
    return checkers


def _gap(trajectory: Trajectory, undefined: Sequence[str]) -> str:
    """What the telemetry lacks; "" when nothing."""
    if trajectory.tool_definitions is None:
        return "the definitions of the tools were not recorded"
    return f"no schema of the arguments was recorded for {listed(undefined)}" if undefined else ""


def _by_schema(call: ToolCall, checker: SchemaChecker | str) -> Outcome:
    if isinstance(checker, str):
        return NotJudged("schema_unusable", f"{call.name}: {checker}")
    if call.arguments is None:
        damaged = "are no JSON object, or were cut" if arguments_text(call) is not None else "were not recorded"
        return NotJudged("content_not_recorded", f"the arguments of {call.name} {damaged}")
    try:
        checked = checker.check(call.arguments)
    except SchemaUnusable as error:
        return NotJudged("schema_unusable", f"{call.name}: {error}")
    if checked.errors:
        return Score(0.0, "invalid", f"{call.name}: {'; '.join(checked.errors)}")
    beside = f" ({listed(checked.unchecked)} not checked)" if checked.unchecked else ""
    return Score(1.0, "valid", f"the arguments of {call.name} are what its definition asks for{beside}")


def _questions(
    asking: Asking, trajectory: Trajectory, calls: Sequence[Judged], cases: Sequence[Case]
) -> list[Question | Verdict]:
    if calls and trajectory.task is None:
        missing = NotJudged("content_not_recorded", "the task was not recorded")
        return [asking.verdict(whole_session(trajectory), missing, cases)]
    unknown = [(call, subject) for call, subject in calls if arguments_text(call) is None]
    known = [(call, subject) for call, subject in calls if arguments_text(call) is not None]
    asked, left_out = asking.at_most(known, trajectory)
    gap = NotJudged("content_not_recorded", "the arguments were not recorded")
    return [
        *(asking.verdict(subject, gap, cases) for _, subject in unknown),
        *(_question(asking, trajectory, call, subject, cases) for call, subject in asked),
        *left_out,
    ]


def _question(
    asking: Asking, trajectory: Trajectory, call: ToolCall, subject: Subject, cases: Sequence[Case]
) -> Question:
    record = asking.transcript(known_before(trajectory, call))
    tools = tools_markup(trajectory.tool_definitions, asking.question_tokens, asking.redaction)
    return asking.question(subject, record, cases, call=call_markup(call, asking.redaction), tools=tools)
