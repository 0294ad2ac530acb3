"""The options that commands of CI share: which sessions they are about, and how those are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from collector.commands.files import fail

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Recorded OTLP: protobuf requests, OTLP/JSON, JSON lines, gzip of any; directories are walked.",
        metavar="FILE...",
    ),
]
Stored = Annotated[bool, typer.Option("--stored", help="Sessions of the verdict store instead of files.")]
SuiteFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--suite", help="Suite file; may be given again. Default: those of the configuration.", metavar="FILE"
    ),
]
Service = Annotated[str | None, typer.Option(help="Sessions of this service (service.name).")]
AgentVersion = Annotated[
    str | None, typer.Option(help="Sessions of this agent version, or service version where agents have none.")
]
Since = Annotated[
    str | None, typer.Option(help="Stored sessions that closed within this long: 30m, 12h, 7d.", metavar="DURATION")
]
Limit = Annotated[int, typer.Option(help="At most so many stored sessions, newest first.", min=1)]
AskJudge = Annotated[
    bool,
    typer.Option(
        "--judge",
        help="Also ask the judge, which costs money; needs its key, and spends the budget of the configuration. "
        "Default: code only.",
    ),
]
BaselineName = Annotated[
    str | None, typer.Option("--baseline", help="Default: the current baseline of the service.", metavar="NAME")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.")]

MOST_STORED = 1000
"""Default of `Limit`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """`files` is empty when sessions of the store are wanted; the rest says which of them."""

    files: tuple[Path, ...] = ()
    service: str | None = None
    agent_version: str | None = None
    since: str | None = None
    limit: int = MOST_STORED


def selection_of(
    files: Sequence[Path] | None,
    stored: bool,
    service: str | None,
    agent_version: str | None,
    since: str | None,
    limit: int,
) -> Selection:
    """What the options select. Exits with 1 unless there are either files or `--stored`."""
    if bool(files) == stored:
        raise fail("give either files to read, or --stored for sessions of the verdict store")
    return Selection(tuple(files or ()), service, agent_version, since, limit)


def of_service(selection: Selection, service: str) -> Selection:
    """Stored sessions of this service unless another is named; of a service without a name, of any."""
    return selection if selection.files or selection.service else replace(selection, service=service or None)
