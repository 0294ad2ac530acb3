"""The main program of an evaluation process: `python -m collector.evaluation.child SOCKET PROGRESS PARENT`.

SOCKET and PROGRESS are file descriptors it was started with. The lock of the data directory is among those, too: a
second server cannot start while a process of a first one still writes.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Callable
from functools import partial

import structlog

from collector.clock import SystemClock
from collector.concluding import conclude
from collector.config import Config
from collector.data_directory import JOURNAL_DIRECTORY, STORE_FILE
from collector.errors import StoreUnavailable
from collector.evaluation.evaluation import Evaluation
from collector.evaluation.lifeline import die_with_parent, leave_signals_to_parent
from collector.evaluation.progress import Place, Progress
from collector.evaluation.task import Report
from collector.evaluation.wire import Group, Ready, Setup, Stop, Unfit, receive, send
from collector.journal.following import FollowedJournal
from collector.judge_building import redaction_of
from collector.kafka.places import PLACES_DIRECTORY, FollowedPlaces
from collector.logs import set_up_logs
from collector.reading import Reader
from collector.rules import load_rules
from collector.store.opening import open_store
from judge.documents import DocumentError

log = structlog.get_logger(__name__)

_REFRESH_S = 2.0
_GC_THRESHOLDS = (50_000, 20, 50)  # sessions come and go whole; most collections would find nothing


def main() -> None:
    channel, progress, parent = map(int, sys.argv[1:])
    leave_signals_to_parent()
    die_with_parent(parent)
    gc.set_threshold(*_GC_THRESHOLDS)
    asyncio.run(_run(socket.socket(fileno=channel), Progress(progress)))


async def _run(channel: socket.socket, progress: Progress) -> None:
    reader, writer = await asyncio.open_connection(sock=channel)
    setup = await _order(reader)
    assert isinstance(setup, Setup)
    set_up_logs(setup.config.log, redaction_of(setup.config.judge))
    structlog.contextvars.bind_contextvars(process=setup.name)
    try:
        worker = Worker(setup, progress)
    except (DocumentError, StoreUnavailable) as error:
        send(writer, Unfit(str(error)))
        await writer.drain()
        return
    gc.collect()
    gc.freeze()
    send(writer, Ready())
    groups: asyncio.Queue[Group | None] = asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:  # a defect in the work ends the process; the main one says so and goes on
        tasks.create_task(worker.work(groups, lambda report: send(writer, report)))
        while isinstance(order := await _order(reader), Group):
            groups.put_nowait(order)
        groups.put_nowait(None)
    await writer.drain()
    await worker.close()


async def _order(reader: asyncio.StreamReader) -> Setup | Group | Stop:
    """The next one. Without a parent there is nothing to wait for: ends this process, also in the middle of its work,
    which the next server does again."""
    try:
        order = await receive(reader)
    except EOFError:
        os._exit(1)
    assert isinstance(order, (Setup, Group, Stop))
    return order


class Worker:
    """Everything between an order and its answer. Raises `DocumentError` or `StoreUnavailable`."""

    def __init__(self, setup: Setup, progress: Progress) -> None:
        config = setup.config
        rules = load_rules(config, setup.source, files=setup.files)
        self._store = open_store(config.store, config.data_dir / STORE_FILE, migrate=False)
        self._journal = _journal(config)
        self._progress = progress
        self._group = 0
        self._evaluation = Evaluation(
            Reader(self._journal, SystemClock(), setup.judge_problem, config.sessions.max_bytes),
            self._store,
            rules,
            partial(conclude, rules=config.composite.rules()),
            exporters=setup.exporters,
            progress=self._tell,
        )

    def _tell(self, at: int | None, keeping: bool) -> None:
        self._progress.tell(Place(self._group, at, keeping))

    async def work(self, groups: asyncio.Queue[Group | None], answer: Callable[[Report], None]) -> None:
        """Until None comes."""
        while True:
            await self._refresh()
            try:
                async with asyncio.timeout(_REFRESH_S):
                    group = await groups.get()
            except TimeoutError:
                continue
            if group is None:
                return
            self._group = group.number
            answer(await self._evaluation.evaluate(group.tasks))

    async def _refresh(self) -> None:
        """Let go of what the main process has removed: its room on the disk comes back only then."""
        try:
            await asyncio.to_thread(self._journal.refresh)
        except StoreUnavailable as error:
            log.warning("journal_unavailable", error=str(error))

    async def close(self) -> None:
        self._journal.close()
        await self._store.close()


def _journal(config: Config) -> FollowedJournal | FollowedPlaces:
    """With Kafka there is one for each partition."""
    if config.kafka is not None:
        return FollowedPlaces(config.data_dir / PLACES_DIRECTORY, config.journal.segment_bytes)
    return FollowedJournal(config.data_dir / JOURNAL_DIRECTORY, config.journal.segment_bytes)


if __name__ == "__main__":
    main()
