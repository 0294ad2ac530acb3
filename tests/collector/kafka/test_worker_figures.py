"""What workers are scaled by: work that waits, of one worker and of several together."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from collector.kafka.session_topic import session_key, session_partition
from collector.sessions.keys import Kind, Owner
from tests.collector.kafka.working import Working, working, world
from tests.eventually import eventually
from tests.kafka.desk import Desk

pytestmark = pytest.mark.integration("kafka")


async def test_the_figure_to_scale_by_is_of_work_and_not_of_open_sessions(kafka: Desk, tmp_path: Path) -> None:
    async with world(kafka, tmp_path) as there, working(there, max_waiting=2) as half:

        async def figures(waiting: int, behind: int) -> bool:
            found = (half.value("kafka_work_waiting_messages"), half.value("kafka_open_offsets_behind"))
            return found == (waiting, behind)

        for session in ("a", "b", "c"):
            await there.send(session)
        await half.has_read()
        await eventually(lambda: figures(0, 3), "open sessions are no work that waits")
        half.gate.open.clear()
        await half.silence()
        await eventually(lambda: figures(2, 3), "closings wait, and reading pauses", within_s=60)
        for session in ("d", "e"):
            await there.send(session)
        await eventually(lambda: figures(4, 5), "so does what comes while it pauses", within_s=60)
        half.gate.open.set()
        await half.judged("a", "b", "c")
        await eventually(lambda: figures(0, 5), "it is worked off", within_s=60)


async def test_what_waits_at_several_workers_adds_up_whoever_has_it(kafka: Desk, tmp_path: Path) -> None:
    sessions = _one_in_each(6)
    async with (
        world(kafka, tmp_path, partitions=6) as there,
        working(there, "first", max_waiting=1) as first,
        working(there, "second", max_waiting=1) as second,
        working(there, "third", max_waiting=1) as third,
    ):
        workers = [first, second, third]

        async def shared_out() -> bool:
            return all(len(each.worker.shares) == 2 for each in workers)

        await eventually(shared_out, "each has two partitions")
        for session in sessions:
            await there.send(session)
        await _in_all(workers, waiting=0, behind=6)
        for each in workers:
            each.gate.open.clear()
        there.clock.advance(61)
        await _in_all(workers, waiting=6, behind=6)  # closings, and each partition pauses for them
        for session in sessions * 2:
            await there.send(session)
        await _in_all(workers, waiting=18, behind=18)
        await third.abandon()
        # Those that go on with theirs leave unread what they had no room for; those that begin the others read first.
        await _in_all([first, second], waiting=4 * 3 + 2 * 1, behind=18)
        for each in workers:
            each.gate.open.set()
        await _in_all([first, second], waiting=0, behind=18)
        assert await there.revisions() == {session: [1] for session in sessions}


def _one_in_each(partitions: int) -> list[str]:
    """Names of sessions, one for each partition."""
    keys = ((name, session_key(Owner(Kind.SESSION, name))) for name in map(str, count()))
    places: dict[int, str] = {}
    while len(places) < partitions:
        name, key = next(keys)
        places.setdefault(session_partition(key, partitions), name)
    return list(places.values())


async def _in_all(workers: list[Working], *, waiting: int, behind: int) -> None:
    async def told() -> bool:
        names = ("kafka_work_waiting_messages", "kafka_open_offsets_behind")
        found = [sum(each.value(name) for each in workers) for name in names]
        return found == [waiting, behind]

    await eventually(told, f"{waiting} wait in all")
