"""Questions go to a model through the real client; what it does not answer is never a No."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.verdict import NotJudged, Score
from tests.end_to_end.agents import chat_span, conversation, request, skill_span
from tests.end_to_end.server import Server, wait_for
from tests.fakes.anthropic_stub import (
    API_KEY,
    AnthropicStub,
    Behaviour,
    Reply,
    Request,
    breaks_off,
    fails,
    hangs,
    overloaded,
    rate_limited,
    refuses,
    says,
)


def _server(directory: Path, stub: AnthropicStub, **judge: Any) -> Server:
    return Server(directory, judge={"api_key": API_KEY, "base_url": stub.url, **judge})


def _outcome(server: Server) -> object:
    """What is known of whether the goal was reached."""
    return server.verdict(server.judged("chat-1"), "goal_completion").verdict.outcome


def _settled(server: Server) -> object:
    def settled() -> object | None:
        outcome = _outcome(server)
        return None if outcome == NotJudged("pending", "waiting for a judge") else outcome

    return wait_for(settled, "the question settled")


@pytest.mark.parametrize(("label", "value"), [("Complete", 1.0), ("Failed", 0.0)])
def test_the_models_answer_becomes_the_verdict(tmp_path: Path, label: str, value: float) -> None:
    def answer(question: Request) -> Reply:
        # The session is asked about by several evaluators, each with labels of its own.
        return says(label if label in question.labels else None, "It looked and said so.")(question)

    with AnthropicStub(answer) as stub, _server(tmp_path, stub) as server:
        server.send(conversation("chat-1"))
        outcome = _settled(server)
        assert isinstance(outcome, Score)
        assert (outcome.label, outcome.value, outcome.explanation) == (label, value, "It looked and said so.")
        assert stub.rejected == []
        assert "Is the blue mug in stock?" in stub.requests[0].prefix + stub.requests[0].question
        wait_for(
            lambda: server.metric("judge_requests_total", outcome="answered") == len(stub.requests),
            "all answers counted",
        )


@pytest.mark.parametrize(("label", "value"), [("Yes", 1.0), ("No", 0.0)])
def test_the_choice_of_a_skill_is_judged_yes_or_no(tmp_path: Path, label: str, value: float) -> None:
    def answer(question: Request) -> Reply:
        return says(label if label in question.labels else None)(question)

    with AnthropicStub(answer) as stub, _server(tmp_path, stub) as server:
        server.send(
            request([skill_span("chat-1", 1, 1, "stock-keeping"), chat_span("chat-1", 1, 3, "Any mugs?", "Four.")])
        )
        closed = server.judged("chat-1")

        def scored() -> Score | None:
            outcome = server.verdict(closed, "skill_selection").verdict.outcome
            return outcome if isinstance(outcome, Score) else None

        outcome = wait_for(scored, "scored")
        assert outcome is not None
        assert (outcome.label, outcome.value) == (label, value)
        assert server.metric("verdicts_total", evaluator="skill_selection", skill="stock-keeping", label=label) == 1


@pytest.mark.parametrize("trouble", [fails(500, "api_error"), rate_limited("1"), overloaded(), hangs(), breaks_off()])
def test_a_model_in_trouble_is_asked_again_and_gives_no_verdict_meanwhile(tmp_path: Path, trouble: Behaviour) -> None:
    patience = {"timeout_seconds": 1, "retry_max_seconds": 1, "max_attempts": 50}
    with AnthropicStub(trouble) as stub, _server(tmp_path, stub, **patience) as server:
        server.send(conversation("chat-1"))
        assert _outcome(server) == NotJudged("pending", "waiting for a judge")
        wait_for(lambda: len(stub.requests) >= 2, "asked again")
        assert _outcome(server) == NotJudged("pending", "waiting for a judge")
        stub.default = says()
        outcome = _settled(server)
        assert isinstance(outcome, Score)
        assert outcome.label == "Complete"


def test_a_model_that_stays_in_trouble_leaves_the_question_unjudged(tmp_path: Path) -> None:
    with AnthropicStub(overloaded()) as stub, _server(tmp_path, stub, retry_max_seconds=1, max_attempts=2) as server:
        server.send(conversation("chat-1"))
        outcome = _settled(server)
        assert isinstance(outcome, NotJudged)
        assert outcome.reason not in ("pending", "")
        assert server.metric("verdicts_total", evaluator="goal_completion", label="Failed") == 0


def test_a_refusal_is_no_verdict(tmp_path: Path) -> None:
    with AnthropicStub(refuses()) as stub, _server(tmp_path, stub, retry_max_seconds=1) as server:
        server.send(conversation("chat-1"))
        outcome = _settled(server)
        assert isinstance(outcome, NotJudged)
        assert "refus" in outcome.reason


def test_open_questions_survive_a_kill(tmp_path: Path) -> None:
    with AnthropicStub(overloaded()) as stub, _server(tmp_path, stub, retry_max_seconds=1, max_attempts=50) as server:
        server.send(conversation("chat-1"))
        wait_for(lambda: len(stub.requests) > 0, "asked")
        server.kill()
        stub.default = says()
        server.start()
        assert isinstance(_settled(server), Score)
        assert len(server.closings("chat-1")) == 1


def test_the_key_may_come_from_the_environment(tmp_path: Path) -> None:
    with AnthropicStub(says()) as stub:
        server = Server(tmp_path, judge={"base_url": stub.url})
        server.environment["ANTHROPIC_API_KEY"] = API_KEY
        with server:
            server.send(conversation("chat-1"))
            assert isinstance(_settled(server), Score)
            assert API_KEY not in server.output()
