"""A process to be killed: finishes sessions, several at a time, and prints each id once it is told it is durable."""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path

from collector.store.sqlite import SqliteStore
from tests.fakes.verdicts import closed, judged, pending


async def _finish_forever(path: Path) -> None:
    store = SqliteStore.open(path)
    numbers = count()

    async def finish() -> None:
        for number in numbers:
            name = f"s-{number}"
            assert await store.finish(closed(name), [judged(name)], [pending(name)], ["otlp"])
            sys.stdout.write(f"{name}\n")
            sys.stdout.flush()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(8):
            tasks.create_task(finish())


if __name__ == "__main__":
    asyncio.run(_finish_forever(Path(sys.argv[1])))
