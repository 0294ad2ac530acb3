"""Message batches, through the real SDK, against a service on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from judge.clients.anthropic import AnthropicJudge
from judge.clients.anthropic_batches import AnthropicBatches
from judge.errors import JudgeDeclined, JudgeError, JudgeMisconfigured, JudgeUnavailable
from judge.question import Answer
from tests.fakes import anthropic_stub as service
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub
from tests.judge.clients.test_anthropic import QUESTION

QUESTIONS = {f"q-{number}": replace(QUESTION, evaluator=f"e{number}") for number in range(3)}


@pytest.fixture
def stub() -> Iterator[AnthropicStub]:
    with AnthropicStub() as serving:
        yield serving


@pytest.fixture
async def batches(stub: AnthropicStub) -> AsyncIterator[AnthropicBatches]:
    judge = AnthropicJudge("claude-opus-4-8", "low", 2048, 20, API_KEY, stub.url)
    yield AnthropicBatches(judge)
    await judge.aclose()


async def _results(batches: AnthropicBatches, batch_id: str) -> dict[str, Answer | JudgeError]:
    assert await batches.ended(batch_id)
    return {name: outcome async for name, outcome in batches.results(batch_id, QUESTIONS)}


async def test_answers_come_back_under_the_names_of_their_questions(
    stub: AnthropicStub, batches: AnthropicBatches
) -> None:
    batch_id = await batches.send(QUESTIONS)
    assert not await batches.ended(batch_id)
    assert [one async for one in batches.results(batch_id, QUESTIONS)] == []
    stub.script(service.says("No", "third"), service.says("Yes", "second"), service.says("No", "first"))
    stub.end_batches()
    results = await _results(batches, batch_id)
    assert {name: (one.label, one.reasoning) for name, one in results.items() if isinstance(one, Answer)} == {
        "q-0": ("No", "first"),
        "q-1": ("Yes", "second"),
        "q-2": ("No", "third"),
    }
    assert stub.rejected == []


async def test_a_question_is_put_as_it_would_be_alone(stub: AnthropicStub, batches: AnthropicBatches) -> None:
    await batches.send({"q-0": QUESTION})
    judge = AnthropicJudge("claude-opus-4-8", "low", 2048, 20, API_KEY, stub.url)
    await judge.ask(QUESTION)
    await judge.aclose()
    assert stub.batches["msgbatch_1"].requests["q-0"].body == stub.requests[-1].body


async def test_each_failure_is_of_its_own_kind(stub: AnthropicStub, batches: AnthropicBatches) -> None:
    batch_id = await batches.send(QUESTIONS)
    stub.script(service.refuses("bio"), service.fails(400, "invalid_request_error", "too long"), service.expires())
    stub.end_batches()
    results = await _results(batches, batch_id)
    assert isinstance(results["q-2"], JudgeDeclined)
    assert isinstance(results["q-1"], JudgeMisconfigured)
    assert (results["q-1"].reason, results["q-1"].detail) == (
        "judge_request_rejected",
        "invalid_request_error: too long",
    )
    assert isinstance(results["q-0"], JudgeUnavailable)


async def test_an_overload_inside_a_batch_is_to_be_asked_again(stub: AnthropicStub, batches: AnthropicBatches) -> None:
    batch_id = await batches.send(QUESTIONS)
    stub.default = service.overloaded()
    stub.end_batches()
    assert all(isinstance(one, JudgeUnavailable) for one in (await _results(batches, batch_id)).values())


async def test_a_batch_that_is_gone_has_no_results(batches: AnthropicBatches) -> None:
    assert await _results(batches, "msgbatch_77") == {}


async def test_a_refused_key_needs_a_person(stub: AnthropicStub) -> None:
    stranger = AnthropicJudge("claude-opus-4-8", "low", 2048, 20, "wrong", stub.url)
    with pytest.raises(JudgeMisconfigured, match="judge_not_authorised"):
        await AnthropicBatches(stranger).send(QUESTIONS)
    await stranger.aclose()


async def test_a_service_that_is_not_there_is_to_be_asked_again() -> None:
    with AnthropicStub() as gone:
        address = gone.url
    judge = AnthropicJudge("claude-opus-4-8", "low", 2048, 5, API_KEY, address)
    lonely = AnthropicBatches(judge)
    for asking in (lonely.send(QUESTIONS), lonely.ended("msgbatch_1")):
        with pytest.raises(JudgeUnavailable, match="cannot reach"):
            await asking
    await judge.aclose()


async def test_a_batch_whose_taking_was_not_told_was_perhaps_taken(
    stub: AnthropicStub, batches: AnthropicBatches
) -> None:
    for trouble in (service.breaks_off(), service.replies(200, {"hello": "world"}), service.fails(504, "timeout")):
        stub.disturb_batches(trouble)
        with pytest.raises(JudgeUnavailable) as raised:
            await batches.send(QUESTIONS)
        assert raised.value.perhaps_billed


@pytest.mark.parametrize(
    ("kind", "concerns"),
    [
        ("authentication_error", "account"),
        ("permission_error", "model"),
        ("not_found_error", "model"),
        ("request_too_large", "request"),
    ],
)
async def test_a_refusal_inside_a_batch_says_how_far_it_reaches(
    stub: AnthropicStub, batches: AnthropicBatches, kind: str, concerns: str
) -> None:
    batch_id = await batches.send(QUESTIONS)
    stub.default = service.fails(400, kind)
    stub.end_batches()
    for error in (await _results(batches, batch_id)).values():
        assert isinstance(error, JudgeMisconfigured)
        assert error.concerns == concerns


async def test_results_that_break_off_are_to_be_fetched_again(stub: AnthropicStub, batches: AnthropicBatches) -> None:
    batch_id = await batches.send(QUESTIONS)
    stub.end_batches()
    stub.disturb_results(service.breaks_off())
    with pytest.raises(JudgeUnavailable):
        await _results(batches, batch_id)
    assert len(await _results(batches, batch_id)) == 3
