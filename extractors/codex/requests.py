"""Model requests: the span `try_run_sampling_request`, the records `api_request` and `sse_event` are one.

The record of an answer has no trace: the conversation and the time join it. What the model said is recorded of its
last answer only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extractors import attributes as attrs
from extractors.anchors import Anchor
from extractors.codex.calls import Call
from extractors.codex.telemetry import REQUEST, Telemetry, text_of, time_of
from extractors.spans import Attributes, LogRecord, Span
from extractors.trajectory import Failure, Step
from extractors.tree import record_anchor, span_anchor

_MS_NS: Final = 1_000_000
_SLACK_NS: Final = 200 * _MS_NS
_COMPLETED: Final = "response.completed"


@dataclass(slots=True)
class Request:
    """One request to the model. `facts` are what is known of it, under the names that records use."""

    agent: str
    start_ns: int
    end_ns: int
    anchor: Anchor
    turn: int
    facts: Attributes
    answered: bool = False
    text: str | None = None


def steps(found: Telemetry, made: Sequence[Call]) -> tuple[tuple[Step, ...], Mapping[str, Step]]:
    """Every turn of the model, and agent → the turn that gave its last answer."""
    requests = _requests(found)
    answers = _tell_answers(found, requests)
    by_agent: defaultdict[str, list[int]] = defaultdict(list)
    for index, request in enumerate(requests):
        by_agent[request.agent].append(index)
    asked: defaultdict[int, list[str]] = defaultdict(list)
    for call in made:
        own = by_agent.get(call.call.agent, [])
        at = bisect_right(own, call.order_ns, key=lambda index: requests[index].start_ns) - 1
        if at >= 0 and call.call.call_id is not None:
            asked[own[at]].append(call.call.call_id)
    told = tuple(_step(request, tuple(asked[index])) for index, request in enumerate(requests))
    places = {id(request): index for index, request in enumerate(requests)}
    return told, {agent: told[places[id(request)]] for agent, request in answers.items()}


def _requests(found: Telemetry) -> list[Request]:
    spans = [_from_span(found, span) for span in found.of(REQUEST)]
    requests = spans + _from_records(found, spans)
    return sorted(requests, key=lambda request: (request.start_ns, request.anchor.ref))


def _from_span(found: Telemetry, span: Span) -> Request:
    usage = [below.attributes for below in found.tree.descendants(span) if attrs.INPUT_TOKENS in below.attributes]
    facts = {**span.attributes, **(usage[-1] if usage else {})}
    return Request(
        found.agent_of_span(span),
        span.start_ns,
        span.end_ns,
        span_anchor(span),
        found.turn_at(span.trace_id, span.start_ns),
        facts,
        answered=bool(usage),
    )


def _from_records(found: Telemetry, spans: Sequence[Request]) -> list[Request]:
    """Answers that are recorded and belong to no span, each with the request before it, where that is recorded."""
    starts: defaultdict[str, list[Request]] = defaultdict(list)
    for request in sorted(spans, key=lambda request: request.start_ns):
        starts[request.agent].append(request)
    asked: defaultdict[str, list[LogRecord]] = defaultdict(list)
    for record in found.named("api_request"):
        if _failure(record) is None:
            asked[found.agent_of_record(record)].append(record)
    alone: list[Request] = []
    last_ns: defaultdict[str, int] = defaultdict(int)
    for record in found.named("sse_event"):
        if attrs.text(record.attributes, "event.kind") != _COMPLETED or "input_token_count" not in record.attributes:
            continue
        agent, time_ns = found.agent_of_record(record), time_of(record)
        around = _before(starts[agent], time_ns)
        if around is not None and time_ns <= around.end_ns + _SLACK_NS:
            around.facts = {**record.attributes, **around.facts}
            around.answered = True
            continue
        at = bisect_right(asked[agent], time_ns, key=time_of) - 1
        request_record = asked[agent][at] if at >= 0 and time_of(asked[agent][at]) > last_ns[agent] else None
        alone.append(_from_answer(found, agent, record, request_record))
        last_ns[agent] = time_ns
    return alone


def _before(requests: Sequence[Request], time_ns: int) -> Request | None:
    at = bisect_right(requests, time_ns, key=lambda request: request.start_ns) - 1
    return requests[at] if at >= 0 else None


def _from_answer(found: Telemetry, agent: str, record: LogRecord, asked: LogRecord | None) -> Request:
    end_ns = time_of(record)
    start_ns = end_ns
    if asked is not None:
        start_ns = time_of(asked) - (attrs.integer(asked.attributes, "duration_ms") or 0) * _MS_NS
    anchor = record_anchor(asked if asked is not None else record)
    trace_id = asked.trace_id if asked is not None else None
    turn = found.turn_at(trace_id, start_ns)
    return Request(agent, start_ns, end_ns, anchor, turn, record.attributes, answered=True)


def _tell_answers(found: Telemetry, requests: Sequence[Request]) -> Mapping[str, Request]:
    """Give each recorded answer to its request; agent → the request that gave its last one.

    Without requests (tracing off, and no records of the stream), the answer is a turn of its own.
    """
    by_agent: defaultdict[str, list[Request]] = defaultdict(list)
    for request in requests:
        by_agent[request.agent].append(request)
    last: dict[str, Request] = {}
    for record in found.named("agent_response"):
        agent = found.agent_of_record(record)
        own = _before(by_agent[agent], time_of(record))
        text = text_of(record.attributes, "response")
        if own is None:
            own = _alone(found, agent, record)
            if isinstance(requests, list):
                requests.append(own)
            by_agent[agent].append(own)
        own.text = text if own.text is None or text is None else f"{own.text}\n{text}"
        if text is not None:
            last[agent] = own
    return last


def _alone(found: Telemetry, agent: str, record: LogRecord) -> Request:
    time_ns = time_of(record)
    turn = found.turn_at(record.trace_id, time_ns)
    return Request(agent, time_ns, time_ns, record_anchor(record), turn, record.attributes, answered=True)


def _step(request: Request, call_ids: tuple[str, ...]) -> Step:
    facts = request.facts
    return Step(
        request.anchor,
        request.agent,
        request.start_ns,
        request.end_ns,
        request.text,
        call_ids,
        model_requested=attrs.text(facts, "model"),
        input_tokens=_first_integer(facts, attrs.INPUT_TOKENS, "input_token_count"),
        output_tokens=_first_integer(facts, attrs.OUTPUT_TOKENS, "output_token_count"),
        turn=request.turn,
    )


def _first_integer(facts: Attributes, *keys: str) -> int | None:
    return next((number for key in keys if (number := attrs.integer(facts, key)) is not None), None)


def failures(found: Telemetry) -> tuple[Failure, ...]:
    """Attempts of requests that failed; Codex tries again by itself."""
    told = (
        Failure(kind, message, record_anchor(record), found.agent_of_record(record), time_of(record))
        for record in (*found.named("api_request"), *found.named("websocket_request"), *found.named("sse_event"))
        if (failure := _failure(record)) is not None
        for kind, message in (failure,)
    )
    return tuple(sorted(told, key=lambda failure: (failure.time_ns, failure.anchor.ref)))


def _failure(record: LogRecord) -> tuple[str, str | None] | None:
    """Kind and message of what went wrong; None for what went well."""
    message = attrs.text(record.attributes, "error.message")
    status = attrs.integer(record.attributes, "http.response.status_code")
    if status is not None and status >= 400:
        return f"http {status}", message
    return ("api_error", message) if message else None
