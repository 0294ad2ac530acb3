"""Only so many pages are made at a time."""

from __future__ import annotations

import asyncio

import pytest

from collector.access.rejected import Rejected
from collector.access.turns import Turns


class Work:
    """Ends when `go` is set; `most` is how many were at it at the same time."""

    def __init__(self, turns: Turns) -> None:
        self.go = asyncio.Event()
        self.now = self.most = self.done = 0
        self._turns = turns

    async def one(self) -> None:
        async with self._turns.mine():
            self.now += 1
            self.most = max(self.most, self.now)
            await self.go.wait()
            self.now -= 1
            self.done += 1


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_no_more_than_so_many_work_and_the_others_come_after_them() -> None:
    work = Work(Turns(at_a_time=2))
    tasks = [asyncio.create_task(work.one()) for _ in range(9)]
    await settle()
    assert work.now == 2
    work.go.set()
    await asyncio.gather(*tasks)
    assert (work.most, work.done) == (2, 9)


async def test_who_comes_while_many_wait_is_told_to_come_again() -> None:
    work = Work(Turns(at_a_time=1, most_waiting=2))
    tasks = [asyncio.create_task(work.one()) for _ in range(3)]
    await settle()
    with pytest.raises(Rejected) as rejected:
        await work.one()
    assert rejected.value.status == 503
    assert "Retry-After" in rejected.value.headers
    work.go.set()
    await asyncio.gather(*tasks)
    await work.one()
    assert work.done == 4


async def test_who_goes_away_leaves_no_turn_taken() -> None:
    work = Work(Turns(at_a_time=1, most_waiting=1))
    tasks = [asyncio.create_task(work.one()) for _ in range(2)]
    await settle()
    for task in reversed(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    work.go.set()
    await work.one()
    assert work.done == 1
