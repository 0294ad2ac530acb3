"""Model requests: the span `llm_call` and the records `api_request`, `api_response` and `api_error` are one.

The request's record has the ids of the span. That of a streamed answer has none: the time at which the request began,
which it tells, joins it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extractors import attributes as attrs
from extractors.anchors import Anchor
from extractors.gemini_cli.content import Content, exchange, prompts, value_of
from extractors.gemini_cli.telemetry import DETAILS, PROMPT_NAME, REQUEST, Telemetry
from extractors.spans import Attributes, LogRecord, Span, StatusCode, Value
from extractors.trajectory import ROOT_AGENT, Failure, Prompt, Step
from extractors.tree import Key, key_of, record_anchor, span_anchor

_MS_NS: Final = 1_000_000
_SLACK_NS: Final = 1_000 * _MS_NS
"""How far from a request's begin an answer may say that it began."""
_MOST_CANDIDATES: Final = 50


@dataclass(slots=True)
class Request:
    """One request to the model and everything recorded of it."""

    span: Span | None = None
    asked: LogRecord | None = None
    answered: LogRecord | None = None
    details: LogRecord | None = None
    agent: str = ROOT_AGENT
    outputs: tuple[Content, ...] | None = None

    @property
    def start_ns(self) -> int:
        """When it began."""
        if self.span is not None:
            return self.span.start_ns
        if self.asked is not None:
            return self.asked.time_ns
        return _began_ns(self.answered) if self.answered is not None else self._only.time_ns

    @property
    def end_ns(self) -> int:
        """When the answer was complete; the begin when it never was."""
        if self.span is not None:
            return self.span.end_ns
        return self.answered.time_ns if self.answered is not None else self.start_ns

    @property
    def anchor(self) -> Anchor:
        """Its span, else its first record."""
        return span_anchor(self.span) if self.span is not None else record_anchor(self._only)

    @property
    def facts(self) -> Attributes:
        """Attributes of the records and the span as one; those of the records count most."""
        parts = (self.details, self.span, self.asked, self.answered)
        return {key: value for part in parts if part is not None for key, value in part.attributes.items()}

    @property
    def side(self) -> bool:
        """Whether the CLI asked for its own sake (routing, summaries): no turn of the conversation.

        Without the record that says so: those requests offer no tools.
        """
        role = attrs.text(self.facts, "role")
        if role is not None:
            return role.startswith("utility")
        told = value_of(self.facts, attrs.TOOL_DEFINITIONS)
        return attrs.is_list(told) and not told

    @property
    def history(self) -> Value:
        """The messages that were sent; records have them whole."""
        return value_of(self.facts, "request_text", attrs.INPUT_MESSAGES)

    @property
    def _only(self) -> LogRecord:
        record = self.asked or self.details or self.answered
        if record is None:
            raise ValueError("a request without span and without records")
        return record


def requests(found: Telemetry) -> tuple[Request, ...]:
    """Every request once, in time order."""
    by_place: dict[Key, Request] = {}
    made: list[Request] = []
    for span in found.of(REQUEST):
        by_place[key_of(span)] = Request(span)
        made.append(by_place[key_of(span)])
    for record in found.named("api_request"):
        place = _place(record)
        known = by_place.get(place) if place is not None else None
        if known is None or known.asked is not None:
            known = Request()
            made.append(known)
            if place is not None:
                by_place.setdefault(place, known)
        known.asked = record
    made.sort(key=lambda request: request.start_ns)
    made += _answer(made, by_place, [*found.named("api_response"), *found.named("api_error")])
    _tell_details(made, by_place, found.named(DETAILS))
    for request in made:
        told = request.asked or request.answered
        if request.span is not None:
            request.agent = found.agent_of_span(request.span)
        if request.agent == ROOT_AGENT and told is not None:
            request.agent = found.agent_of_record(told)
        request.outputs = exchange(value_of(request.facts, "response_text", attrs.OUTPUT_MESSAGES))
    return tuple(sorted(made, key=lambda request: (request.start_ns, request.anchor.ref)))


def _place(record: LogRecord) -> Key | None:
    return (record.trace_id, record.span_id) if record.trace_id and record.span_id else None


def _began_ns(record: LogRecord) -> int:
    return record.time_ns - (attrs.integer(record.attributes, "duration_ms") or 0) * _MS_NS


def _answer(made: Sequence[Request], by_place: Mapping[Key, Request], answers: Iterable[LogRecord]) -> list[Request]:
    """Give each answer to its request; those that match none are requests of their own."""
    starts = [request.start_ns for request in made]
    alone: list[Request] = []
    for record in sorted(answers, key=lambda record: (record.time_ns, record.position)):
        place = _place(record)
        request = by_place.get(place) if place is not None else None
        if request is None or request.answered is not None:
            request = _nearest(made, starts, record)
        if request is None:
            alone.append(Request(answered=record))
        else:
            request.answered = record
    return alone


def _nearest(made: Sequence[Request], starts: Sequence[int], record: LogRecord) -> Request | None:
    began_ns = _began_ns(record)
    first = bisect_left(starts, began_ns - _SLACK_NS)
    last = bisect_right(starts, began_ns + _SLACK_NS)
    if last - first > _MOST_CANDIDATES:
        middle = bisect_left(starts, began_ns)
        first, last = max(first, middle - _MOST_CANDIDATES // 2), min(last, middle + _MOST_CANDIDATES // 2)
    candidates = [request for request in made[first:last] if request.answered is None and _same(request, record)]
    return min(candidates, key=lambda request: abs(request.start_ns - began_ns), default=None)


def _same(request: Request, record: LogRecord) -> bool:
    """Whether nothing speaks against the record being the request's answer."""
    if request.asked is None:
        return True
    pairs = ((attrs.text(one.attributes, key) for one in (request.asked, record)) for key in ("prompt_id", "role"))
    return all(None in (ours, theirs) or ours == theirs for ours, theirs in pairs)


def _tell_details(made: list[Request], by_place: Mapping[Key, Request], details: Iterable[LogRecord]) -> None:
    """The records of the GenAI conventions, of which each request has two: only the first has the ids, and needs to
    be kept: what the second adds, other records tell too."""
    for record in details:
        place = _place(record)
        request = by_place.get(place) if place is not None else None
        if request is not None and request.details is None:
            request.details = record


def told_prompts(found: Telemetry, made: Iterable[Request]) -> tuple[Prompt, ...]:
    """The prompts; where only requests tell them, each that a history has more than the one before."""
    if found.prompts:
        return found.prompts
    known: list[str] = []
    seen: list[Prompt] = []
    unnamed: set[str | None] = set()
    for request in made:
        if request.side or request.agent != ROOT_AGENT:
            continue
        contents = exchange(request.history)
        if contents is None:
            prompt_id = attrs.text(request.facts, PROMPT_NAME) or attrs.text(request.facts, "prompt_id")
            if not known and prompt_id not in unnamed:
                unnamed.add(prompt_id)
                seen.append(Prompt(None, request.anchor, request.start_ns))
            continue
        said = prompts(contents)
        fresh = said[len(known) :] if said[: len(known)] == known else said[-1:] if said[-1:] != known[-1:] else []
        seen += [Prompt(text, request.anchor, request.start_ns) for text in fresh]
        known = said
    return tuple(seen)


def step(request: Request, turn: int, call_ids: tuple[str, ...]) -> Step:
    """A request as a turn of the model."""
    facts = request.facts
    reasons = attrs.texts(facts, "finish_reasons") or attrs.texts(facts, attrs.FINISH_REASONS) or ()
    return Step(
        anchor=request.anchor,
        agent=request.agent,
        start_ns=request.start_ns,
        end_ns=request.end_ns,
        text=None if request.outputs is None else "".join(content.text for content in request.outputs),
        call_ids=call_ids,
        model_requested=attrs.text(facts, attrs.REQUEST_MODEL) or _asked_model(request),
        model_answered=_answered_model(facts),
        finish_reason=reasons[-1] if reasons else None,
        input_tokens=_first_integer(facts, "input_token_count", attrs.INPUT_TOKENS),
        output_tokens=_output_tokens(facts),
        error=error_of(request),
        turn=turn,
    )


def _asked_model(request: Request) -> str | None:
    return attrs.text(request.asked.attributes, "model") if request.asked is not None else None


def _answered_model(facts: Attributes) -> str | None:
    value = value_of(facts, "response_text")
    items = attrs.as_list(value) or ([value] if attrs.as_mapping(value) is not None else [])
    named = (attrs.text(attrs.as_mapping(item) or {}, "modelVersion") for item in items)
    return next((name for name in named if name), None)


def _output_tokens(facts: Attributes) -> int | None:
    """With those of thoughts, as the GenAI attribute counts them; the record tells the two apart."""
    answer, thoughts = attrs.integer(facts, "output_token_count"), attrs.integer(facts, "thoughts_token_count")
    return attrs.integer(facts, attrs.OUTPUT_TOKENS) if answer is None else answer + (thoughts or 0)


def _first_integer(facts: Attributes, *keys: str) -> int | None:
    return next((number for key in keys if (number := attrs.integer(facts, key)) is not None), None)


def error_of(request: Request) -> str | None:
    """What went wrong; None for a request that succeeded."""
    record, span = request.answered, request.span
    if record is not None and (record.event_name or "").endswith("api_error"):
        told = attrs.text(record.attributes, "error.message") or attrs.text(record.attributes, "error")
        return told or "the request failed"
    if span is not None and span.status is StatusCode.ERROR:
        return span.status_message or "the request failed"
    return None


def failures(made: Iterable[Request]) -> tuple[Failure, ...]:
    """Requests that failed, those that the CLI made for its own purposes too."""
    return tuple(
        Failure(_kind(request), error, request.anchor, request.agent, request.end_ns)
        for request in made
        if (error := error_of(request)) is not None
    )


def _kind(request: Request) -> str:
    kind = attrs.text(request.facts, attrs.ERROR_TYPE) or attrs.text(request.facts, "error_type")
    events = request.span.events if request.span is not None else ()
    raised = (attrs.text(event.attributes, attrs.EXCEPTION_TYPE) for event in events)
    return kind or next((name for name in raised if name), None) or "api_error"


def with_prompts(found: Telemetry, made: Iterable[Request]) -> Telemetry:
    """The telemetry with the prompts that only requests tell."""
    return replace(found, prompts=told_prompts(found, made))
