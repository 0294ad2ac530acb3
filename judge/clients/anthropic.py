"""A judge over the Anthropic Messages API, or any endpoint that speaks it. Translates its errors, here and nowhere
else.

One request a question: the system text, then one user message of two blocks. The first block is what all questions
about a session share and is marked for the prompt cache; the second is the question. The answer is JSON by schema:
reasoning before label, so that the label follows from it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias, cast

import anthropic
from anthropic.types import Message, OutputConfigParam, TextBlock, TextBlockParam

from judge.describe import shorten
from judge.errors import JudgeDeclined, JudgeError, JudgeMisconfigured, JudgeUnavailable
from judge.question import Answer, Question, Scale

Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]

NOT_AUTHORISED = frozenset({401, 402, 403})
WORTH_RETRYING = frozenset({408, 409, 429})
"""Beside every 5xx, 529 (overloaded) among them."""


class AnthropicJudge:
    """Implements `judge.question.Judge`. A question's own model and effort go before the judge's.

    `client` takes the place of one built from key and address: the SDK's Bedrock and Vertex clients have the same
    `messages.create`. `thinking=False` and `effort=None` are for models that know neither.
    """

    def __init__(
        self,
        model: str,
        effort: Effort | None,
        max_output_tokens: int,
        timeout_s: float,
        api_key: str,
        base_url: str | None = None,
        *,
        thinking: bool = True,
        client: anthropic.AsyncAnthropic | None = None,
    ) -> None:
        self.model = model
        self._effort = effort
        self._max_output_tokens = max_output_tokens
        self._timeout_s = timeout_s
        self._thinking = thinking
        self._client = client or anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            # The SDK would sleep inside the call for as long as Retry-After says, holding one of few places. Our
            # queue waits durably instead.
            max_retries=0,
            # Spans about judging, sent to the Collector beside us, would come back to be judged.
            open_telemetry=False,
        )

    async def ask(self, question: Question) -> Answer:
        """Raises `JudgeUnavailable`, `JudgeDeclined` or `JudgeMisconfigured`."""
        try:
            # The SDK's timeout is for each read; a server that drips bytes must not hold us longer than agreed.
            async with asyncio.timeout(self._timeout_s):
                message = await self._create(question)
        except (anthropic.AnthropicError, TimeoutError, ValueError) as error:
            raise _translated(error, self._timeout_s) from error
        if not isinstance(message, Message) or not isinstance(getattr(message, "content", None), list):
            # The SDK hands such things through: the page of a proxy that wants a login, another service's JSON.
            raise JudgeUnavailable("judge_unavailable", "the endpoint answered with something that is no message")
        return _answer(message, question.scale, question.model or self.model)

    async def aclose(self) -> None:
        """Close the connections. May be called twice."""
        await self._client.close()

    async def _create(self, question: Question) -> object:
        prefix: TextBlockParam = {
            "type": "text",
            "text": question.prompt.prefix,
            "cache_control": {"type": "ephemeral"},
        }
        asked: TextBlockParam = {"type": "text", "text": question.prompt.question}
        return await self._client.messages.create(
            model=question.model or self.model,
            max_tokens=self._max_output_tokens,
            system=question.prompt.system or anthropic.omit,
            messages=[{"role": "user", "content": [prefix, asked]}],
            output_config=self._output_config(question),
            thinking={"type": "adaptive"} if self._thinking else anthropic.omit,
            timeout=self._timeout_s,
        )

    def _output_config(self, question: Question) -> OutputConfigParam:
        config: OutputConfigParam = {"format": {"type": "json_schema", "schema": answer_schema(question.scale)}}
        if effort := question.effort or self._effort:
            config["effort"] = cast("Effort", effort)
        return config


def answer_schema(scale: Scale) -> dict[str, object]:
    """The form of an answer. Only what structured output supports: no lengths, no ranges."""
    return {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string", "description": "The facts the label rests on, in a few sentences."},
            "label": {"type": "string", "enum": list(scale.labels)},
        },
        "required": ["reasoning", "label"],
        "additionalProperties": False,
    }


def _answer(message: Message, scale: Scale, model: str) -> Answer:
    read, written, input_tokens, output_tokens = _usage(message)
    if declined := _why_unfinished(message):
        raise JudgeDeclined(*declined, input_tokens, output_tokens)
    text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
    parsed = _parsed(text, scale)
    if isinstance(parsed, str):
        raise JudgeDeclined("answer_malformed", parsed, input_tokens, output_tokens)
    label, reasoning = parsed
    return Answer(label, reasoning, message.model or model, input_tokens, output_tokens, read, written)


def _usage(message: Message) -> tuple[int, int, int, int]:
    """(cache read, cache written, all input, output) tokens; compatible endpoints leave some or all of them out."""
    usage = getattr(message, "usage", None)
    read, written, fresh, output = (
        getattr(usage, name, None) or 0
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens", "output_tokens")
    )
    return read, written, fresh + read + written, output


def _why_unfinished(message: Message) -> tuple[str, str] | None:
    """(reason, detail) unless the model came to its own end. Half an answer is none, even if it parses."""
    match getattr(message, "stop_reason", None):
        case "end_turn":
            return None
        case "max_tokens":
            return "answer_cut_off", "the answer reached max_output_tokens"
        case "model_context_window_exceeded":
            return "transcript_too_long", "the question does not fit into the model's context window"
        case "refusal":
            details = getattr(message, "stop_details", None)
            category = details.category if details else None
            return "judge_refused", f"category {category}" if category else "no category given"
    return "answer_malformed", f"the answer ended with stop reason {getattr(message, 'stop_reason', None)}"


def _parsed(text: str, scale: Scale) -> tuple[str, str] | str:
    """(label, reasoning), or what is wrong. The text itself is not repeated: it may quote the session."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return f"the answer is not JSON ({len(text)} characters)"
    if not isinstance(value, dict):
        return "the answer is no JSON object"
    label, reasoning = value.get("label"), value.get("reasoning")
    if not isinstance(label, str) or not isinstance(reasoning, str):
        return "the answer lacks its label or reasoning"
    if label not in scale.values:
        return f"the label {shorten(label)!r} is not one of {', '.join(scale.labels)}"
    return label, reasoning


def _translated(error: Exception, timeout_s: float) -> JudgeError:
    match error:
        case anthropic.APITimeoutError() | TimeoutError():
            return JudgeUnavailable("judge_unavailable", f"no answer within {timeout_s:g} s")
        case anthropic.APIConnectionError():
            cause = f" ({type(error.__cause__).__name__})" if error.__cause__ else ""
            return JudgeUnavailable("judge_unavailable", f"cannot reach the endpoint{cause}")
        case anthropic.APIStatusError():
            return _translated_status(error)
        case anthropic.APIError() | json.JSONDecodeError():
            return JudgeUnavailable("judge_unavailable", "the endpoint answered with something that is no message")
    # What is left is refused before it is sent: no credentials, a parameter that the SDK does not accept.
    return JudgeMisconfigured("judge_request_rejected", f"{type(error).__name__}: {shorten(str(error))}")


def _translated_status(error: anthropic.APIStatusError) -> JudgeError:
    status = error.status_code
    said = ": ".join(part for part in (error.type, error.api_message) if part)
    request = f" (request {error.request_id})" if error.request_id else ""
    detail = f"{status} {shorten(said)}{request}"
    if status in WORTH_RETRYING or status >= 500:
        return JudgeUnavailable("judge_unavailable", detail, _retry_after_s(error.response.headers))
    reason = "judge_not_authorised" if status in NOT_AUTHORISED else "judge_request_rejected"
    return JudgeMisconfigured(reason, detail)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms`, or from `retry-after` as seconds or as a date; None when absent or unreadable."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _not_negative(float(milliseconds) / 1000)
        after = headers.get("retry-after")
        return None if after is None else _not_negative(float(after))
    except ValueError:
        pass
    try:
        # The sender's own date says what it takes for now; our clock may differ.
        wait = parsedate_to_datetime(headers["retry-after"]) - parsedate_to_datetime(headers["date"])
        return _not_negative(wait.total_seconds())
    except (KeyError, ValueError, TypeError):
        return None


def _not_negative(seconds: float) -> float | None:
    return seconds if 0 <= seconds < float("inf") else None
