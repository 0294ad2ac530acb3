"""The same judge on the Anthropic API, on Bedrock and on Vertex AI."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from judge.clients.anthropic import AnthropicJudge
from judge.clients.connections import AnthropicApi, Bedrock, Place, Vertex, connect
from judge.errors import JudgeMisconfigured, JudgeUnavailable
from judge.question import Answer
from tests.fakes import anthropic_stub as service
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub
from tests.judge.clients.test_anthropic import QUESTION

PLACES: list[Callable[[str, str], Place]] = [
    AnthropicApi,
    lambda key, url: Bedrock("eu-central-1", key, base_url=url),
    lambda key, url: Vertex("my-project", "europe-west1", key, base_url=url),
]


async def _ask(place: Place) -> Answer:
    judge = AnthropicJudge("claude-opus-4-8", "low", 2048, 20, client=connect(place))
    try:
        return await judge.ask(QUESTION)
    finally:
        await judge.aclose()


@pytest.mark.parametrize("place", PLACES)
def test_credentials_are_in_no_representation(place: Callable[[str, str], Place]) -> None:
    assert "open-sesame" not in repr(place("open-sesame", "http://localhost"))


@pytest.mark.parametrize("place", PLACES)
async def test_an_endpoint_that_repeats_the_key_it_refuses_is_not_quoted_in_full(
    place: Callable[[str, str], Place],
) -> None:
    refusing = service.fails(403, "permission_error", f"not with {API_KEY}")
    with AnthropicStub(refusing) as stub, pytest.raises(JudgeMisconfigured, match=r"not with \*\*\*") as caught:
        await _ask(place(API_KEY, stub.url))
    assert API_KEY not in str(caught.value)


@pytest.mark.parametrize("place", PLACES)
async def test_a_question_is_answered_wherever_the_model_is(place: Callable[[str, str], Place]) -> None:
    with AnthropicStub(service.says("No", "as seen")) as stub:
        answer = await _ask(place(API_KEY, stub.url))
        assert (answer.label, answer.reasoning, answer.model) == ("No", "as seen", "claude-opus-4-8")
        assert stub.requests[0].body["output_config"]["format"]["type"] == "json_schema"
        assert stub.rejected == []


@pytest.mark.parametrize("place", PLACES)
async def test_a_refused_key_is_told_as_such(place: Callable[[str, str], Place]) -> None:
    with AnthropicStub() as stub:
        with pytest.raises(JudgeMisconfigured) as caught:
            await _ask(place("wrong", stub.url))
        assert caught.value.reason == "judge_not_authorised"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_takes_no_session_to_another_place(place: Callable[[str, str], Place], status: int) -> None:
    with AnthropicStub() as elsewhere, AnthropicStub(service.replies(status, "", location=elsewhere.url)) as stub:
        with pytest.raises(JudgeUnavailable, match=f"{status} the endpoint redirects elsewhere"):
            await _ask(place(API_KEY, stub.url))
        assert len(stub.requests) == 1
        assert elsewhere.requests == []


@pytest.mark.skipif(find_spec("boto3") is not None, reason="boto3 is installed")
async def test_a_missing_package_of_a_provider_is_named() -> None:
    """Without a key of its own, Bedrock signs requests with boto3, which is no dependency of ours."""
    with pytest.raises(JudgeMisconfigured, match="the package boto"):
        await _ask(Bedrock("eu-central-1", base_url="http://127.0.0.1:9"))
