"""`spanjudge sessions`: what was judged lately."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter
from rich import box
from rich.table import Table
from rich.text import Text

from collector.clock import SystemClock
from collector.commands.files import ConfigFile, DataDir, fail
from collector.commands.stored import open_store
from collector.commands.terminal import NOT_RECORDED, console, recorded, safe, short
from collector.errors import StoreUnavailable
from collector.store.records import tame
from collector.store.store import SessionFilter, SessionSummary

_SUMMARY = TypeAdapter(SessionSummary)
_DURATION = re.compile(r"(\d+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_TASK = 60


def sessions(
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
    service: Annotated[str | None, typer.Option(help="Of this service (service.name).")] = None,
    harness: Annotated[str | None, typer.Option(help="Of this harness: claude_code, strands, genai, ...")] = None,
    evaluator: Annotated[str | None, typer.Option(help="With a verdict of this evaluator.")] = None,
    label: Annotated[
        str | None, typer.Option(help="With a verdict of this label: refused, loop, violated, not_judged, ...")
    ] = None,
    text: Annotated[str | None, typer.Option(help="With this text in session id, task or service.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Closed within this long: 30m, 12h, 7d.", metavar="DURATION")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only with at least one failed verdict.")] = False,
    limit: Annotated[int, typer.Option(help="At most so many, newest first.", min=1)] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List judged sessions, newest first, with how many verdicts passed, failed, have no score, or wait for a judge.

    Reads the verdict store; the server may be running. `spanjudge show ID` then shows one session.

    \b
    Examples:
      spanjudge sessions -c spanjudge.yaml
      spanjudge sessions --data-dir data --failed --since 24h
      spanjudge sessions --evaluator skill_expected --label refused
      spanjudge sessions --json | jq -r .ref.session_id
    """
    where = SessionFilter(
        service=service,
        harness=harness,
        evaluator=evaluator,
        label=label,
        text=text,
        since_ns=None if since is None else SystemClock().now_ns() - nanoseconds(since),
        limit=limit,
    )

    async def find() -> list[SessionSummary]:
        store = open_store(config_file, data_dir)
        try:
            return await store.sessions(where)
        except StoreUnavailable as error:
            raise fail(str(error)) from error
        finally:
            await store.close()

    found = [one for one in asyncio.run(find()) if one.failed or not failed]
    if as_json:
        for one in found:
            document: dict[str, Any] = _SUMMARY.dump_python(one, mode="python")
            typer.echo(TypeAdapter(dict[str, Any]).dump_json({key: tame(value) for key, value in document.items()}))
        return
    if not found:
        typer.echo("No sessions" + (" fit." if where != SessionFilter(limit=limit) or failed else " yet."), err=True)
        return
    console().print(session_table(found))


def session_table(found: list[SessionSummary]) -> Table:
    """Ids are never cut: they are there to be copied."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("closed (UTC)", no_wrap=True)
    table.add_column("session", style="cyan", no_wrap=True, overflow="fold")
    table.add_column("service", overflow="fold")
    table.add_column("harness", no_wrap=True)
    table.add_column("pass", justify="right")
    table.add_column("fail", justify="right")
    table.add_column("no score", justify="right")
    table.add_column("waiting", justify="right")
    table.add_column("task", overflow="fold")
    for one in found:
        revision = f" (revision {one.ref.revision})" if one.ref.revision > 1 else ""
        tenant = f" [{safe(one.ref.tenant)}]" if one.ref.tenant else ""
        table.add_row(
            time_text(one.closed_ns),
            Text(f"{safe(one.ref.session_id)}{tenant}{revision}"),
            Text(NOT_RECORDED if one.service is None else short(one.service, 40)),
            Text(one.harness),
            _number(one.passed, "green"),
            _number(one.failed, "bold red"),
            _number(one.not_judged, "yellow"),
            _number(one.pending, "yellow"),
            Text(recorded(one.task, _TASK)),
        )
    return table


def time_text(at_ns: int) -> str:
    """UTC to the second."""
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _number(count: int, style: str) -> Text:
    return Text(str(count) if count else "·", style if count else "dim")


def nanoseconds(since: str) -> int:
    """Of `30m`, `12h`, `7d`. Exits with 1 for anything else."""
    match = _DURATION.fullmatch(since.strip())
    if match is None:
        raise fail(f"--since {since!r} is no duration; write a number and s, m, h or d: 30m, 12h, 7d")
    return int(match[1]) * _SECONDS[match[2]] * 1_000_000_000
