"""`spanjudge demo`: the whole line, from a real socket to verdicts, on sessions made for showing."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Annotated

import httpx
import typer
from rich.console import Console

from collector.clock import SystemClock
from collector.commands.destination import Destination, sender_to
from collector.commands.files import fail
from collector.commands.sending import Totals, Unreachable, send
from collector.commands.terminal import console, safe, styled
from collector.data_directory import STORE_FILE
from collector.demo.report import Found, metric_lines, missing_verdicts, unasked, verdict_table
from collector.demo.server import Server, ServerFailed, running, wait_until, write_files
from collector.demo.sessions import DemoSession, demo_sessions, suite_text
from collector.store.sqlite import SqliteStore
from judge.describe import listed
from judge.verdict import Judged, NotJudged

_CLOSING_S = 25.0
_JUDGING_S = 45.0


def demo(
    data_dir: Annotated[
        Path, typer.Option(help="Configuration, suite, verdicts and log of the demo go here.", metavar="DIR")
    ] = Path("demo-data"),
    keep: Annotated[bool, typer.Option("--keep", help="Leave the server running afterwards, until Ctrl-C.")] = False,
) -> None:
    """Start a real server, send it recorded-shape sessions of three harnesses, and show the verdicts.

    Takes a few seconds. The sessions (Strands, Claude Code, plain GenAI) go over a real gRPC socket: good work, a
    wrong skill, a refused skill, a loop, an unrecovered error, a forbidden command, a missing skill. What code can
    decide is decided at once. With ANTHROPIC_API_KEY in the environment the questions for an LLM judge are asked
    too; without it they are reported as not judged.

    \b
    Examples:
      spanjudge demo
      ANTHROPIC_API_KEY=... spanjudge demo
      spanjudge demo --keep --data-dir /tmp/demo

    Exits with 1 when a verdict that code must come to is missing.
    """
    screen = console()
    directory = data_dir.resolve()
    sessions = demo_sessions(secrets.token_hex(2), SystemClock().now_ns())
    try:
        config = write_files(directory, suite_text())
        with _stopped_by_signal(), running(config) as server:
            missing = _play(screen, server, sessions, directory)
            _print_next(screen, data_dir, sessions)
            if keep:
                _wait_for_ctrl_c(screen, server)
    except (ServerFailed, Unreachable, OSError) as error:
        raise fail(str(error)) from error
    except KeyboardInterrupt:
        typer.echo("\nstopped", err=True)
        raise typer.Exit(130) from None
    if missing:
        for line in missing:
            typer.echo(f"missing: {line}", err=True)
        raise typer.Exit(1)


def _play(screen: Console, server: Server, sessions: Sequence[DemoSession], directory: Path) -> list[str]:
    screen.print(styled(("SpanJudge runs", "bold"), f" at {server.grpc} (OTLP/gRPC); log in {server.log_file}"))
    totals = asyncio.run(_send(server, sessions))
    screen.print(
        f"Sent {len(sessions)} sessions, {totals.items} spans and log records in {totals.requests} requests; "
        f"{totals.taken} were taken and are on disk."
    )
    if not totals.good:
        return list(totals.problems)
    asked = _has_judge()
    store = SqliteStore.open(directory / STORE_FILE, read_only=True)

    def closed() -> bool:
        return len(_read(store, sessions)) == len(sessions)

    def answered() -> bool:
        return not any(_is_pending(one) for verdicts in _read(store, sessions).values() for one in verdicts)

    try:
        began = time.monotonic()
        with _working(screen, "waiting for the sessions to close"):
            wait_until(closed, _CLOSING_S, server.still_runs)
        screen.print(f"They fell silent, were closed and judged by code within {time.monotonic() - began:.1f} s.")
        if asked:
            with _working(screen, "waiting for the judge"):
                if not wait_until(answered, _JUDGING_S, server.still_runs):
                    screen.print("The judge has not answered everything yet; what waits is shown as pending.")
        found = _read(store, sessions)
    finally:
        asyncio.run(store.close())
    screen.print()
    screen.print(verdict_table(sessions, found))
    if not asked:
        screen.print(
            styled(
                ("Questions for an LLM judge were not asked: ", "yellow"),
                f"set ANTHROPIC_API_KEY and run the demo again to have {listed(unasked(found), most=10)} judged.",
            )
        )
    _print_metrics(screen, server)
    return missing_verdicts(sessions, found)


async def _send(server: Server, sessions: Sequence[DemoSession]) -> Totals:
    totals = Totals()
    sender = sender_to(Destination(server.grpc))
    try:
        for session in sessions:
            for request in session.requests:
                await send(sender, request, totals, lambda text: typer.echo(safe(text), err=True))
    finally:
        await sender.close()
    return totals


def _read(store: SqliteStore, sessions: Sequence[DemoSession]) -> Found:
    """The verdicts of those sessions that are judged."""

    async def read() -> dict[str, list[Judged]]:
        found = {}
        for session in sessions:
            if closings := await store.session(session.session_id):
                found[session.session_id] = await store.verdicts(closings[0].ref)
        return found

    return asyncio.run(read())


def _is_pending(judged: Judged) -> bool:
    outcome = judged.verdict.outcome
    return isinstance(outcome, NotJudged) and outcome.reason == "pending"


def _has_judge() -> bool:
    return bool(os.environ.get("ANTHROPIC_API_KEY"))


def _print_metrics(screen: Console, server: Server) -> None:
    screen.print()
    screen.print(styled(("From http://", "bold"), (f"{server.admin}/metrics", "bold")))
    answer = httpx.get(f"http://{server.admin}/metrics", timeout=10)
    for line in metric_lines(answer.text):
        screen.print(styled("  ", line))


def _print_next(screen: Console, data_dir: Path, sessions: Sequence[DemoSession]) -> None:
    screen.print()
    screen.print(styled(("Look closer", "bold")))
    refused = next((one for one in sessions if "refused" in one.shows), sessions[0])
    for command in (
        f"spanjudge sessions --data-dir {data_dir} --failed",
        f"spanjudge show --data-dir {data_dir} {refused.session_id}",
        f"spanjudge inspect --data-dir {data_dir} --stored {refused.session_id}",
    ):
        screen.print(styled("  ", (command, "cyan")))
    screen.print(
        f"The configuration is {data_dir}/spanjudge.yaml, the expectations {data_dir}/suites/tideway.yaml. To judge "
        "your own agent, see docs/quickstart.md."
    )


def _wait_for_ctrl_c(screen: Console, server: Server) -> None:
    screen.print(
        f"\nThe server keeps running: OTLP/gRPC {server.grpc}, OTLP/HTTP {server.http}, metrics {server.admin}, "
        f"page http://{server.admin}/sessions."
    )
    screen.print("Ctrl-C stops it.")
    try:
        server.process.wait()
    except KeyboardInterrupt:
        return
    server.still_runs()


def _working(screen: Console, what: str) -> AbstractContextManager[object]:
    if screen.is_terminal:
        return screen.status(what)
    screen.print(f"{what} ...")
    return nullcontext()


@contextmanager
def _stopped_by_signal() -> Iterator[None]:
    """SIGTERM ends the demo as Ctrl-C does: with its server."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
