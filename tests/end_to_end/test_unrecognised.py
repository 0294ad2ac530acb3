"""Telemetry that nobody understands is counted by the scope that sent it, whether or not it is kept."""

from __future__ import annotations

from pathlib import Path

from tests.collector.sessions.telemetry import span, trace_request
from tests.end_to_end.server import Server, wait_for


def test_unrecognised_telemetry_is_counted_by_scope_named_or_not(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.send(trace_request([span(1, 1), span(1, 2, parent=1)], scope="acme.web"))
        server.send(trace_request([span(2, 3, session__id="chat-1")], scope="acme.agent"))
        closed = server.judged("chat-1")
        assert closed.trajectory is not None
        assert (closed.trajectory.harness, closed.trajectory.scopes) == ("unrecognised", ("acme.agent",))
        wait_for(lambda: server.metric("unrecognised_total") == 2, "both are counted")
        assert server.metric("unrecognised_total", scope="acme.agent") == 1
        assert server.metric("unrecognised_total", scope="acme.web") == 1
        wait_for(lambda: server.metric("sessions_discarded_total", reason="nothing_happened"), "the trace is discarded")
        assert len(server.closings("chat-1")) == 1


def test_recognised_telemetry_is_not_counted(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        chat = span(1, 1, session__id="chat-1", gen_ai__operation__name="chat")
        server.send(trace_request([chat], scope="acme.agent"))
        wait_for(lambda: server.metric("sessions_closed_total", reason="idle"), "the session is counted")
        assert server.metric("unrecognised_total") == 0
