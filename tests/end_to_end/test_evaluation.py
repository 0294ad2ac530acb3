"""Evaluation in processes of its own: whatever becomes of one, every session is judged, none twice, and none is left
behind when the server goes."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from collector.store.store import ClosedSession
from tests.end_to_end.agents import conversation
from tests.end_to_end.plugins import calm, tricky
from tests.end_to_end.sending import Sender, assert_complete
from tests.end_to_end.server import Server, wait_for

APART: dict[str, Any] = {"evaluation": {"processes": 1, "timeout_seconds": 2}}


def _is_evaluation(process: psutil.Process) -> bool:
    try:
        return "collector.evaluation.child" in process.cmdline()
    except psutil.NoSuchProcess:  # or it has ended, and nobody has asked how
        return False


def _children(server: Server) -> list[psutil.Process]:
    return [child for child in psutil.Process(server.process.pid).children() if _is_evaluation(child)]


def _a_child(server: Server, but_not: int = 0) -> psutil.Process:
    def found() -> list[psutil.Process]:
        return [child for child in _children(server) if child.pid != but_not and f"pid={child.pid}" in server.output()]

    return wait_for(found, "an evaluation process that is ready")[0]


def _unreadable(server: Server) -> float:
    return server.metric("sessions_closed_total", reason="unreadable")


def test_a_session_is_read_judged_and_counted_elsewhere(tmp_path: Path) -> None:
    with Server(tmp_path, evaluation={"processes": 2}) as server:
        server.send(conversation("chat-1"))
        closed = server.judged("chat-1")
        assert (closed.close_reason, closed.spans, closed.judged) == ("idle", 2, True)
        wait_for(lambda: server.metric("sessions_closed_total", reason="idle") == 1, "counted")
        assert server.metric("verdicts_total") == len(server.verdicts(closed)) > 0
        assert server.metric("verdict_lag_seconds_count") == 1
        assert server.metric("evaluation_waiting") == 0
        wait_for(lambda: len(_children(server)) == 2, "two processes")


def test_evaluation_processes_that_are_killed_lose_nothing_and_judge_nothing_twice(tmp_path: Path) -> None:
    with Server(tmp_path, sessions={"idle_seconds": 2}, **APART) as server:
        killed = 0
        with Sender(server, sessions=4) as sender:
            for kill in range(3):
                child = _a_child(server, but_not=killed)
                sender.wait_for_more(100, f"acknowledged before kill {kill}")
                child.kill()
                killed = child.pid
        # And once more with closings to evaluate.
        os.kill(_a_child(server, but_not=killed).pid, signal.SIGSTOP)
        wait_for(lambda: server.metric("evaluation_waiting") >= 4, "closed, and waiting")
        wait_for(lambda: server.metric("evaluation_restarts_total", reason="timeout") >= 1, "ended")
        assert_complete(server, sender.acknowledged)
        assert server.metric("evaluation_restarts_total", reason="died") >= 3
        assert _unreadable(server) == 0


def test_a_server_that_is_killed_leaves_no_process_behind_and_the_next_goes_on(tmp_path: Path) -> None:
    server = Server(tmp_path, sessions={"idle_seconds": 2}, **APART)
    with server, Sender(server, sessions=4) as sender:
        for kill in range(2):
            child = _a_child(server)
            sender.wait_for_more(100, f"acknowledged before kill {kill}")
            server.kill()
            wait_for(lambda child=child: not _is_evaluation(child), "no process left")  # type: ignore[misc]
            server.start()
    with server:
        assert_complete(server, sender.acknowledged)


def test_a_process_that_cannot_run_ends_with_its_server_too(tmp_path: Path) -> None:
    """Stopped, it hears nothing: the kernel has to end it."""
    with Server(tmp_path, **APART) as server:
        server.send(conversation("chat-1"))
        server.judged("chat-1")
        child = _a_child(server)
        child.suspend()
        server.kill()
        server.start()
        assert not _is_evaluation(child)
        server.send(conversation("chat-2", trace=2))
        server.judged("chat-2")


@pytest.mark.parametrize(("name", "reason"), [("endless", "timeout"), ("deadly", "died")])
def test_a_session_at_which_processes_end_is_listed_and_the_others_are_judged(
    tmp_path: Path, name: str, reason: str
) -> None:
    server = Server(tmp_path, **APART)
    server.environment = tricky(tmp_path / "plugins")
    with server:
        for trace, session in enumerate(("chat-1", f"{name}-1", "chat-2"), start=1):
            server.send(conversation(session, trace))
        for session in ("chat-1", "chat-2"):
            assert server.verdict(server.judged(session), "tricky").verdict.evaluator_version == "1"
        wait_for(lambda: _unreadable(server) == 1, "listed as unreadable")
        assert server.metric("evaluation_restarts_total", reason=reason) >= 2
        assert server.metric("evaluation_waiting") == 0
        assert server.closings(f"{name}-1") == []
        assert "session_unreadable" in server.output()
        server.send(conversation("chat-3", trace=7))
        server.judged("chat-3")
    with server:
        server.send(conversation("chat-4", trace=8))
        server.judged("chat-4")
        assert server.metric("evaluation_restarts_total") == 0, "it is done, and not tried again"


def test_a_stop_ends_in_time_though_a_process_hangs_and_the_next_start_judges(tmp_path: Path) -> None:
    server = Server(tmp_path, evaluation={"processes": 1}, shutdown_seconds=3)
    server.environment = tricky(tmp_path / "plugins")
    with server:
        server.send(conversation("endless-1"))
        wait_for(lambda: server.metric("evaluation_waiting") == 1, "closed")
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 3 + 5
        assert "evaluating closed sessions" in server.output()
        calm(tmp_path / "plugins")
        server.start()
        assert server.judged("endless-1").judged
        assert len(server.closings("endless-1")) == 1


def test_a_stop_ends_in_time_though_a_thread_hangs(tmp_path: Path) -> None:
    server = Server(tmp_path, evaluation={"processes": 0}, shutdown_seconds=3)
    server.environment = tricky(tmp_path / "plugins")
    with server:
        server.send(conversation("endless-1"))
        wait_for(lambda: server.metric("evaluation_waiting") == 1, "closed")
        assert server.stop(within_s=15) == 0
        assert "left_for_next_start" in server.output()


def test_a_stop_ends_in_time_though_the_exporter_hangs_and_the_next_start_sends(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        otlp = {"endpoint": endpoint, "protocol": "http/protobuf", "timeout_seconds": 60}
        with Server(tmp_path, export={"otlp": otlp}, shutdown_seconds=3, **APART) as server:
            server.send(conversation("chat-1"))
            server.judged("chat-1")
            waiting = wait_for(lambda: server.metric("export_pending"), "to be sent")
            assert server.stop(within_s=15) == 0
            assert "export_cut_short" in server.output()
            server.start()
            assert server.metric("export_pending") == waiting


def _suite(directory: Path, word: str) -> None:
    (directory / "suite.yaml").write_text(
        f"name: shop\nversion: '1'\ncases:\n  - id: mug\n    match: {{}}\n    answer_contains: [{word}]\n"
    )


def _answer_label(server: Server, closed: ClosedSession) -> str:
    outcome = server.verdict(closed, "answer_contains").verdict.outcome
    return getattr(outcome, "label", type(outcome).__name__)


@pytest.mark.parametrize("processes", [0, 1])
def test_rules_that_are_read_again_hold_from_then_on_and_faulty_ones_do_not(tmp_path: Path, processes: int) -> None:
    _suite(tmp_path, "mugs")
    config: dict[str, Any] = {"evaluation": {"processes": processes}, "suites": ["suite.yaml"]}
    with Server(tmp_path, **config) as server:
        server.send(conversation("chat-1"))
        before = _answer_label(server, server.judged("chat-1"))

        _suite(tmp_path, "teapots")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: server.metric("config_reloads_total", outcome="success") == 1, "read again")
        read_at = server.metric("config_last_reload_success_timestamp_seconds")
        server.send(conversation("chat-2", trace=2))
        after = _answer_label(server, server.judged("chat-2"))
        assert before != after

        (tmp_path / "suite.yaml").write_text("name: shop\ncasez: []\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: server.metric("config_reloads_total", outcome="failure") == 1, "refused")
        assert "casez" in server.output()
        assert server.metric("config_last_reload_success_timestamp_seconds") == read_at
        for child in _children(server):
            child.kill()
        server.send(conversation("chat-3", trace=3))
        assert _answer_label(server, server.judged("chat-3")) == after, "by the rules in force, not by the file"
        assert server.stop() == 0
