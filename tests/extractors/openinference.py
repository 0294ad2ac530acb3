"""Small OpenInference spans to build sessions from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from extractors.spans import Span, StatusCode, Value
from tests.extractors.spans import TRACE, span
from tests.fakes.openinference import Json, flat

Fields = Mapping[str, Value]


def oi(
    kind: str,
    span_id: str,
    parent: str | None = None,
    *,
    at_s: int = 1,
    lasts_s: int = 1,
    trace: str = TRACE,
    name: str = "",
    scope: str = "openinference.instrumentation.made_up",
    status: StatusCode = StatusCode.UNSET,
    message: str = "",
    **fields: Value,
) -> Span:
    """A span of this kind; `__` in the name of a field is a dot."""
    told = {key.replace("__", "."): value for key, value in fields.items()}
    return span(
        span_id,
        parent,
        at_s=at_s,
        lasts_s=lasts_s,
        trace=trace,
        name=name,
        scope=scope,
        status=status,
        message=message,
        attributes={"openinference.span.kind": kind, **told},
    )


def llm(
    span_id: str,
    parent: str | None = None,
    inputs: Sequence[Json] = (),
    outputs: Sequence[Json] = (),
    *,
    at_s: int = 1,
    scope: str = "openinference.instrumentation.made_up",
    attributes: Fields | None = None,
) -> Span:
    """An LLM span with these messages: see `tests.fakes.openinference.flat`."""
    told = {**flat("llm.input_messages", inputs), **flat("llm.output_messages", outputs), **(attributes or {})}
    told["openinference.span.kind"] = "LLM"
    return span(span_id, parent, at_s=at_s, scope=scope, attributes=told)


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def says(text: str = "", *calls: tuple[str, str, Json]) -> Json:
    """A message of the model; a call is (id, name, arguments)."""
    return {"role": "assistant", "content": text, "calls": calls}


def result(call_id: str, text: str) -> Json:
    return {"role": "tool", "content": text, "id": call_id}
