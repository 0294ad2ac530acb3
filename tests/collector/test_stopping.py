"""Stopping ends in time, whatever hangs, and says what was left."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

from structlog.testing import capture_logs

from collector.stopping import Stopping


async def _quick(done: list[str], name: str) -> None:
    done.append(name)


async def _deaf(let_go: asyncio.Event) -> None:
    """Does not end when it is cancelled."""
    while not let_go.is_set():
        with suppress(asyncio.CancelledError):
            await let_go.wait()


async def test_a_step_that_hangs_is_left_and_the_others_are_done() -> None:
    done: list[str] = []
    let_go = asyncio.Event()
    stopping = Stopping(0.2)
    await stopping.step("requests", _quick(done, "requests"), until=0.1)
    await stopping.step("exporting", _deaf(let_go), until=0.3)
    await stopping.step("journal", _quick(done, "journal"), until=1.0)
    assert (done, stopping.left) == (["requests", "journal"], ["exporting"])
    let_go.set()


async def test_a_step_that_fails_is_told_and_the_others_are_done() -> None:
    async def fails() -> None:
        raise OSError("no disk")

    done: list[str] = []
    stopping = Stopping(20)
    with capture_logs() as logs:
        await stopping.step("journal", fails(), until=0.5)
    await stopping.step("store", _quick(done, "store"), until=1.0)
    assert (done, stopping.left) == (["store"], ["journal"])
    assert (logs[0]["event"], logs[0]["step"]) == ("stop_failed", "journal")


async def test_a_step_after_the_deadline_has_no_time_but_is_begun() -> None:
    let_go = asyncio.Event()
    stopping = Stopping(0)
    await stopping.step("exporting", _deaf(let_go), until=1.0)
    assert stopping.left == ["exporting"]
    assert stopping.left_s() == 0
    let_go.set()


async def test_an_event_loop_that_hangs_is_left_from_outside() -> None:
    left = threading.Event()
    codes: list[int] = []

    def leaving(code: int) -> None:
        codes.append(code)
        left.set()

    Stopping(0).watch(leaving, 1)
    assert left.wait(20)  # and the loop does nothing meanwhile
    assert codes == [1]
