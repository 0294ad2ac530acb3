"""Start a server, wait until it serves, and read what its whole process tree has used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import psutil

START_S = 120
STOP_S = 30

MALLOC = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_ARENA_MAX": "2",
}
"""The same for every server. glibc otherwise maps and unmaps each request of several megabytes, which costs the
fastest server most and would flatter the others."""


class ServerFailed(RuntimeError):
    """A server did not start, or ended by itself. The message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes. `anonymous` leaves out what is shared, such as the mapped pages of a journal."""

    resident: int
    anonymous: int


class Server:
    """A server process and its children. Use as a context: it is ready inside and gone afterwards."""

    def __init__(
        self, command: Sequence[str], log: Path, is_ready: Callable[[str], bool], env: Mapping[str, str] | None = None
    ) -> None:
        """`is_ready` is given the log so far."""
        self._command = command
        self._log = log
        self._is_ready = is_ready
        self._env = server_env(env or {})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self._env
            )
        try:
            self._wait(self._process)
        except BaseException:
            self._stop()
            raise
        return self

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_S
        while not self._is_ready(self._log.read_text(errors="replace")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(self.failure("did not become ready"))
            time.sleep(0.05)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def cpu_s(self) -> float:
        """CPU seconds, user and system, of all threads of the tree since each process started."""
        return sum(_cpu_s(process) for process in self._tree())

    def memory(self) -> Memory:
        used = [process.memory_info() for process in self._tree()]
        resident = sum(each.rss for each in used)
        return Memory(resident, resident - sum(getattr(each, "shared", 0) for each in used))

    def signal(self, number: int) -> None:
        """Send the server's own process a signal, and wait for its end where that ends it."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(STOP_S)

    def failure(self, what: str) -> str:
        tail = self._log.read_text(errors="replace")[-2_000:]
        return f"{' '.join(self._command)} {what}; the end of its log:\n{tail}"

    def _tree(self) -> list[psutil.Process]:
        if self._process is None or self._process.poll() is not None:
            raise ServerFailed(self.failure("is gone"))
        root = psutil.Process(self._process.pid)
        return [root, *root.children(recursive=True)]

    def _stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _cpu_s(process: psutil.Process) -> float:
    if sys.platform.startswith("linux"):
        # The kernel's CPU clock of another process, to the nanosecond; psutil sees ticks of 10 ms, which is a tenth
        # of what a short run uses. The number is what clock_getcpuclockid(3) makes of a pid.
        return time.clock_gettime((~process.pid << 3) | 2)
    else:  # noqa: RET505 (a type checker reads one branch only)
        times = process.cpu_times()
        return times.user + times.system


def server_env(extra: Mapping[str, str]) -> dict[str, str]:
    """Our environment with one malloc setting for all, and no key: nothing may ask a model while it is measured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    return {**kept, **MALLOC, **extra}
