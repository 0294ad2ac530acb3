"""The queue of questions in a real process: killed, out of money, judge away."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector.store.sqlite import SqliteStore
from collector.store.store import SessionFilter, SessionSummary
from tests.end_to_end.agents import chat_span, request, tool_span
from tests.end_to_end.server import SPANJUDGE, Server, wait_for
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, Reply, Request, fails, hangs, says

SESSIONS = 12


def _server(directory: Path, stub: AnthropicStub, **judge: Any) -> Server:
    return Server(directory, judge={"api_key": API_KEY, "base_url": stub.url, **judge})


def _send(server: Server, count: int = SESSIONS) -> None:
    """Sessions whose questions differ."""
    for number in range(1, count + 1):
        task = f"Is mug number {number} in stock?"
        spans = [
            tool_span(f"chat-{number}", number, number * 100 + 2),
            chat_span(f"chat-{number}", number, number * 100 + 3, task, f"Yes, mug {number} is."),
        ]
        server.send(request(spans))


def _sessions(server: Server) -> list[SessionSummary]:
    async def read() -> list[SessionSummary]:
        store = SqliteStore.open(server.directory / "data" / "verdicts.sqlite3", read_only=True)
        try:
            return await store.sessions(SessionFilter(limit=1_000))
        finally:
            await store.close()

    return asyncio.run(read())


def _all_settled(server: Server) -> Callable[[], bool]:
    def look() -> bool:
        found = _sessions(server)
        return len(found) == SESSIONS and not any(one.pending for one in found)

    return look


def test_after_a_kill_only_what_was_on_its_way_is_asked_again(tmp_path: Path) -> None:
    answered = 0

    def first_some_then_silence(question: Request) -> Reply:
        nonlocal answered
        if answered >= 8:
            return hangs()(question)
        answered += 1
        return says()(question)

    with AnthropicStub(first_some_then_silence) as stub, _server(tmp_path, stub) as server:
        _send(server)
        wait_for(lambda: len(_sessions(server)) == SESSIONS, "all closed")
        wait_for(lambda: len(stub.requests) >= 11, "some answered, some on their way")
        wait_for(lambda: server.metric("judge_requests_total", outcome="answered") == 8, "eight answers kept")
        server.kill()
        on_their_way = len(stub.requests) - 8
        stub.default = says()
        server.start()
        wait_for(_all_settled(server), "all settled", within_s=60)
        asked = Counter((one.prefix, one.question) for one in stub.requests)
        again = [count for count in asked.values() if count > 1]
        assert len(again) <= on_their_way
        assert set(again) <= {2}


def test_a_spent_budget_is_told_survives_a_restart_and_does_not_make_the_server_unready(tmp_path: Path) -> None:
    with AnthropicStub(says()) as stub, _server(tmp_path, stub, budget={"tokens_per_day": 20_000}) as server:
        _send(server)
        wait_for(lambda: len(_sessions(server)) == SESSIONS, "all closed")

        def waits() -> str:
            """Why, while it is for the budget."""
            notice = httpx.get(f"{server.admin}/readyz", trust_env=False).json()["notices"]["judge"]
            return str(notice["reason"]) if "budget_spent" in str(notice["reason"]) else ""

        assert "judge.budget.tokens_per_day (20,000 tokens" in wait_for(waits, "the budget is spent")
        assert server.readyz() == 200
        assert len(stub.requests) > 0
        server.kill()
        before = len(stub.requests)
        server.start()
        wait_for(waits, "still spent")
        assert len(stub.requests) - before <= 1, "what little was left"
        assert any(one.pending for one in _sessions(server)), "they wait, and are not judged wrongly"


def test_a_refused_key_is_told_and_questions_are_asked_when_it_is_mended(tmp_path: Path) -> None:
    circuit = {"first_seconds": 0.5, "max_seconds": 0.5}
    with AnthropicStub(fails(401, "authentication_error")) as stub, _server(tmp_path, stub, circuit=circuit) as server:
        _send(server)
        wait_for(lambda: server.metric("judge_circuit_open") == 1, "the circuit is open")
        assert server.readyz() == 200
        wait_for(lambda: "judge_not_authorised" in server.output(), "logged")
        stub.default = says()
        wait_for(_all_settled(server), "all settled", within_s=60)
        assert server.metric("judge_circuit_open") == 0
        assert server.metric("not_judged_total", reason="judge_not_authorised") == 0


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication_error"), (403, "permission_error")])
def test_a_refused_key_or_model_is_seen_in_readiness_of_judging_and_by_explain(
    tmp_path: Path, status: int, kind: str
) -> None:
    with AnthropicStub(fails(status, kind)) as stub, _server(tmp_path, stub) as server:
        _send(server, 1)
        wait_for(lambda: server.metric("judge_ready") == 0, "judging is not ready")
        assert server.readyz() == 200, "telemetry is still taken"
        command = [str(SPANJUDGE), "explain", "chat-1", "-c", str(server.directory / "spanjudge.yaml"), "--json"]

        def cause() -> dict[str, Any] | None:
            told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            return next((one for one in told["evaluators"] if one["cause"] == "judge_not_authorised"), None)

        found = wait_for(cause, "the server said what questions wait for", within_s=60)
        assert found is not None
        assert (found["standing"], found["reason"]) == ("waiting", "pending")
        assert f"{status} {kind}" in found["why"]
        stub.default = says()
        wait_for(lambda: server.metric("judge_ready") == 1, "judging is ready again", within_s=60)
