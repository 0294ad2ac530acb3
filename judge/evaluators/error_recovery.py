"""What did the agent do about each call that failed?

Failed calls of one tool by one agent with no success of that tool between them are one episode; every failed call
gets the label of its episode. Scale by code:
`retried_once` 1 (one failure, then the tool worked) · `switched` 1 (another tool was used with success instead) ·
`retried` 0.75 (worked after the second failure) · `gave_up` 0.5 (the agent went on or answered without) ·
`thrashed` 0.25 (failed three times or more, whatever came after) · `ended_on_error` 0 (nothing came after).

`switched` and `gave_up` go by appearance: code cannot tell whether the other tool was meant as a substitute, or giving
up was wise. With `ask`, a judge is asked about the last failure of such an episode: `Sensible` 1, `Careless` 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extractors.trajectory import CallOutcome, ToolCall, Trajectory
from judge.describe import call_text, shorten
from judge.evaluators.asking import Asking
from judge.evaluators.next_call import call_markup
from judge.fence import Markup, fence
from judge.options import DEFAULTS, EvaluatorOptions
from judge.question import Question, Scale
from judge.subjects import subjects_of
from judge.suites import Case
from judge.transcript import DEFAULT_TOKENS, Transcript
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Subject, Verdict, whole_session

SCALE = Scale({"Sensible": 1.0, "Careless": 0.0})
LOGIC = "1"
BY_APPEARANCE = frozenset({"switched", "gave_up"})
THRASHING = 3
MOST_ERROR = 4_000
"""Bytes of an error text that a question repeats."""
WORKED = frozenset({CallOutcome.OK, CallOutcome.UNANSWERED})
"""Of a call without a recorded outcome we know that it ran, and not that it failed."""


class ErrorRecovery:
    """One verdict for each failed call; with `ask`, a question in place of some. Refused calls never ran and are not
    failures."""

    id = "error_recovery"

    def __init__(self, options: EvaluatorOptions = DEFAULTS, transcript_tokens: int = DEFAULT_TOKENS) -> None:
        self._asking = Asking(self.id, LOGIC, SCALE, options, transcript_tokens) if options.ask else None

    @property
    def version(self) -> str:
        return self._asking.version if self._asking else LOGIC

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Question | Verdict]:
        calls = trajectory.tool_calls
        episodes = _episodes(calls)
        if not episodes:
            return [Verdict(self.id, self.version, whole_session(trajectory), NotApplicable("no call failed"))]
        outcomes: dict[int, Outcome] = {}
        to_ask: list[int] = []
        for episode in episodes:
            outcome = _outcome(trajectory, episode)
            if self._asking and isinstance(outcome, Score) and outcome.label in BY_APPEARANCE:
                *earlier, last = episode.failures
                outcomes |= dict.fromkeys(earlier, NotApplicable("judged with the last failure of this tool"))
                to_ask.append(last)
            else:
                outcomes |= dict.fromkeys(episode.failures, outcome)
        subjects = subjects_of(calls)
        verdicts = [Verdict(self.id, self.version, subjects[at], outcomes[at]) for at in sorted(outcomes)]
        if self._asking is None or not to_ask:
            return verdicts
        return [
            *verdicts,
            *_questions(self._asking, trajectory, [(calls[at], subjects[at]) for at in sorted(to_ask)], cases),
        ]


def _questions(
    asking: Asking, trajectory: Trajectory, calls: Sequence[tuple[ToolCall, Subject]], cases: Sequence[Case]
) -> list[Question | Verdict]:
    if trajectory.task is None:
        missing = NotJudged("content_not_recorded", "the task was not recorded")
        return [asking.verdict(subject, missing, cases) for _, subject in calls]
    asked, left_out = asking.at_most(calls, trajectory)
    record = asking.transcript(trajectory)
    return [*(_question(asking, record, call, subject, cases) for call, subject in asked), *left_out]


def _question(asking: Asking, record: Transcript, call: ToolCall, subject: Subject, cases: Sequence[Case]) -> Question:
    error = Markup('<error state="not recorded"/>')
    if call.error is not None:
        error = fence("error", call.error, MOST_ERROR, asking.redaction)
    shown = Markup(f"{call_markup(call, asking.redaction)}\n{error}")
    return asking.question(subject, record, cases, call=shown, excerpt=asking.excerpt(record, call.anchor))


@dataclass(slots=True)
class _Episode:
    """Positions, in `Trajectory.tool_calls`, of failed calls, of the success of the same tool that ended them,
    and of the same agent's first call of another tool that worked, if none of the same tool did."""

    failures: list[int]
    success: int | None = None
    instead: int | None = None
    last_of_agent: bool = True


def _episodes(calls: Sequence[ToolCall]) -> list[_Episode]:
    episodes: list[_Episode] = []
    running: dict[str, dict[str, _Episode]] = {}
    for position, call in enumerate(calls):
        mine = running.setdefault(call.agent, {})
        if call.outcome is CallOutcome.FAILED:
            if call.name not in mine:
                mine[call.name] = _Episode([])
                episodes.append(mine[call.name])
            mine[call.name].failures.append(position)
        elif call.outcome in WORKED and call.name in mine:
            mine.pop(call.name).success = position
    _look_ahead(calls, episodes)
    return episodes


def _look_ahead(calls: Sequence[ToolCall], episodes: Sequence[_Episode]) -> None:
    """Fill in what came after the last failure. One pass from the end: sessions may have thousands of calls."""
    ends = {episode.failures[-1]: episode for episode in episodes}
    next_that_worked: dict[str, int] = {}
    seen: set[str] = set()
    for position in range(len(calls) - 1, -1, -1):
        call = calls[position]
        if episode := ends.get(position):
            # Without a success of the same tool, whatever worked later is another tool.
            episode.instead = next_that_worked.get(call.agent) if episode.success is None else None
            episode.last_of_agent = call.agent not in seen
        if call.outcome in WORKED:
            next_that_worked[call.agent] = position
        seen.add(call.agent)


def _outcome(trajectory: Trajectory, episode: _Episode) -> Outcome:
    calls = trajectory.tool_calls
    failures = [calls[position] for position in episode.failures]
    last = failures[-1]
    told = f"{call_text(last)} failed{_times(len(failures))}: {shorten(last.error or 'error text not recorded')}"
    if len(failures) >= THRASHING:
        after = "then worked" if episode.success is not None else "and never worked"
        return Score(0.25, "thrashed", f"{told}; {after}")
    if episode.success is not None:
        text = f"{told}; then worked as {call_text(calls[episode.success])}"
        return Score(1.0, "retried_once", text) if len(failures) == 1 else Score(0.75, "retried", text)
    if episode.instead is not None:
        return Score(1.0, "switched", f"{told}; then used {call_text(calls[episode.instead])}")
    if not episode.last_of_agent:
        return Score(0.5, "gave_up", f"{told}; nothing that worked replaced it")
    return _after_the_last_call(trajectory, last, told)


def _after_the_last_call(trajectory: Trajectory, last: ToolCall, told: str) -> Outcome:
    match _went_on(trajectory, last):
        case True:
            return Score(0.5, "gave_up", f"{told}; the agent went on without trying again")
        case False:
            return Score(0.0, "ended_on_error", f"{told}; nothing came after")
    return NotJudged("content_not_recorded", f"{told}; what came after was not recorded")


def _went_on(trajectory: Trajectory, last: ToolCall) -> bool | None:
    """Whether anything was recorded after the call: a model turn that did not fail, or an answer. None: there is
    nothing to tell by."""
    if trajectory.steps and last.end_ns is not None:
        end_ns = last.end_ns
        return any(step.start_ns >= end_ns and step.error is None for step in trajectory.steps)
    if trajectory.answer:
        return True
    return None


def _times(count: int) -> str:
    return "" if count == 1 else f" {count} times"
