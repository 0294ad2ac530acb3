"""`spanjudge replay`: recorded telemetry to a running server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from collector.clock import SystemClock
from collector.commands.files import fail
from collector.commands.sending import Protocol, Totals, Unreachable, send, sender_to
from collector.commands.shifting import latest_ns, shifted
from collector.commands.terminal import console, safe, short, styled
from collector.exporters.otlp import Sender
from collector.recordings import Reading, Recorded, Unreadable, read_recordings

_ENDPOINTS: dict[str, str] = {"grpc": "http://127.0.0.1:4317", "http": "http://127.0.0.1:4318"}


def replay(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Recorded OTLP: protobuf requests, OTLP/JSON, JSON lines, gzip of any; directories are walked.",
            metavar="FILE...",
        ),
    ],
    endpoint: Annotated[
        str | None,
        typer.Option(help="Default: http://127.0.0.1:4317 for grpc, http://127.0.0.1:4318 for http.", metavar="URL"),
    ] = None,
    protocol: Annotated[str, typer.Option(help="grpc or http (protobuf bodies).")] = "grpc",
    rate: Annotated[
        float | None,
        typer.Option(help="At most so many requests a second. Default: as fast as they are taken.", min=0.001),
    ] = None,
    now: Annotated[
        bool, typer.Option("--now", help="Move all times by the same amount, so that the last of them is now.")
    ] = False,
) -> None:
    """Send recorded telemetry to a running SpanJudge (or to any OTLP receiver), in order of file names.

    A server that has no room is asked again as it says; spans and records it refuses are told with its reason.
    A session replayed within its late window is judged again, as its next revision.

    \b
    Examples:
      spanjudge replay recordings/
      spanjudge replay traces.jsonl.gz --now
      spanjudge replay traces-01.bin logs-01.bin --protocol http --endpoint http://collector:4318
      spanjudge replay recordings/ --rate 5

    Exits with 1 when something could not be read or was not taken.
    """
    if protocol not in _ENDPOINTS:
        raise fail(f"--protocol {protocol}: choose grpc or http")
    target = endpoint or _ENDPOINTS[protocol]
    known: Protocol = "http" if protocol == "http" else "grpc"
    screen = console(to="stderr")
    readings = list(read_recordings(files))
    unread = [one for one in readings if isinstance(one, Unreadable) and not one.skipped]
    for problem in unread:
        screen.print(styled((f"{safe(problem.where)}: ", "bold"), (short(problem.cause), "red")))
    totals = asyncio.run(_replay(_requests(readings, now), target, known, rate, screen))
    for text in totals.problems:
        screen.print(styled((short(text, 1000), "red")))
    refused = f", {totals.rejected} refused" if totals.rejected else ""
    retried = f", {totals.retries} retries" if totals.retries else ""
    typer.echo(
        f"{totals.requests} requests, {totals.items} spans and records: {totals.taken} taken{refused}{retried} "
        f"({safe(target)}, {protocol})"
    )
    if unread or not totals.good or not totals.requests:
        raise typer.Exit(1)


def _requests(readings: Sequence[Reading], now: bool) -> list[Recorded]:
    found = [one for one in readings if isinstance(one, Recorded)]
    if not now:
        return found
    by_ns = SystemClock().now_ns() - latest_ns(found)
    return [shifted(one, by_ns) for one in found]


async def _replay(
    requests: Sequence[Recorded], target: str, protocol: Protocol, rate: float | None, screen: Console
) -> Totals:
    totals = Totals()
    try:
        sender = sender_to(target, protocol)
    except ValueError as error:
        raise fail(str(error)) from error
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task("requests", total=len(requests))
        try:
            await _send_all(sender, requests, totals, rate, screen, lambda: progress.advance(task))
        except Unreachable as error:
            totals.problems.append(
                f"gave up: {safe(target)} takes nothing ({error}). Is `spanjudge run` running, and is this its "
                f"{protocol} address?"
            )
        finally:
            await sender.close()
    return totals


async def _send_all(
    sender: Sender,
    requests: Sequence[Recorded],
    totals: Totals,
    rate: float | None,
    screen: Console,
    done: Callable[[], None],
) -> None:
    for number, recorded in enumerate(requests):
        if rate is not None and number:
            await asyncio.sleep(1 / rate)
        await send(sender, recorded, totals, lambda text: screen.print(styled((short(text), "yellow"))))
        done()
        if not screen.is_terminal and (number + 1) % 100 == 0:
            screen.print(styled(f"{number + 1} of {len(requests)} requests"))
