"""What nobody recognised, scope by scope: enough to teach SpanJudge a harness, or to see that it is no agent at all.

Names and counts only, no values, so that it may be shown to others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rich.text import Text

from collector.commands.terminal import short, styled
from extractors.spans import LogRecord, Scope, Session, Span
from judge.describe import plural

_MOST = 40
"""Names listed of a kind."""


@dataclass(slots=True)
class ScopeReport:
    """One instrumentation scope. `names` are those of spans, `events` of records, `keys` of attributes of either,
    each with how often it came."""

    scope: str
    version: str
    spans: int = 0
    records: int = 0
    sessions: set[str] = field(default_factory=set)
    names: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    keys: Counter[str] = field(default_factory=Counter)


def scope_reports(sessions: Iterable[Session]) -> list[ScopeReport]:
    """One report a scope and version, the one with most telemetry first."""
    found: dict[tuple[str, str], ScopeReport] = {}
    for session in sessions:
        for span in session.spans:
            report = _report(found, session, span)
            report.spans += 1
            report.names[span.name] += 1
        for record in session.records:
            report = _report(found, session, record)
            report.records += 1
            report.events[record.event_name or "(unnamed)"] += 1
    return sorted(found.values(), key=lambda one: (-(one.spans + one.records), one.scope, one.version))


def _report(found: dict[tuple[str, str], ScopeReport], session: Session, item: Span | LogRecord) -> ScopeReport:
    scope: Scope = item.scope
    report = found.setdefault((scope.name, scope.version), ScopeReport(scope.name, scope.version))
    report.sessions.add(session.session_id)
    report.keys.update(iter(item.attributes))  # of a mapping it would add up the values
    return report


def report_lines(reports: Iterable[ScopeReport]) -> Iterator[Text]:
    """Each scope with what it sent."""
    for report in reports:
        named = short(report.scope, 120) or "(no scope)"
        version = f" {short(report.version, 40)}" if report.version else ""
        sent = f"{plural(report.spans, 'span')}, {plural(report.records, 'record')}"
        counts = f"  {sent}, in {plural(len(report.sessions), 'session')}"
        yield styled("  scope ", (f"{named}{version}", "bold yellow"), counts)
        for label, counted in (("spans", report.names), ("records", report.events), ("attributes", report.keys)):
            if counted:
                yield styled("    ", (f"{label:<12}", "dim"), _counts(counted))


def _counts(counted: Counter[str]) -> str:
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{short(name, 80)} ({count})" for name, count in ordered[:_MOST])
    rest = len(ordered) - _MOST
    return f"{shown} and {rest} more" if rest > 0 else shown
