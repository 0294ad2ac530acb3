"""The machine's wall clock is set by a day, either way, while sessions are open. libfaketime moves the wall clock of
the process and leaves its monotonic clock alone, as a step by an administrator or by NTP does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.agents import chat_span, conversation, request, tool_span
from tests.end_to_end.server import Server, wait_for
from tests.integrations import require

DAY_S = 86_400


def _library() -> Path | None:
    return next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


class WallClock:
    """That of one server. Ahead of, or behind, the true time by what it was last set to."""

    def __init__(self, server: Server, library: Path) -> None:
        self._file = server.directory / "clock"
        self.set(0)
        server.environment |= {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, ahead_s: int) -> None:
        written = self._file.with_suffix(".new")
        written.write_text(f"{ahead_s:+d}\n")
        written.replace(self._file)


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[tuple[Server, WallClock]]:
    library = _library()
    require("faketime", library is not None, "libfaketime (Debian: apt-get install libfaketime)")
    assert library is not None
    server = Server(tmp_path, sessions={"idle_seconds": 60, "max_age_seconds": 600})
    moved = WallClock(server, library)
    with server:
        yield server, moved


@pytest.mark.parametrize("step_s", [DAY_S, -DAY_S], ids=["forward", "backward"])
def test_a_clock_set_by_a_day_closes_no_open_session_and_holds_up_no_other(
    clock: tuple[Server, WallClock], step_s: int
) -> None:
    server, wall = clock
    server.send(conversation("chat-1"))
    wall.set(step_s)
    wait_for(lambda: abs(server.metric("clock_stepped_seconds") - step_s) < 60, "the step to be seen")

    last = chat_span("chat-2", 2, 1, "Bye", "Bye!")
    last.events.add(name="session.end")
    server.send(request([last]))
    assert server.judged("chat-2").close_reason == "end_marker"
    assert server.closings("chat-1") == []
    assert server.metric("sessions_open") == 1


@pytest.mark.parametrize("step_s", [DAY_S, -DAY_S], ids=["forward", "backward"])
def test_after_a_restart_under_the_other_clock_every_session_is_judged_once(
    clock: tuple[Server, WallClock], step_s: int
) -> None:
    server, wall = clock
    server.config["sessions"] = {**server.config["sessions"], "idle_seconds": 1}
    server.send(request([tool_span("chat-1", 1, 1)]))
    wall.set(step_s)
    server.send(request([tool_span("chat-1", 1, 2)]))
    server.kill()
    server.start()
    closed = server.judged("chat-1")
    assert (closed.spans, closed.ref.revision) == (2, 1)
