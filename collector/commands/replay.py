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
from collector.commands.destination import Destination, Protocol, sender_to
from collector.commands.files import fail
from collector.commands.sending import NotLetIn, Totals, Unreachable, send
from collector.commands.shifting import latest_ns, shifted
from collector.commands.terminal import console, safe, short, styled
from collector.exporters.otlp import Sender
from collector.recordings import Reading, Recorded, Unreadable, read_recordings

_PROTOCOLS: dict[str, Protocol] = {"grpc": "grpc", "http": "http"}
_MOST_SHOWN = 1000  # characters of what a server says


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
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the bearer token to send (receivers.auth of the server).", metavar="FILE"),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="Sent with each request, as x-tenant=north; may be repeated.", metavar="NAME=VALUE"),
    ] = None,
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            help="PEM file of the authorities that may have signed the server's certificate. Default: well-known ones.",
            metavar="FILE",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(help="PEM file of our certificate, where the server asks for one (mTLS).", metavar="FILE"),
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file of its key.", metavar="FILE")] = None,
    tls_server_name: Annotated[
        str | None,
        typer.Option(help="Name in the server's certificate, where the endpoint has another.", metavar="NAME"),
    ] = None,
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
      spanjudge replay recordings/ --endpoint https://judge.example:4317 --tls-ca ca.pem --token-file token
      spanjudge replay recordings/ --endpoint https://judge.example:4317 --tls-cert us.crt --tls-key us.key

    Exits with 1 when something could not be read or was not taken.
    """
    if protocol not in _PROTOCOLS:
        raise fail(f"--protocol {protocol}: choose grpc or http")
    destination = Destination(
        endpoint,
        _PROTOCOLS[protocol],
        ca_file=tls_ca,
        cert_file=tls_cert,
        key_file=tls_key,
        server_name=tls_server_name,
        token_file=token_file,
        headers=tuple(header or ()),
    )
    screen = console(to="stderr")
    readings = list(read_recordings(files))
    unread = [one for one in readings if isinstance(one, Unreadable) and not one.skipped]
    for problem in unread:
        screen.print(styled((f"{safe(problem.where)}: ", "bold"), (short(problem.cause), "red")))
    totals = asyncio.run(_replay(_requests(readings, now), destination, rate, screen))
    for text in totals.problems:
        screen.print(styled((short(text, _MOST_SHOWN), "red")))
    refused = f", {totals.rejected} refused" if totals.rejected else ""
    retried = f", {totals.retries} retries" if totals.retries else ""
    typer.echo(
        f"{totals.requests} requests, {totals.items} spans and records: {totals.taken} taken{refused}{retried} "
        f"({safe(destination.url)}, {protocol})"
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
    requests: Sequence[Recorded], destination: Destination, rate: float | None, screen: Console
) -> Totals:
    totals = Totals()
    try:
        sender = sender_to(destination)
    except ValueError as error:
        raise fail(str(error)) from error
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task("requests", total=len(requests))
        try:
            await _send_all(sender, requests, totals, rate, screen, lambda: progress.advance(task))
        except Unreachable as error:
            totals.problems.append(_gave_up(destination, error))
        finally:
            await sender.close()
    return totals


def _gave_up(destination: Destination, error: Unreachable) -> str:
    target, why = safe(destination.url), short(str(error), _MOST_SHOWN // 2)
    if isinstance(error, NotLetIn):
        return (
            f"gave up: {target} does not let us in ({why}). --token-file names the file of a bearer token that it "
            "knows; --header a tenant, where the token is for several"
        )
    return (
        f"gave up: {target} takes nothing ({why}). Is `spanjudge run` running, and is this its {destination.protocol} "
        "address? With TLS it begins with https://; --tls-ca names who signed its certificate, --tls-cert and "
        "--tls-key are for a server that asks for ours"
    )


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
