"""The page of the real product: what was sent by OTLP is on it."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.end_to_end.agents import conversation
from tests.end_to_end.server import Server


def test_a_session_that_was_sent_is_on_the_page_and_found_by_its_trace(tmp_path: Path) -> None:
    with Server(tmp_path, page={"trace_url": "https://traces.example/{trace_id}"}) as server:
        server.send(conversation("chat-1"))
        closed = server.judged("chat-1")
        assert closed.trajectory is not None
        anchor = closed.trajectory.tool_calls[0].anchor
        with httpx.Client(base_url=server.admin, trust_env=False) as client:
            listed = client.get("/sessions?service=shop")
            assert "Is the blue mug in stock?" in listed.text
            assert client.get(f"/traces/{anchor.trace_id}").headers["location"] == "/sessions/chat-1"
            shown = client.get("/sessions/chat-1")
            assert "look_up" in shown.text
            assert f"https://traces.example/{anchor.trace_id}" in shown.text
            assert "no_judge_configured" in shown.text
            assert "set ANTHROPIC_API_KEY" in shown.text
            assert '<a href="/sessions">' in client.get("/").text


def test_the_page_can_be_switched_off(tmp_path: Path) -> None:
    with Server(tmp_path, page={"enabled": False}) as server:
        answer = httpx.get(f"{server.admin}/sessions", trust_env=False)
        assert answer.status_code == 404
        assert httpx.get(f"{server.admin}/api/v1/sessions", trust_env=False).status_code == 200
