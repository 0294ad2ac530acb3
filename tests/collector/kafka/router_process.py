"""A router in a process of its own, to be killed. Its argument is the `kafka` section as JSON."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from collector.kafka.settings import KafkaSettings
from tests.collector.kafka.routers import Bench, routing

_ROOT = Path(__file__).parents[3]


class RouterProcess:
    def __init__(self, settings: KafkaSettings, output: Path) -> None:
        command = [sys.executable, "-m", "tests.collector.kafka.router_process", settings.model_dump_json()]
        with output.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=_ROOT, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def kill(self) -> None:
        """As `kill -9` does."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """It does nothing until `thaw`, as a machine that swaps."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def ended(self) -> bool:
        return self._process.poll() is not None


@contextmanager
def router_process(bench: Bench, directory: Path) -> Iterator[RouterProcess]:
    """Killed at the end of the block at the latest; what it logs is in `router.log`."""
    process = RouterProcess(bench.kafka, directory / "router.log")
    try:
        yield process
    finally:
        process.kill()


async def _run(settings: KafkaSettings) -> None:
    async with routing(Bench.of(settings)) as running:
        await running.task


if __name__ == "__main__":
    asyncio.run(_run(KafkaSettings.model_validate_json(sys.argv[1])))
