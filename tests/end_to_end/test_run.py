"""Starting, judging, stopping: the product as its users meet it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import grpc
import httpx
import pytest

from judge.verdict import NotJudged, Score
from tests.end_to_end.agents import chat_span, conversation, request, tool_span
from tests.end_to_end.server import SPANJUDGE, Server, wait_for


def _fails(server: Server) -> str:
    """Start it, expecting exit code 1; what it said."""
    assert server.begin().wait(60) == 1
    return server.output()


def test_a_session_sent_by_grpc_is_judged(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert server.send(conversation("chat-1")) == b""
        closed = server.judged("chat-1")
        assert (closed.close_reason, closed.spans, closed.ref.revision) == ("idle", 2, 1)
        assert closed.trajectory is not None
        assert closed.trajectory.task == "Is the blue mug in stock?"
        assert [call.name for call in closed.trajectory.tool_calls] == ["look_up"]
        assert isinstance(server.verdict(closed, "step_efficiency").verdict.outcome, Score)
        assert server.metric("sessions_closed_total", reason="idle") == 1
        assert server.metric("verdicts_total", evaluator="step_efficiency", service="shop") == 1


def test_without_a_key_only_questions_are_not_judged(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.send(conversation("chat-1"))
        closed = server.judged("chat-1")
        outcome = server.verdict(closed, "goal_completion").verdict.outcome
        assert isinstance(outcome, NotJudged)
        assert outcome.reason == "no_judge_configured"
        assert isinstance(server.verdict(closed, "step_efficiency").verdict.outcome, Score)


def test_late_telemetry_is_judged_as_the_next_revision(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.send(request([tool_span("chat-1", 1, 1)]))
        server.judged("chat-1")
        server.send(request([tool_span("chat-1", 1, 2)]))
        second = server.judged("chat-1", count=2)
        assert (second.ref.revision, second.spans) == (2, 2)
        assert all(judged.supersedes for judged in server.verdicts(second))


def test_sessions_older_than_the_retention_are_deleted(tmp_path: Path) -> None:
    with Server(tmp_path, retention={"days": 0.5 / 86_400}) as server:
        server.send(conversation("chat-1"))
        server.judged("chat-1")
        assert server.stop() == 0
        server.start()
        wait_for(lambda: server.closings("chat-1") == [], "the old session to be deleted", 20)


def test_a_session_end_event_closes_at_once(tmp_path: Path) -> None:
    with Server(tmp_path, sessions={"idle_seconds": 300}) as server:
        last = chat_span("chat-1", 1, 1, "Bye", "Bye!")
        last.events.add(name="session.end")
        server.send(request([last]))
        assert server.judged("chat-1").close_reason == "end_marker"


def test_a_graceful_stop_ends_with_0_and_loses_nothing(tmp_path: Path) -> None:
    server = Server(tmp_path)
    with server:
        for number in range(1, 40):
            server.send(conversation(f"chat-{number}", trace=number))
        assert server.stop() == 0
        assert "part_failed" not in server.output()
        server.start()
        for number in range(1, 40):
            assert [closed.spans for closed in [server.judged(f"chat-{number}")]] == [2]
            assert len(server.closings(f"chat-{number}")) == 1


def test_malformed_bytes_are_refused_counted_and_harm_nobody(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        for garbage in (b"garbage", conversation("chat-1") + b"\x0a\x7f", b"\x1f\x8bnot gzip"):
            code, details = server.refusal(garbage)
            assert code == grpc.StatusCode.INVALID_ARGUMENT
            assert "byte" in details or "compressed" in details
        answer = httpx.post(f"{server.http}/v1/traces", content=b"{", headers={"content-type": "application/json"})
        assert answer.status_code == 400
        server.send(conversation("chat-2"))
        server.judged("chat-2")
        assert server.metric("request_duration_seconds_count", outcome="malformed") == 4
        assert server.closings("chat-1") == []


def test_a_span_that_cannot_be_decoded_costs_its_session_only_itself(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        odd = tool_span("chat-1", 1, 2)
        odd.name = "name"
        damaged = request([tool_span("chat-1", 1, 1), odd]).replace(b"name\x21", b"nam\xff\x21")
        server.send(damaged)
        closed = server.judged("chat-1")
        assert closed.trajectory is not None
        assert len(closed.trajectory.tool_calls) >= 1


def test_a_bad_configuration_is_told_with_file_line_and_key(tmp_path: Path) -> None:
    said = _fails(Server(tmp_path, sessions={"idle_secnds": 3}, receivers={"max_in_flight": 0}))
    lines = [line for line in said.splitlines() if "spanjudge.yaml:" in line]
    assert len(lines) == 2
    assert any("sessions.idle_secnds" in line for line in lines)
    assert any("receivers.max_in_flight" in line for line in lines)
    assert "Traceback" not in said


@pytest.mark.parametrize("receiver", ["grpc", "http"])
def test_a_port_in_use_is_told(tmp_path: Path, receiver: str) -> None:
    with Server(tmp_path / "one") as one:
        taken = one.grpc if receiver == "grpc" else one.http.removeprefix("http://")
        said = _fails(Server(tmp_path / "two", receivers={receiver: {"listen": taken}}))
        assert f"spanjudge: receivers.{receiver}.listen: cannot listen on {taken}" in said
        assert "Traceback" not in said


def test_a_second_server_on_the_same_data_is_told(tmp_path: Path) -> None:
    with Server(tmp_path / "one"):
        said = _fails(Server(tmp_path / "two", data_dir="../one/data"))
        assert "another SpanJudge uses" in said
        assert "Traceback" not in said


def test_another_module_of_our_name_in_the_current_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "collector.py").write_text("raise SystemExit('somebody else')")
    command = [str(SPANJUDGE), "run", "-c", "absent.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "absent.yaml" in done.stderr
    assert "somebody else" not in done.stderr


def test_a_second_signal_ends_a_stop_that_takes_too_long(tmp_path: Path) -> None:
    """The exporter's endpoint does not answer, so the stop would take its whole deadline."""
    export = {"otlp": {"endpoint": "http://127.0.0.1:9", "retry_max_seconds": 1}}
    with Server(tmp_path, export=export, shutdown_seconds=60) as server:
        server.send(conversation("chat-1"))
        server.judged("chat-1")
        server.process.terminate()
        wait_for(lambda: "stopping" in server.output(), "stopping")
        server.process.terminate()
        assert server.process.wait(30) != 0


def test_a_stop_keeps_to_its_deadline_when_the_exporter_is_away(tmp_path: Path) -> None:
    export = {"otlp": {"endpoint": "http://127.0.0.1:9"}}
    with Server(tmp_path, export=export, shutdown_seconds=3) as server:
        server.send(conversation("chat-1"))
        assert len(server.verdicts(server.judged("chat-1"))) > 1
        assert server.stop(within_s=20) == 0
        server.start()
        assert server.metric("export_pending", exporter="otlp") > 0


def test_help_is_printed_quickly_and_without_a_server(tmp_path: Path) -> None:
    said = subprocess.run([str(SPANJUDGE), "run", "--help"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "4317" in said.stdout
