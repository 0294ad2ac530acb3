"""Model requests: the span `llm_request` and the records `api_request`, `api_error`, `assistant_response` are one.

`request_id` joins them. A request that never reached the service has none; then the order joins them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from extractors import attributes as attrs
from extractors.anchors import Anchor
from extractors.claude_code.bodies import Bodies
from extractors.claude_code.telemetry import REQUEST, Telemetry, content, query_source
from extractors.spans import Attributes, LogRecord, Span, StatusCode
from extractors.trajectory import Failure, Step
from extractors.tree import record_anchor, span_anchor

_MS_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the model. `facts` are its span's attributes, filled up with those of its records.

    `side` is true for what the CLI asks for its own sake (titles, summaries): no turn of the conversation.
    """

    id: str | None
    agent: str
    turn: int
    start_ns: int
    end_ns: int
    anchor: Anchor
    facts: Attributes
    text: str | None
    side: bool

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped; not in the records, so None without spans."""
        reasons = attrs.texts(self.facts, attrs.FINISH_REASONS) or ()
        return attrs.text(self.facts, "stop_reason") or next(iter(reasons), None)

    @property
    def error(self) -> str | None:
        """What went wrong; None for a request that succeeded."""
        if attrs.boolean(self.facts, "success") is not False and "error" not in self.facts:
            return None
        kind = attrs.text(self.facts, "error_class") or attrs.text(self.facts, attrs.ERROR_TYPE)
        return content(self.facts, "error") or kind or "the request failed"


class Requests:
    """A session's requests in the order of their start, and ways to find one."""

    def __init__(self, made: Iterable[Request]) -> None:
        self.all: Final = tuple(sorted(made, key=lambda request: (request.start_ns, request.end_ns)))
        self._by_id = {request.id: request for request in self.all if request.id is not None}
        self._by_agent: defaultdict[str, list[Request]] = defaultdict(list)
        for request in self.all:
            self._by_agent[request.agent].append(request)
        self._last_start_ns = {(request.agent, request.turn): request.start_ns for request in self.all}

    def with_id(self, request_id: str | None) -> Request | None:
        """The request of this id."""
        return self._by_id.get(request_id) if request_id is not None else None

    def last(self, agent: str, before_ns: int) -> Request | None:
        """The agent's latest request that started before this instant."""
        own = self._by_agent[agent]
        at = bisect_left(own, before_ns, key=lambda request: request.start_ns)
        return own[at - 1] if at else None

    def went_on(self, request: Request) -> bool:
        """Whether the agent made another request in the same turn."""
        return self._last_start_ns[request.agent, request.turn] > request.start_ns


def requests(found: Telemetry, texts: Bodies) -> Requests:
    """All requests of the session."""
    spans: dict[str, Span] = {}
    for span in found.of(REQUEST):
        request_id = attrs.text(span.attributes, "request_id")
        spans.setdefault(request_id or f"/{span.trace_id}/{span.span_id}", span)
    outcomes = _outcomes(found, spans)
    responses = {
        request_id: record
        for record in found.named("assistant_response")
        if (request_id := attrs.text(record.attributes, "request_id"))
    }
    return Requests(
        _request(found, texts, responses, spans.get(key), outcomes.get(key))
        for key in dict.fromkeys((*spans, *outcomes))
    )


def _outcomes(found: Telemetry, spans: Mapping[str, Span]) -> dict[str, LogRecord]:
    """`api_request` and `api_error` records by the key of their span, or by a key of their own."""
    nameless = [key for key in spans if key.startswith("/")]
    outcomes: dict[str, LogRecord] = {}
    for record in found.named("api_request", "api_error"):
        key = attrs.text(record.attributes, "request_id")
        if not key:
            key = nameless.pop(0) if nameless else f"/record {record.position}"
        outcomes[key] = record
    return outcomes


def _request(
    found: Telemetry,
    texts: Bodies,
    responses: Mapping[str, LogRecord],
    span: Span | None,
    record: LogRecord | None,
) -> Request:
    facts = {**(record.attributes if record else {}), **(span.attributes if span else {})}
    request_id = attrs.text(facts, "request_id") or None
    response = responses.get(request_id or "")
    text = texts.texts.get(request_id or "")
    if response is not None:
        text = content(response.attributes, "response") or text
    elif text is None and record is not None and responses:
        text = ""  # every answer with text has its record, and this one's records arrived
    source = query_source(facts) or "sdk"
    side = not (source == "sdk" or source.startswith(("repl_main_thread", "agent:")))
    if span is not None:
        if span.status is StatusCode.ERROR and "error" not in facts:
            facts["error"] = span.status_message
        return Request(
            request_id,
            found.agent_of_span(span),
            found.turn_of_span(span),
            span.start_ns,
            span.end_ns,
            span_anchor(span),
            facts,
            text,
            side,
        )
    if record is None:
        raise ValueError("a request has a span or a record")
    took_ns = (attrs.integer(facts, "duration_ms") or 0) * _MS_NS
    return Request(
        request_id,
        found.agent_of_record(record),
        found.turn_of_record(record),
        record.time_ns - took_ns,
        record.time_ns,
        record_anchor(record),
        facts,
        text,
        side,
    )


def step(request: Request, call_ids: tuple[str, ...], texts: Bodies) -> Step:
    """The request as a step of the trajectory."""
    facts = request.facts
    return Step(
        anchor=request.anchor,
        agent=request.agent,
        start_ns=request.start_ns,
        end_ns=request.end_ns,
        text=request.text,
        call_ids=call_ids,
        model_requested=attrs.text(facts, attrs.REQUEST_MODEL) or attrs.text(facts, "model"),
        model_answered=attrs.text(facts, attrs.RESPONSE_MODEL) or texts.models.get(request.id or ""),
        finish_reason=request.stop_reason,
        input_tokens=_input_tokens(facts),
        output_tokens=_first_integer(facts, attrs.OUTPUT_TOKENS, "output_tokens"),
        error=request.error,
        turn=request.turn,
    )


def failures(found: Telemetry, made: Requests) -> tuple[Failure, ...]:
    """Requests that failed for good, and what else the CLI reports as gone wrong, in time order."""
    result = [
        Failure(
            attrs.text(request.facts, "error_class") or attrs.text(request.facts, attrs.ERROR_TYPE) or "api_error",
            request.error,
            request.anchor,
            request.agent,
            request.end_ns,
        )
        for request in made.all
        if request.error is not None
    ]
    for record in found.named("api_refusal", "api_retries_exhausted", "internal_error"):
        message = content(record.attributes, "error", "error_name", "category")
        agent = found.agent_of_record(record)
        result.append(
            Failure((record.event_name or "").rpartition(".")[2], message, record_anchor(record), agent, record.time_ns)
        )
    return tuple(sorted(result, key=lambda failure: failure.time_ns))


def _input_tokens(facts: Attributes) -> int | None:
    """With cached tokens, as the GenAI attribute counts them; the CLI's own `input_tokens` leaves them out."""
    whole = attrs.integer(facts, attrs.INPUT_TOKENS)
    if whole is not None:
        return whole
    parts = [attrs.integer(facts, key) for key in ("input_tokens", "cache_read_tokens", "cache_creation_tokens")]
    return None if parts[0] is None else sum(part or 0 for part in parts)


def _first_integer(facts: Attributes, *keys: str) -> int | None:
    found = (attrs.integer(facts, key) for key in keys)
    return next((number for number in found if number is not None), None)
