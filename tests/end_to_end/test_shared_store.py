"""Two servers with one PostgreSQL: each session is found through either of them, and each question is asked once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import httpx
import pytest
from sqlalchemy import URL

from tests.end_to_end.agents import chat_span, request
from tests.end_to_end.server import Server, wait_for
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, says

pytestmark = pytest.mark.integration("postgres")
SESSIONS = 8


def _ids(server: Server) -> set[str]:
    """Of the sessions that the server tells of, with nothing left to judge."""
    found = httpx.get(f"{server.admin}/api/v1/sessions").json()["sessions"]
    return {one["ref"]["session_id"] for one in found if not one["pending"]}


def test_servers_that_share_a_database_tell_of_all_sessions_and_ask_each_question_once(
    tmp_path: Path, database: URL
) -> None:
    with AnthropicStub(says()) as stub:
        config = {
            "store": {"url": database.render_as_string(hide_password=False)},
            "judge": {"api_key": API_KEY, "base_url": stub.url},
        }
        with Server(tmp_path / "a", **config) as first, Server(tmp_path / "b", **config) as second:
            for number in range(1, SESSIONS + 1):
                span = chat_span(f"chat-{number}", number, number * 100, f"Is mug {number} in stock?", "Yes, it is.")
                (first, second)[number % 2].send(request([span]))
            everyone = {f"chat-{number}" for number in range(1, SESSIONS + 1)}
            wait_for(lambda: _ids(first) == _ids(second) == everyone, "all judged", within_s=60)
            asked = Counter((one.prefix, one.question) for one in stub.requests)
            assert len(asked) >= SESSIONS
            assert set(asked.values()) == {1}
            assert first.readyz() == second.readyz() == 200
            assert not (first.directory / "data" / "verdicts.sqlite3").exists()
