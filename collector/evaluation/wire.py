"""Messages between the main process and an evaluation process, over a socket that nobody else has.

Each is a length and a pickled record of ours. Telemetry never travels here: claims name rows of the journal, and
what comes back are counts.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
from dataclasses import dataclass
from typing import TypeAlias

from collector.config import Config
from collector.evaluation.task import Report, Task
from collector.rules import RuleFiles
from judge.verdict import NotJudged

_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Setup:
    """All that an evaluation process has to know. The files come along, so that a process that is started again
    judges by the rules that are in force, whatever has become of the files."""

    name: str
    config: Config
    source: str
    """the configuration file, for messages"""
    files: RuleFiles
    exporters: tuple[str, ...]
    judge_problem: NotJudged | None


@dataclass(frozen=True, slots=True)
class Group:
    """To be evaluated and answered by a `Report`. `number` counts from 1."""

    number: int
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """Finish what was handed out, then end."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Rules are loaded, journal and store are open."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """It cannot start; why, for people."""

    problem: str


Order: TypeAlias = Setup | Group | Stop
"""To an evaluation process."""
Answer: TypeAlias = Ready | Unfit | Report
"""From one. Reports come in the order of their groups."""


def send(writer: asyncio.StreamWriter, message: Order | Answer) -> None:
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    writer.write(_LENGTH.pack(len(body)) + body)


async def receive(reader: asyncio.StreamReader) -> Order | Answer:
    """Raises EOFError when the other side has ended."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        body = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise EOFError("the other process has ended") from error
    message: Order | Answer = pickle.loads(body)  # noqa: S301 - from our own process
    return message
