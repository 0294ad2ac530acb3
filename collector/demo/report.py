"""The demo's outcome for people: a table of verdicts, failures first, and what Prometheus would see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from collector.commands.terminal import safe, short
from collector.demo.sessions import DemoSession
from judge.passing import COMPOSITE, passed
from judge.verdict import Judged, NotApplicable, NotJudged, Score, Verdict

_METRICS = ("spanjudge_verdicts_total", "spanjudge_sessions_closed_total", "spanjudge_not_judged_total")
_MOST_LINES = 8

Found = Mapping[str, Sequence[Judged]]
"""Verdicts by session id."""


def missing_verdicts(sessions: Sequence[DemoSession], found: Found) -> list[str]:
    """What the demo had to find and did not, one line each."""
    lines = []
    for session in sessions:
        verdicts = found.get(session.session_id)
        if verdicts is None:
            lines.append(f"{session.session_id}: the session was not judged")
            continue
        got = {
            (one.verdict.evaluator, outcome.label)
            for one in verdicts
            if isinstance(outcome := one.verdict.outcome, Score)
        }
        harness = {one.harness for one in verdicts}
        lines += [
            f"{session.session_id}: no {wanted.evaluator} {wanted.label}"
            for wanted in session.expected
            if (wanted.evaluator, wanted.label) not in got
        ]
        if harness != {session.harness}:
            lines.append(f"{session.session_id}: read as {', '.join(sorted(harness))}, not as {session.harness}")
    return lines


def unasked(found: Found) -> list[str]:
    """The evaluators that had a question and nobody to put it to, sorted. The composite only waits for theirs."""
    verdicts = [one.verdict for judged in found.values() for one in judged]
    return sorted(
        {one.evaluator for one in verdicts if one.evaluator != COMPOSITE and _reason(one) == "no_judge_configured"}
    )


def verdict_table(sessions: Sequence[DemoSession], found: Found) -> Table:
    """Sessions with failures first; within a session failures, missing scores, passes. What does not apply is left
    out."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=False)
    table.add_column("session", style="cyan", no_wrap=True)
    table.add_column("evaluator", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("why", overflow="fold")
    for session in sorted(sessions, key=lambda one: not any(map(_failed, found.get(one.session_id, ())))):
        table.add_section()
        table.add_row(Text(session.session_id), Text(session.harness, "dim"), "", Text(session.shows, "italic"))
        for judged in sorted(found.get(session.session_id, ()), key=_rank):
            outcome = judged.verdict.outcome
            if not isinstance(outcome, NotApplicable):
                table.add_row("", Text(judged.verdict.evaluator), _label(judged.verdict, outcome), Text(_why(judged)))
    return table


def metric_lines(exposition: str) -> Iterator[str]:
    """The lines of /metrics that the demo shows: largest first, a few of each metric."""
    for name in _METRICS:
        lines = [line for line in exposition.splitlines() if line.startswith(f"{name}{{") and _tells(line)]
        lines.sort(key=lambda line: -float(line.rpartition(" ")[2]))
        yield from (safe(line) for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            yield f"... and {len(lines) - _MOST_LINES} more of {name}"


def _reason(verdict: Verdict) -> str | None:
    return verdict.outcome.reason if isinstance(verdict.outcome, NotJudged) else None


def _tells(line: str) -> bool:
    return not line.endswith(" 0.0") and 'label="not_applicable"' not in line


def _failed(judged: Judged) -> bool:
    return passed(judged.verdict) is False


def _rank(judged: Judged) -> tuple[int, str]:
    scored = isinstance(judged.verdict.outcome, Score)
    return (0 if _failed(judged) else 2 if scored else 1), judged.verdict.evaluator


def _label(verdict: Verdict, outcome: Score | NotJudged) -> Text:
    if isinstance(outcome, NotJudged):
        return Text("pending" if outcome.reason == "pending" else "not judged", style="yellow")
    good = passed(verdict)
    return Text(
        f"{'pass' if good else 'FAIL'} {safe(outcome.label)} {outcome.value:.2f}",
        style="green" if good else "bold red",
    )


def _why(judged: Judged) -> str:
    outcome = judged.verdict.outcome
    match outcome:
        case Score():
            return short(outcome.explanation, 220)
        case NotJudged():
            return short(outcome.reason, 80)
        case _:
            return short(outcome.reason, 220)
