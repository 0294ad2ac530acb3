"""The Anthropic judge, through the real SDK, against a service on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from judge.clients.anthropic import AnthropicJudge
from judge.errors import JudgeDeclined, JudgeError, JudgeMisconfigured, JudgeUnavailable
from judge.question import Prompt, Question, Scale, StepFinding, settle, unanswered
from judge.verdict import NotJudged, Score, Subject
from tests.fakes import anthropic_stub as service
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, Behaviour

QUESTION = Question(
    evaluator="skill_selection",
    evaluator_version="1+v1",
    subject=Subject("skill", "span:a/b", name="pdf"),
    prompt=Prompt("You review sessions.", "The record: " + "word " * 2000, "Was it right?", "v1", "abc"),
    scale=Scale({"Yes": 1.0, "No": 0.0}),
)


@pytest.fixture
def stub() -> Iterator[AnthropicStub]:
    with AnthropicStub() as serving:
        yield serving


@pytest.fixture
async def judge(stub: AnthropicStub) -> AsyncIterator[AnthropicJudge]:
    asking = AnthropicJudge("claude-opus-4-8", "medium", 2048, 20, API_KEY, stub.url)
    yield asking
    await asking.aclose()


async def _error(judge: AnthropicJudge, question: Question = QUESTION) -> JudgeError:
    with pytest.raises(JudgeError) as caught:
        await judge.ask(question)
    return caught.value


async def test_an_answer_has_label_reasoning_model_and_tokens(stub: AnthropicStub, judge: AnthropicJudge) -> None:
    stub.script(service.says("No", "It asked for a recipe."))
    answer = await judge.ask(QUESTION)
    assert (answer.label, answer.reasoning, answer.model) == ("No", "It asked for a recipe.", "claude-opus-4-8")
    assert answer.input_tokens > answer.cache_write_tokens > 1024
    assert answer.cache_read_tokens == 0
    assert answer.output_tokens > 0
    assert settle(QUESTION, answer).outcome == Score(0.0, "No", "It asked for a recipe.")


async def test_a_question_about_steps_is_answered_with_findings(judge: AnthropicJudge) -> None:
    answer = await judge.ask(replace(QUESTION, shape="steps"))
    assert answer.steps == (StepFinding("the only one", "followed", "entry 1"),)
    assert settle(replace(QUESTION, shape="steps"), answer).outcome == Score(
        1.0, "Yes", "1 of 1 steps followed\n- followed: the only one (entry 1)"
    )


async def test_the_request_has_the_form_the_service_wants(stub: AnthropicStub, judge: AnthropicJudge) -> None:
    await judge.ask(QUESTION)
    (request,) = stub.requests
    assert request.body == {
        "model": "claude-opus-4-8",
        "max_tokens": 2048,
        "system": "You review sessions.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": QUESTION.prompt.prefix, "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": "Was it right?"},
                ],
            }
        ],
        "output_config": {
            "effort": "medium",
            "format": {
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "properties": {
                        "reasoning": {
                            "type": "string",
                            "description": "The facts the label rests on, in a few sentences.",
                        },
                        "label": {"type": "string", "enum": ["Yes", "No"]},
                    },
                    "required": ["reasoning", "label"],
                    "additionalProperties": False,
                },
            },
        },
        "thinking": {"type": "adaptive"},
    }
    schema = request.body["output_config"]["format"]["schema"]
    assert list(schema["properties"]) == ["reasoning", "label"], "the label is to follow from the reasoning"
    assert request.headers["x-stainless-retry-count"] == "0"


async def test_questions_about_one_session_share_its_record_in_the_cache(
    stub: AnthropicStub, judge: AnthropicJudge
) -> None:
    first = await judge.ask(QUESTION)
    second = await judge.ask(replace(QUESTION, prompt=replace(QUESTION.prompt, question="Was the other one right?")))
    assert (first.cache_read_tokens, second.cache_write_tokens) == (0, 0)
    assert second.cache_read_tokens == first.cache_write_tokens > 1024


async def test_a_question_brings_its_own_model_and_effort(stub: AnthropicStub, judge: AnthropicJudge) -> None:
    answer = await judge.ask(replace(QUESTION, model="claude-sonnet-4-6", effort="low"))
    assert answer.model == "claude-sonnet-4-6"
    assert stub.requests[0].body["output_config"]["effort"] == "low"


async def test_a_model_without_effort_and_thinking_is_asked_without(stub: AnthropicStub) -> None:
    plain = AnthropicJudge("claude-haiku-4-5", None, 2048, 20, API_KEY, stub.url, thinking=False)
    await plain.ask(QUESTION)
    await plain.aclose()
    assert "thinking" not in stub.requests[0].body
    assert "effort" not in stub.requests[0].body["output_config"]


@pytest.mark.parametrize(
    ("behaviour", "retry_after_s"),
    [
        (service.rate_limited("7"), 7),
        (service.rate_limited("1.5"), 1.5),
        (service.fails(429, "rate_limit_error", retry_after="9", retry_after_ms="250"), 0.25),
        (
            service.replies(503, "", retry_after="Wed, 02 Jan 2030 10:01:00 GMT", date="Wed, 02 Jan 2030 10:00:00 GMT"),
            60,
        ),
        (service.rate_limited("soon"), None),
        (service.rate_limited("-3"), None),
        (service.rate_limited("nan"), None),
        (service.rate_limited(), None),
    ],
)
async def test_a_rate_limit_says_when_to_ask_again(
    stub: AnthropicStub, judge: AnthropicJudge, behaviour: Behaviour, retry_after_s: float | None
) -> None:
    stub.script(behaviour)
    error = await _error(judge)
    assert isinstance(error, JudgeUnavailable)
    assert (error.reason, error.retry_after_s) == ("judge_unavailable", retry_after_s)


@pytest.mark.parametrize(
    ("behaviour", "perhaps_billed"),
    [
        (service.overloaded(), False),
        (service.fails(500, "api_error"), False),
        (service.fails(503, "api_error"), False),
        (service.fails(504, "timeout_error"), True),
        (service.fails(408, "timeout_error"), True),
        (service.fails(409, "conflict_error"), False),
        (service.replies(502, "<html>bad gateway</html>", content_type="text/html"), True),
        (service.replies(200, "<html>log in here</html>", content_type="text/html"), True),
        (service.replies(200, '{"id": "msg_'), True),
        (service.replies(200, []), True),
        (service.replies(200, {"hello": "world"}), True),
        (service.breaks_off(), True),
    ],
)
async def test_a_service_in_trouble_is_to_be_asked_again_and_was_asked_once(
    stub: AnthropicStub, judge: AnthropicJudge, behaviour: Behaviour, perhaps_billed: bool
) -> None:
    stub.script(behaviour)
    error = await _error(judge)
    assert isinstance(error, JudgeUnavailable)
    assert error.reason == "judge_unavailable"
    assert error.perhaps_billed == perhaps_billed, "the model may have worked for whoever stopped listening"
    assert len(stub.requests) == 1, "waiting is the queue's work, not the SDK's"


async def test_a_service_that_does_not_answer_is_given_up_in_time(stub: AnthropicStub) -> None:
    hasty = AnthropicJudge("claude-opus-4-8", "low", 1024, 0.2, API_KEY, stub.url)
    stub.script(service.hangs())
    error = await _error(hasty)
    await hasty.aclose()
    assert isinstance(error, JudgeUnavailable)
    assert error.detail == "no answer within 0.2 s"
    assert error.perhaps_billed


async def test_a_service_that_is_not_there_is_to_be_asked_again() -> None:
    with AnthropicStub() as gone:
        address = gone.url
    lonely = AnthropicJudge("claude-opus-4-8", "low", 1024, 5, API_KEY, address)
    error = await _error(lonely)
    await lonely.aclose()
    assert isinstance(error, JudgeUnavailable)
    assert "cannot reach the endpoint" in error.detail
    assert not error.perhaps_billed, "nothing was sent"


@pytest.mark.parametrize(
    ("status", "kind", "reason", "concerns"),
    [
        (401, "authentication_error", "judge_not_authorised", "account"),
        (402, "billing_error", "judge_not_authorised", "account"),
        (403, "permission_error", "judge_not_authorised", "model"),
        (400, "invalid_request_error", "judge_request_rejected", "request"),
        (404, "not_found_error", "judge_request_rejected", "model"),
        (413, "request_too_large", "judge_request_rejected", "request"),
        (422, "invalid_request_error", "judge_request_rejected", "request"),
    ],
)
async def test_a_rejected_request_needs_a_person_and_says_how_far_that_reaches(
    stub: AnthropicStub, judge: AnthropicJudge, status: int, kind: str, reason: str, concerns: str
) -> None:
    stub.script(service.fails(status, kind, "says why"))
    error = await _error(judge)
    assert isinstance(error, JudgeMisconfigured)
    assert (error.reason, error.concerns) == (reason, concerns)
    assert error.detail == f"{status} {kind}: says why (request req_stub)"


async def test_a_wrong_key_is_told_and_not_repeated(stub: AnthropicStub) -> None:
    stranger = AnthropicJudge("claude-opus-4-8", "low", 1024, 20, "sk-wrong", stub.url)
    error = await _error(stranger)
    await stranger.aclose()
    assert isinstance(error, JudgeMisconfigured)
    assert error.reason == "judge_not_authorised"
    assert "sk-wrong" not in str(error)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (service.cut_off(), "answer_cut_off"),
        (service.writes('{"reasoning": "x", "label": "No"}', "max_tokens"), "answer_cut_off"),
        (service.refuses(), "judge_refused"),
        (service.writes('{"reasoning": "x", "label": "No"}', "refusal"), "judge_refused"),
        (service.writes("", "model_context_window_exceeded"), "transcript_too_long"),
        (service.writes('{"reasoning": "x", "label": "No"}', "tool_use"), "answer_malformed"),
        (service.writes('{"reasoning": "x", "label": "No"}', "something_new"), "answer_malformed"),
        (service.writes("No."), "answer_malformed"),
        (service.writes('{"reasoning": "x", "label": "No"'), "answer_malformed"),
        (service.writes('["No"]'), "answer_malformed"),
        (service.writes('{"label": "No"}'), "answer_malformed"),
        (service.writes('{"reasoning": "x", "label": null}'), "answer_malformed"),
        (service.writes('{"reasoning": "x", "label": "no"}'), "answer_malformed"),
        (service.writes('{"reasoning": "x", "label": "Perhaps"}'), "answer_malformed"),
        (service.writes("[" * 100_000), "answer_malformed"),
    ],
)
async def test_an_unfinished_or_malformed_answer_is_not_judged_and_never_a_no(
    stub: AnthropicStub, judge: AnthropicJudge, behaviour: Behaviour, reason: str
) -> None:
    stub.script(behaviour)
    error = await _error(judge)
    assert isinstance(error, JudgeDeclined)
    assert error.reason == reason
    assert error.input_tokens > 0, "it was paid for"
    verdict = unanswered(QUESTION, error.reason, error.detail, error.input_tokens, error.output_tokens)
    assert isinstance(verdict.outcome, NotJudged)


async def test_a_refusal_names_its_category(stub: AnthropicStub, judge: AnthropicJudge) -> None:
    stub.script(service.refuses("bio"), service.refuses(None))
    assert (await _error(judge)).detail == "category bio"
    assert (await _error(judge)).detail == "no category given"


async def test_an_answer_without_token_counts_is_an_answer(stub: AnthropicStub, judge: AnthropicJudge) -> None:
    stub.script(_message())
    answer = await judge.ask(QUESTION)
    assert (answer.label, answer.input_tokens, answer.output_tokens) == ("Yes", 0, 0)


def _message(**odd: Any) -> Behaviour:
    """A finished answer of an endpoint that is careless about one field."""
    content = [{"type": "text", "text": '{"reasoning": "x", "label": "Yes"}'}]
    body = {"type": "other", "model": "m", "content": content, "stop_reason": "end_turn"}
    return service.replies(200, body | odd)


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": -5, "output_tokens": 7},
        {"input_tokens": 5, "output_tokens": 1e300},
        {"input_tokens": 10**30, "output_tokens": 7},
        {"input_tokens": "many", "output_tokens": 7},
        {"input_tokens": [5], "output_tokens": 7},
        "none",
        [1, 2],
    ],
)
async def test_token_counts_that_cannot_be_are_not_believed(
    stub: AnthropicStub, judge: AnthropicJudge, usage: object
) -> None:
    stub.script(_message(usage=usage))
    answer = await judge.ask(QUESTION)
    assert (answer.label, answer.input_tokens, answer.output_tokens) == ("Yes", 0, 0)


@pytest.mark.parametrize("name", [17, None, ["m"], "m" * 100_000])
async def test_a_model_name_that_is_none_leaves_the_one_that_was_asked(
    stub: AnthropicStub, judge: AnthropicJudge, name: object
) -> None:
    stub.script(_message(model=name))
    assert (await judge.ask(QUESTION)).model == "claude-opus-4-8"


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"content": []}, "answer_malformed"),
        ({"content": [None]}, "answer_malformed"),
        ({"content": [{"type": "text", "text": None}]}, "answer_malformed"),
        ({"content": [{"type": "text", "text": 5}]}, "answer_malformed"),
        ({"stop_reason": None}, "answer_malformed"),
        ({"stop_reason": ["end_turn"]}, "answer_malformed"),
        ({"stop_reason": "refusal", "stop_details": "odd"}, "judge_refused"),
        ({"stop_reason": "refusal", "stop_details": {"category": {"of": 1}}}, "judge_refused"),
    ],
)
async def test_a_field_of_another_type_is_an_answer_out_of_form_and_no_defect_of_ours(
    stub: AnthropicStub, judge: AnthropicJudge, odd: dict[str, Any], reason: str
) -> None:
    stub.script(_message(**odd))
    assert (await _error(judge)).reason == reason


async def test_text_with_every_kind_of_character_arrives(stub: AnthropicStub, judge: AnthropicJudge) -> None:
    odd = "".join(map(chr, range(1, 0x3000, 7))) + "\N{ROBOT FACE}\x00"
    await judge.ask(replace(QUESTION, prompt=replace(QUESTION.prompt, question=odd)))
    assert stub.requests[0].question == odd


async def test_the_stub_rejects_what_the_service_rejects(stub: AnthropicStub, judge: AnthropicJudge) -> None:
    error = await _error(judge, replace(QUESTION, effort="extreme"))
    assert isinstance(error, JudgeMisconfigured)
    assert "output_config.effort" in error.detail
    error = await _error(judge, replace(QUESTION, prompt=replace(QUESTION.prompt, question="")))
    assert "non-empty" in error.detail
