"""One judged session as lines for a terminal: head, timeline with the verdicts beside what they judge, the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.text import Text

from collector.commands.remedies import remedy
from collector.commands.sessions import time_text
from collector.commands.stored import Chosen
from collector.commands.terminal import NOT_RECORDED, duration, recorded, safe, short, styled
from collector.commands.trajectory_view import call_parts, load_parts, step_parts
from extractors.skills import LoadOutcome, SkillInvocation
from extractors.trajectory import Failure, ToolCall, Trajectory
from judge.describe import arguments_text
from judge.origins import loading_calls
from judge.passing import passed, standing
from judge.subjects import subjects_of
from judge.verdict import Judged, NotApplicable, NotJudged, Score, Subject

Part: TypeAlias = str | tuple[str, str]
_HEAD, _DIM, _GOOD, _BAD, _ODD = "bold", "dim", "green", "bold red", "yellow"
_LABEL = 14


@dataclass(frozen=True, slots=True)
class _Moment:
    """Something that happened. `at_ns` is None when no time was recorded; `order` breaks ties."""

    at_ns: int | None
    order: int
    kind: str
    parts: tuple[Part, ...]
    subject: Subject | None = None
    details: tuple[tuple[str, str], ...] = ()


def session_lines(chosen: Chosen, verdicts: Sequence[Judged], most: int) -> Iterator[Text]:
    """`most` is where long texts are cut."""
    session = chosen.session
    trajectory = session.trajectory
    yield styled((safe(session.ref.session_id), "bold cyan"), "  ", (_standing(verdicts), _HEAD))
    yield from _head(chosen, trajectory)
    placed: set[str] = set()
    if trajectory is not None:
        yield Text()
        yield styled(("timeline", _HEAD))
        moments = _moments(trajectory, most)
        by_subject = _by_subject(verdicts)
        for moment in moments:
            yield styled(f"  {_offset(moment.at_ns, trajectory.started_ns):>12}  {moment.kind:<7}", *moment.parts)
            for label, text in moment.details:
                yield styled(" " * 23, (f"{label}: ", _DIM), short(text, most))
            for judged in by_subject.get((moment.subject.kind, moment.subject.ref), ()) if moment.subject else ():
                placed.add(judged.id)
                for number, line in enumerate(verdict_lines(judged, most)):
                    yield styled(" " * 23, ("  " if number else "╰ ", _DIM)).append_text(line)
    rest = [judged for judged in verdicts if judged.id not in placed]
    yield Text()
    yield styled(("verdicts on the session", _HEAD), "" if rest else ": none")
    for judged in sorted(rest, key=_severity):
        for line in verdict_lines(judged, most):
            yield styled("  ").append_text(line)
    yield from _to_do(verdicts)


def verdict_lines(judged: Judged, most: int) -> Iterator[Text]:
    """`FAIL skill_expected  other_skill 0.00  (suite/case)`, then why."""
    verdict = judged.verdict
    case: Part = (f"  {safe(verdict.case)}{', high risk' if verdict.high_risk else ''}" if verdict.case else "", _DIM)
    about: Part = (f"  of {short(verdict.subject.name, 60)}" if verdict.subject.name else "", _DIM)
    votes = f", {verdict.agreement:.0%} of votes" if verdict.agreement is not None else ""
    by: Part = (f"  by {safe(verdict.judge_model)}{votes}" if verdict.judge_model else "", _DIM)
    match verdict.outcome:
        case Score(value, label, explanation):
            good = passed(verdict)
            word: Part = ("pass", _GOOD) if good else ("FAIL", _BAD)
            label_part: Part = (f"{safe(label)} {value:.2f}", _GOOD if good else _BAD)
            yield styled(word, f"  {verdict.evaluator}  ", label_part, about, case, by)
            if explanation:
                yield styled("      ", short(explanation, most))
        case NotJudged(reason, detail):
            waiting = reason == "pending"
            yield styled(
                ("wait" if waiting else "none", _ODD), f"  {verdict.evaluator}  ", (safe(reason), _ODD), about, case
            )
            if detail and not waiting:
                yield styled("      ", short(detail, most))
        case NotApplicable(reason):
            yield styled((f"n/a   {verdict.evaluator}  {short(reason, most)}", _DIM), about, case)


def _standing(verdicts: Sequence[Judged]) -> str:
    scores = [good for judged in verdicts if (good := passed(judged.verdict)) is not None]
    without = [judged.verdict.outcome.reason for judged in verdicts if isinstance(judged.verdict.outcome, NotJudged)]
    waiting = without.count("pending")
    failed = scores.count(False)
    parts = [f"{len(scores) - failed} passed", f"{failed} failed"]
    parts += [f"{len(without) - waiting} without a score"] if len(without) > waiting else []
    parts += [f"{waiting} waiting for a judge"] if waiting else []
    return ", ".join(parts)


def _severity(judged: Judged) -> tuple[int, str, str]:
    """Failures first, then what has no score, then what passed, then what does not apply."""
    return standing(judged.verdict), judged.verdict.evaluator, judged.verdict.case or ""


def _head(chosen: Chosen, trajectory: Trajectory | None) -> Iterator[Text]:
    session = chosen.session
    if trajectory is not None:
        versions = trajectory.versions
        yield _row("service", _pair(versions.service, versions.service_version))
        yield _row("agent", _pair(versions.agent, versions.agent_version))
        yield _row("harness", _pair(trajectory.harness, versions.harness_version))
        models = versions.models_answered or versions.models_requested
        yield _row("models", safe(", ".join(models)) or NOT_RECORDED)
        prompt, tools = versions.system_prompt_hash, versions.tool_definitions_hash
        yield _row("hashes", f"system prompt {prompt or NOT_RECORDED}, tools {tools or NOT_RECORDED}")
        for name, body in (versions.skill_bodies or {}).items():
            yield _row("", f"skill {short(name, 60)} {body}")
    if session.ref.tenant:
        yield _row("tenant", safe(session.ref.tenant))
    newest = session.ref.revision == max(chosen.revisions)
    older = "" if len(chosen.revisions) == 1 else f" of {max(chosen.revisions)}{'' if newest else ', superseded'}"
    revision = f"revision {session.ref.revision}{older}"
    yield _row("closed", f"{time_text(session.closed_ns)} UTC by {session.close_reason}, {revision}")
    share = session.inclusion_probability
    yield _row("sampling", "every session is kept" if share >= 1 else f"{share:.3%} of sessions are kept")
    yield _row("telemetry", f"{session.spans} spans, {session.records} log records")
    if not session.judged:
        yield _row("not judged", (short(session.note) or "kept to be looked at", _ODD))
    elif session.note:
        yield _row("notes", (short(session.note, 1000), _ODD))


def _row(label: str, *parts: Part) -> Text:
    return styled((f"  {label:<{_LABEL}}", _DIM), *parts)


def _pair(name: str | None, version: str | None) -> str:
    if name is None:
        return NOT_RECORDED
    return safe(name) if version is None else safe(f"{name} {version}")


def _moments(trajectory: Trajectory, most: int) -> list[_Moment]:
    calls = trajectory.tool_calls
    found = [
        *(_Moment(one.time_ns or None, 0, "person", (recorded(one.text, most),)) for one in trajectory.prompts),
        *(_Moment(step.start_ns or None, 1, "model", tuple(step_parts(step, most))) for step in trajectory.steps),
        *(
            _Moment(call.start_ns, 2, "tool", tuple(call_parts(call)), subject, _call_details(call))
            for call, subject in zip(calls, subjects_of(calls), strict=True)
        ),
        *_skill_moments(trajectory),
        *(_failure_moment(failure, most) for failure in trajectory.failures),
        _Moment(trajectory.ended_ns or None, 5, "answer", (recorded(trajectory.answer, most),)),
    ]
    return sorted(found, key=lambda one: (one.at_ns is None, one.at_ns or 0, one.order))


def _skill_moments(trajectory: Trajectory) -> Iterator[_Moment]:
    """A skill load has no time of its own: it stands where the call stands that it came from."""
    loads = trajectory.skill_invocations
    for load, subject, call in zip(loads, subjects_of(loads), loading_calls(trajectory), strict=True):
        at_ns = trajectory.tool_calls[call].start_ns if call is not None else None
        yield _Moment(at_ns, 3, "skill", tuple(load_parts(load)), subject, _load_details(load))


def _failure_moment(failure: Failure, most: int) -> _Moment:
    text = f"{safe(failure.kind)}: {recorded(failure.message, most)}"
    return _Moment(failure.time_ns or None, 4, "error", ((text, _BAD),))


def _load_details(load: SkillInvocation) -> tuple[tuple[str, str], ...]:
    if load.outcome is LoadOutcome.REFUSED:
        return (("refusal", NOT_RECORDED if load.refusal is None else load.refusal),)
    return (("body hash", load.body_hash or NOT_RECORDED),)


def _call_details(call: ToolCall) -> tuple[tuple[str, str], ...]:
    arguments = arguments_text(call)
    details = [("arguments", NOT_RECORDED if arguments is None else arguments)]
    if call.error is not None:
        details.append(("error", call.error))
    elif call.result is not None:
        details.append(("result", call.result))
    return tuple(details)


def _by_subject(verdicts: Sequence[Judged]) -> Mapping[tuple[str, str], list[Judged]]:
    found: dict[tuple[str, str], list[Judged]] = {}
    for judged in verdicts:
        subject = judged.verdict.subject
        if subject.kind != "session":
            found.setdefault((subject.kind, subject.ref), []).append(judged)
    return found


def _offset(at_ns: int | None, started_ns: int) -> str:
    return "?" if at_ns is None else f"+{duration(max(0, at_ns - started_ns))}"


def _to_do(verdicts: Sequence[Judged]) -> Iterator[Text]:
    """Each reason for a missing score once, with what to do."""
    counts: dict[str, int] = {}
    for judged in verdicts:
        if isinstance(judged.verdict.outcome, NotJudged):
            counts[judged.verdict.outcome.reason] = counts.get(judged.verdict.outcome.reason, 0) + 1
    if not counts:
        return
    yield Text()
    yield styled(("no score", _HEAD))
    for reason, count in counts.items():
        yield styled("  ", (f"{safe(reason)} ({count})", _ODD), f"  {remedy(reason)}")
