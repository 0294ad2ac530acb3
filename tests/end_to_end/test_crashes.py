"""Killed at any moment, the product loses nothing it has acknowledged and judges nothing twice."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.end_to_end.agents import conversation, request, tool_span
from tests.end_to_end.sending import Sender, assert_complete
from tests.end_to_end.server import Server, wait_for


def test_every_acknowledged_span_is_judged_whenever_the_process_is_killed(tmp_path: Path) -> None:
    server = Server(tmp_path, sessions={"idle_seconds": 3})
    with server, Sender(server, sessions=4) as sender:
        for kill in range(3):
            sender.wait_for_more(100, f"acknowledged before kill {kill}")
            server.kill()
            server.start()
    with server:
        assert_complete(server, sender.acknowledged)


def test_a_stop_loses_nothing_of_what_is_being_sent(tmp_path: Path) -> None:
    server = Server(tmp_path, sessions={"idle_seconds": 3})
    with server, Sender(server, sessions=2) as sender:
        sender.wait_for_more(100, "acknowledged before the stop")
        assert server.stop() == 0
        server.start()
    with server:
        assert_complete(server, sender.acknowledged)


def test_a_kill_between_closing_and_judging_judges_once(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        # Somebody else holds the store: the session is closed, and its judging waits.
        with closing(sqlite3.connect(tmp_path / "data" / "verdicts.sqlite3", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            server.send(conversation("chat-1"))
            wait_for(lambda: server.metric("sessions_open") == 0, "closed")
            assert server.closings("chat-1") == []
            server.kill()
        server.start()
        closed = server.judged("chat-1")
        assert (closed.ref.revision, closed.close_reason, closed.spans) == (1, "idle", 2)
        assert "to_judge=1" in server.output()


def test_a_kill_after_judging_judges_nothing_again(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.send(conversation("chat-1"))
        first = server.judged("chat-1")
        server.kill()
        server.start()
        server.send(conversation("chat-2", trace=2))
        server.judged("chat-2")
        assert server.closings("chat-1") == [first]


def test_idle_sessions_survive_a_kill_and_close_after_it(tmp_path: Path) -> None:
    with Server(tmp_path, sessions={"idle_seconds": 300}) as server:
        server.send(conversation("chat-1"))
        server.kill()
        server.config["sessions"]["idle_seconds"] = 1
        server.start()
        assert server.judged("chat-1").spans == 2


def test_an_unnamed_trace_and_its_late_name_on_both_sides_of_a_kill_are_one_session(tmp_path: Path) -> None:
    child = tool_span("", 1, 2)
    child.parent_span_id = (1).to_bytes(8, "big")
    with Server(tmp_path, sessions={"idle_seconds": 2}) as server:
        server.send(request([child]))
        server.kill()
        server.start()
        server.send(request([tool_span("chat-1", 1, 1)]))
        assert server.judged("chat-1").spans == 2


def test_the_journal_of_judged_sessions_is_removed(tmp_path: Path) -> None:
    """One segment for every second of telemetry; none is kept when its sessions are done and their late window over."""
    journal = {"segment_seconds": 1}
    sessions = {"late_window_seconds": 1}
    with Server(tmp_path, journal=journal, sessions=sessions) as server:
        for number in range(1, 4):
            server.send(conversation(f"chat-{number}", trace=number))
            server.judged(f"chat-{number}")
        segments = tmp_path / "data" / "journal"
        oldest = min(path.name for path in segments.iterdir())

        def moved_on() -> bool:
            (*older, newest) = sorted(path.name for path in segments.iterdir())
            return not older and newest > oldest

        wait_for(moved_on, "older segments removed")


def test_a_long_session_does_not_keep_the_journal_and_is_whole_after_a_kill(tmp_path: Path) -> None:
    """A file for about two requests. The long session stays open; others come and go until its first file can go."""
    sessions = {"idle_seconds": 3, "late_window_seconds": 0}
    with Server(tmp_path, journal={"segment_bytes": 1024**2}, sessions=sessions) as server:
        journal, number = tmp_path / "data" / "journal", itertools.count(1)
        server.send(conversation("long"))
        first = min(path.name for path in journal.iterdir())

        def moved() -> bool:
            at = next(number)
            server.send(request([tool_span("long", 1, 1_000 + at)]))
            filler = tool_span(f"short-{at}", 10_000 + at, at)
            filler.attributes.add(key="text").value.string_value = "x" * 400_000
            server.send(request([filler]))
            return min(path.name for path in journal.iterdir()) > first and not server.closings("long")

        wait_for(moved, "the first file removed while the session is open", within_s=60)
        server.kill()
        sent = next(number) - 1
        server.start()
        assert server.judged("long").spans == 2 + sent
