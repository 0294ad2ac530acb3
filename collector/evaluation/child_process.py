"""One evaluation process, as its parent sees it: started, given groups, watched, ended."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collector.evaluation.progress import Place, Progress
from collector.evaluation.task import EvaluationLost, Report, Task
from collector.evaluation.wire import Group, Ready, Setup, Stop, Unfit, receive, send
from collector.malloc import SETTINGS

_START_S = 60.0
_LOOK_S = 1.0
_END_S = 5.0
_DESCRIPTOR_OF_LOGS = 2

Ending: TypeAlias = Literal["stopped", "died", "timeout"]


class NotStarted(Exception):
    """The process did not get ready; says why. `unfit` when it was given what it cannot work by."""

    def __init__(self, problem: str, *, unfit: bool = False) -> None:
        super().__init__(problem)
        self.unfit = unfit


@dataclass(frozen=True, slots=True)
class _HandedOut:
    number: int
    answer: asyncio.Future[Report]


class ChildProcess:
    """Made by `start`. `ended` is done when the process is gone."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        progress: Progress,
        timeout_s: float,
    ) -> None:
        self._process = process
        self._reader, self._writer = streams
        self._progress = progress
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._groups = 0
        self._handed_out: deque[_HandedOut] = deque()
        self._stopping = False
        self._seen: Place | None = None
        self._seen_at = 0.0
        self._hangs = False
        self._attending: asyncio.Task[None] | None = None
        self._last_place: Place | None = None
        self.ended: asyncio.Future[Ending] = self._loop.create_future()

    @classmethod
    async def start(cls, setup: Setup, *, timeout_s: float, inherited: Sequence[int] = ()) -> ChildProcess:
        """`timeout_s` is how long it may be busy with one task; `inherited` are descriptors that it holds open for as
        long as it lives. Raises `NotStarted`."""
        try:
            progress = Progress()
        except OSError as error:
            raise NotStarted(f"it cannot be started: {error}") from error
        try:
            process, ours = await _spawn(progress, inherited)
        except OSError as error:
            progress.close()
            raise NotStarted(f"it cannot be started: {error}") from error
        child = cls(process, await asyncio.open_connection(sock=ours), progress, timeout_s)
        try:
            await child._become_ready(setup)
        except BaseException:
            await child._clear_away()
            raise
        child._attending = asyncio.create_task(child._attend(), name=f"attending to {setup.name}")
        return child

    async def _become_ready(self, setup: Setup) -> None:
        send(self._writer, setup)
        try:
            async with asyncio.timeout(_START_S):
                answer = await receive(self._reader)
        except TimeoutError as error:
            raise NotStarted(f"it was not ready within {_START_S:g} s") from error
        except EOFError as error:
            raise NotStarted(f"it ended while it started, with code {await self._process.wait()}") from error
        if isinstance(answer, Unfit):
            raise NotStarted(answer.problem, unfit=True)
        if not isinstance(answer, Ready):
            raise NotStarted(f"it answered {type(answer).__name__}")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Negative for a signal; None while it runs."""
        return self._process.returncode

    @property
    def in_hand(self) -> int:
        """Groups not answered yet."""
        return len(self._handed_out)

    async def evaluate(self, tasks: Sequence[Task]) -> Report:
        """Groups are worked on in the order they came. Raises `EvaluationLost`."""
        if self.ended.done():
            raise EvaluationLost(self.ended.result(), None)
        self._groups += 1
        handed = _HandedOut(self._groups, self._loop.create_future())
        self._handed_out.append(handed)
        send(self._writer, Group(handed.number, tuple(tasks)))
        return await handed.answer

    def retire(self) -> None:
        """Let it finish what it has in hand, and end; it must be given nothing more."""
        if not self._stopping and not self.ended.done():
            self._stopping = True
            send(self._writer, Stop())

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def _attend(self) -> None:
        """Until it has ended."""
        receiving = asyncio.create_task(self._receive())
        while not receiving.done():
            await asyncio.wait({receiving}, timeout=_LOOK_S)
            self._look()
        if self._stopping and not self._hangs:
            with suppress(TimeoutError):  # it has closed its end, and has itself to close
                await asyncio.wait_for(self._process.wait(), _END_S)
        await self._clear_away()
        ending: Ending = "timeout" if self._hangs else "died"
        if self._stopping and self.exit_code == 0:
            ending = "stopped"
        self.ended.set_result(ending)
        for handed in self._handed_out:
            if not handed.answer.done():
                handed.answer.set_exception(EvaluationLost(ending, self._culprit(handed)))
        self._handed_out.clear()

    async def _receive(self) -> None:
        """Every report, until it ends."""
        while True:
            try:
                report = await receive(self._reader)
            except EOFError:
                return
            assert isinstance(report, Report)
            handed = self._handed_out.popleft()
            if not handed.answer.done():
                handed.answer.set_result(report)

    def _look(self) -> None:
        """End it when it does not get on."""
        place, now = self._progress.look(), self._loop.time()
        if place != self._seen or not self._handed_out:
            self._seen, self._seen_at = place, now
        elif now - self._seen_at > self._timeout_s:
            self._hangs = True
            self.kill()

    def _culprit(self, handed: _HandedOut) -> int | None:
        """The place in the group of the task at which the process ended."""
        place = self._last_place
        if place is None or place.group != handed.number or (self._hangs and place.keeping):
            return None  # a disk that does not answer is not the session's fault
        return place.at

    async def _clear_away(self) -> None:
        self.kill()
        await self._process.wait()
        self._writer.close()
        self._last_place = self._progress.look()
        self._progress.close()


async def _spawn(progress: Progress, inherited: Sequence[int]) -> tuple[asyncio.subprocess.Process, socket.socket]:
    """The process, and our end of the socket to it. Raises OSError."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # else a `collector` in the current directory, a common name, would be started instead
                "-m",
                "collector.evaluation.child",
                *map(str, (theirs.fileno(), progress.descriptor, os.getpid())),
                stdin=subprocess.DEVNULL,
                stdout=_DESCRIPTOR_OF_LOGS,  # plugins print
                pass_fds=(theirs.fileno(), progress.descriptor, *inherited),
                env={**SETTINGS, **os.environ},
            )
        except OSError:
            ours.close()
            raise
    return process, ours
