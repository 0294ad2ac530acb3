"""A question as a request of the Messages API, and a message as an answer. Pure.

The system text, then one user message of two blocks. The first block is what all questions about a session share and
is marked for the prompt cache; the second is the question. The answer is JSON by schema (see `judge.answers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from anthropic.types import Message, OutputConfigParam, TextBlock, TextBlockParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from judge.answers import AnswerMalformed, answer_schema, parse_answer
from judge.clients.translation import NO_MESSAGE
from judge.describe import shorten
from judge.errors import JudgeDeclined, JudgeUnavailable
from judge.question import Answer, Question

Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]

MOST_TOKENS = 1_000_000_000
"""More than any model reads or writes for one answer. Larger counts are an endpoint's mistake, and would leave nothing
of any budget."""
LONGEST_MODEL = 200


@dataclass(frozen=True, slots=True)
class Asker:
    """What is the same for all questions, unless a question brings its own. `effort=None` and `thinking=False` are for
    models that know neither."""

    model: str
    effort: Effort | None
    max_output_tokens: int
    thinking: bool = True


def message_params(question: Question, asker: Asker) -> MessageCreateParamsNonStreaming:
    prefix: TextBlockParam = {
        "type": "text",
        "text": question.prompt.prefix,
        "cache_control": {"type": "ephemeral"},
    }
    asked: TextBlockParam = {"type": "text", "text": question.prompt.question}
    output: OutputConfigParam = {"format": {"type": "json_schema", "schema": answer_schema(question)}}
    if effort := question.effort or asker.effort:
        output["effort"] = cast("Effort", effort)
    params: MessageCreateParamsNonStreaming = {
        "model": question.model or asker.model,
        "max_tokens": asker.max_output_tokens,
        "messages": [{"role": "user", "content": [prefix, asked]}],
        "output_config": output,
    }
    if question.prompt.system:
        params["system"] = question.prompt.system
    if asker.thinking:
        params["thinking"] = {"type": "adaptive"}
    return params


def answer_of(message: object, question: Question, asker: Asker) -> Answer:
    """Raises `JudgeDeclined` for what is no finished answer in form, `JudgeUnavailable` for what is no message."""
    if not isinstance(message, Message) or not isinstance(getattr(message, "content", None), list):
        # The SDK hands such things through: the page of a proxy that wants a login, another service's JSON.
        raise JudgeUnavailable("judge_unavailable", NO_MESSAGE, perhaps_billed=True)
    read, written, input_tokens, output_tokens = _usage(message)
    if declined := _why_unfinished(message):
        raise JudgeDeclined(*declined, input_tokens, output_tokens)
    try:
        reply = parse_answer(_text(message), question)
    except AnswerMalformed as error:
        raise JudgeDeclined("answer_malformed", str(error), input_tokens, output_tokens) from error
    model = _model(message) or question.model or asker.model
    return Answer(reply.label, reply.reasoning, model, input_tokens, output_tokens, read, written, reply.steps)


# The SDK does not check the types of what it was sent, so every field may be anything that JSON has.


def _text(message: Message) -> str:
    parts = (getattr(block, "text", None) for block in message.content if isinstance(block, TextBlock))
    return "".join(part for part in parts if isinstance(part, str))


def _model(message: Message) -> str | None:
    """The model that answered; None when the endpoint does not say, or says what is no name."""
    name = getattr(message, "model", None)
    return name if isinstance(name, str) and len(name) <= LONGEST_MODEL else None


def _usage(message: Message) -> tuple[int, int, int, int]:
    """(cache read, cache written, all input, output) tokens; compatible endpoints leave some or all of them out. When
    one of them is impossible none is believed: all 0, which the budget counts as the most that it could have been."""
    usage = getattr(message, "usage", None)
    told = [
        getattr(usage, name, None) or 0
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens", "output_tokens")
    ]
    if not all(isinstance(count, int) and 0 <= count <= MOST_TOKENS for count in told):
        return 0, 0, 0, 0
    read, written, fresh, output = told
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
            category = getattr(getattr(message, "stop_details", None), "category", None)
            return "judge_refused", f"category {shorten(str(category))}" if category else "no category given"
        case other:
            return "answer_malformed", f"the answer ended with stop reason {shorten(str(other))}"
