"""`spanjudge inspect`: what would be extracted from this telemetry, before anything is judged by it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter
from rich.console import Console

from collector.commands.files import ConfigFile, DataDir, config_of, fail
from collector.commands.grouping import Grouped, group
from collector.commands.missing import missing_lines
from collector.commands.stored import Chosen, choose, open_store
from collector.commands.terminal import LONG, console, safe, short, styled
from collector.commands.trajectory_view import places_of, trajectory_lines
from collector.commands.unrecognised import report_lines, scope_reports
from collector.recordings import read_recordings
from collector.store.records import RecordFormat, tame
from extractors.coverage import missing
from extractors.registry import UNRECOGNISED, extract, recognizers
from extractors.spans import Session
from extractors.trajectory import Trajectory
from judge.describe import plural

_TRAJECTORY = RecordFormat(Trajectory)
_NOBODY = "Nothing in this session was understood: no harness and no convention recognised it. It is not judged."
_TEACH = (
    "If one of them is an agent: docs/adding-a-harness.md says how to teach SpanJudge its telemetry. A report with the "
    "lines above and a recorded session helps as well; the lines have names and counts, no values."
)
_FULL = 1_000_000


def inspect(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Recorded OTLP: protobuf requests, OTLP/JSON, JSON lines, gzip of any; directories are walked.",
            metavar="FILE...",
        ),
    ] = None,
    session: Annotated[str | None, typer.Option(help="Only this session.", metavar="ID")] = None,
    stored: Annotated[
        str | None, typer.Option(help="A session from the store instead of files.", metavar="SESSION")
    ] = None,
    unrecognised: Annotated[
        bool, typer.Option("--unrecognised", help="Which scopes sent what nobody understood, and what it is made of.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, one line a session: the whole trajectory.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long texts.")] = False,
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
) -> None:
    """Show what SpanJudge extracts from telemetry, signal by signal, with the span that each fact came from.

    The preflight for a new agent or harness: run it on a recording before you trust scores. Prompts, skills on
    offer, skill loads and refusals, model turns, tool calls with arguments and results, and the answer are printed
    as extracted; what the telemetry does not hold is called "not recorded", and what to set on the harness so that
    it does is said below. Nothing is sent, stored or judged.

    Sessions are found exactly as the server finds them. Recordings come from the Collector's file exporter, or
    from any export request saved to a file.

    \b
    Examples:
      spanjudge inspect traces.jsonl
      spanjudge inspect recordings/ --session 4711 --full
      spanjudge inspect recordings/ --unrecognised
      spanjudge inspect traces.json --json | jq '.trajectory.skill_invocations'
      spanjudge inspect --stored 4711 -c spanjudge.yaml

    Exits with 1 when a file could not be read whole or held no session, or no session fits the options.
    """
    if bool(files) == (stored is not None):
        raise fail("give either files to read, or --stored with a session of the store")
    screen = console()
    most = _FULL if full else LONG
    if stored is not None:
        _inspect_stored(stored, config_file, data_dir, screen, most, as_json)
        return
    grouped = group(read_recordings(files or []), config_of(config_file))
    found = [(one, extract(one)) for one in grouped.sessions]
    shown = [
        (one, trajectory)
        for one, trajectory in found
        if (session is None or one.session_id == session) and (not unrecognised or trajectory.harness == UNRECOGNISED)
    ]
    if unrecognised and not as_json:
        _print_unrecognised(screen, [one for one, _ in shown])
    else:
        for one, trajectory in shown:
            _print_session(screen, one, trajectory, most, as_json)
    _print_summary(grouped, len(shown))
    if session is not None and not shown:
        known = ", ".join(short(one.session_id, 80) for one in grouped.sessions[:20])
        raise fail(f"no session {safe(session)} in the files; there are: {known or 'none'}")
    lost = any(not one.skipped for one in grouped.unreadable) or grouped.rejected
    if lost or (not shown and not unrecognised):
        raise typer.Exit(1)


def _inspect_stored(
    stored: str, config_file: Path | None, data_dir: Path | None, screen: Console, most: int, as_json: bool
) -> None:
    async def find() -> Chosen:
        store = open_store(config_file, data_dir)
        try:
            return await choose(store, stored, None, None)
        finally:
            await store.close()

    closed = asyncio.run(find()).session
    trajectory = closed.trajectory
    if trajectory is None:
        raise fail(f"session {safe(stored)} has no trajectory: {safe(closed.note)}")
    if as_json:
        _write_json(closed.ref.session_id, trajectory, closed.spans, closed.records, ())
        return
    screen.print(_head(closed.ref.session_id, closed.spans, closed.records))
    for line in (*trajectory_lines(trajectory, {}, most), *missing_lines(trajectory)):
        screen.print(line)


def _print_session(screen: Console, session: Session, trajectory: Trajectory, most: int, as_json: bool) -> None:
    claims = recognizers(session)
    if as_json:
        _write_json(session.session_id, trajectory, len(session.spans), len(session.records), claims)
        return
    screen.print(_head(session.session_id, len(session.spans), len(session.records)))
    for line in trajectory_lines(trajectory, places_of(session), most):
        screen.print(line)
    if trajectory.harness == UNRECOGNISED:
        screen.print(styled("  ", (_NOBODY, "yellow")))
        for line in report_lines(scope_reports([session])):
            screen.print(line)
    for line in missing_lines(trajectory):
        screen.print(line)
    screen.print()


def _print_unrecognised(screen: Console, sessions: Sequence[Session]) -> None:
    """All of them together, scope by scope: one program usually sends many such sessions."""
    if not sessions:
        screen.print("Every session was recognised.")
        return
    screen.print(styled(f"{plural(len(sessions), 'session')} in which nothing was understood came from:"))
    for line in report_lines(scope_reports(sessions)):
        screen.print(line)
    screen.print(styled((_TEACH, "dim")))


def _head(session_id: str, spans: int, records: int) -> Any:
    return styled(
        ("session ", "bold"),
        (short(session_id, 200), "bold cyan"),
        f"  {plural(spans, 'span')}, {plural(records, 'record')}",
    )


def _write_json(
    session_id: str, trajectory: Trajectory, spans: int, records: int, recognized_by: Sequence[str]
) -> None:
    document = {
        "session_id": tame(session_id),
        "spans": spans,
        "records": records,
        "recognized_by": list(recognized_by),
        "missing": [str(signal) for signal in missing(trajectory)],
        "trajectory": json.loads(_TRAJECTORY.dump(trajectory)),
    }
    typer.echo(TypeAdapter(dict[str, Any]).dump_json(document).decode())


def _print_summary(grouped: Grouped, shown: int) -> None:
    """To standard error, so that the output can be piped."""
    errors = console(to="stderr")
    for problem in grouped.unreadable:
        if not problem.skipped:
            errors.print(styled((f"{safe(problem.where)}: ", "bold"), (short(problem.cause), "red")))
    for cause in grouped.causes:
        errors.print(styled((short(cause), "red")))
    skipped = sum(problem.skipped for problem in grouped.unreadable)
    parts = [f"{plural(grouped.requests, 'request')} with {grouped.received} spans and records"]
    parts.append(f"{plural(len(grouped.sessions), 'session')}, {shown} shown")
    for count, what in (
        (grouped.own, "items are SpanJudge's own verdicts"),
        (grouped.no_session, "records name no session and no trace, and are left out"),
        (grouped.rejected, "items are damaged and left out"),
        (skipped, "files hold no spans or records and were skipped"),
    ):
        if count:
            parts.append(f"{count} {what}")
    errors.print(styled(("; ".join(parts), "dim")))
