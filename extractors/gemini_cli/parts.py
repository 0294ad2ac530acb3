"""What was recorded of each tool call, put together.

The model's answer, the spans `schedule_tool_calls` and `tool_call`, and the histories of later requests name the
call's id. The record `tool_call` does not: it is joined by its trace (that of the batch), tool, arguments and time.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from extractors import attributes as attrs
from extractors.gemini_cli.content import plain_id, results, value_of
from extractors.gemini_cli.requests import Request
from extractors.gemini_cli.telemetry import BATCH, TOOL, Telemetry
from extractors.spans import LogRecord, Span, Value

CALL_ID: Final = "gen_ai.tool.call_id"

_SLACK_NS: Final = 50_000_000
_MOST_WAITING: Final = 50
"""Calls that a record is compared with, of those with its tool and arguments."""

_Key: TypeAlias = tuple[str, str, str | None]


@dataclass(slots=True)
class Parts:
    """Everything recorded of one call."""

    name: str
    call_id: str | None = None
    arguments: Value = None
    asked: Request | None = None
    batch: Span | None = None
    span: Span | None = None
    finished: Mapping[str, Value] | None = None
    """the call as the CLI's scheduler left it: status, response, outcome"""
    answer: Value = None
    answered: bool = False
    record: LogRecord | None = None

    @property
    def order_ns(self) -> int:
        """Its place in time, known even where its own times are not."""
        if self.span is not None:
            return self.span.start_ns
        if self.batch is not None:
            return self.batch.start_ns
        if self.asked is not None:
            return self.asked.end_ns
        return self.record.time_ns if self.record is not None else 0


def parts_of_calls(found: Telemetry, made: Sequence[Request]) -> tuple[Parts, ...]:
    """Every call once, in time order."""
    known = _with_ids(found, made)
    everything = [*known.values(), *_unnamed(found, known)]
    everything += _match(everything, found.named("tool_call"))
    return tuple(sorted(everything, key=lambda parts: (parts.order_ns, parts.call_id or "")))


def _with_ids(found: Telemetry, made: Iterable[Request]) -> dict[str, Parts]:
    """Calls by id: as asked for, scheduled, run and answered."""
    known: dict[str, Parts] = {}

    def of(call_id: str, name: str) -> Parts:
        return known.setdefault(plain_id(call_id, name), Parts(name, call_id))

    for request in made:
        for content in request.outputs or () if not request.side else ():
            for wanted in content.calls:
                if wanted.call_id is not None:
                    parts = of(wanted.call_id, wanted.name)
                    parts.arguments = wanted.arguments
                    parts.asked = parts.asked or request
    for batch in found.of(BATCH):
        for key in (attrs.INPUT_MESSAGES, attrs.OUTPUT_MESSAGES):
            for item in _items(value_of(batch.attributes, key)):
                wanted_body = attrs.as_mapping(item.get("request")) or item
                call_id, name = wanted_body.get("callId"), wanted_body.get("name")
                if isinstance(call_id, str) and isinstance(name, str) and name:
                    parts = of(call_id, name)
                    parts.batch = batch
                    parts.arguments = wanted_body.get("args") if parts.arguments is None else parts.arguments
                    parts.finished = item if "status" in item else parts.finished
    for span in found.of(TOOL):
        name = attrs.text(span.attributes, attrs.TOOL_NAME) or ""
        call_id = attrs.text(span.attributes, CALL_ID)
        if call_id and name:
            _tell_span(of(call_id, name), span, found)
    for request in made:
        if not request.side:
            for answered_id, _, response in results(request.history):
                answered = known.get(answered_id)
                if answered is not None and not answered.answered:
                    answered.answer, answered.answered = response, True
    return known


def _items(value: Value) -> Iterator[Mapping[str, Value]]:
    """Objects of a list, or the object itself."""
    for item in attrs.as_list(value) or ([value] if attrs.as_mapping(value) is not None else ()):
        body = attrs.as_mapping(item)
        if body is not None:
            yield body


def _tell_span(parts: Parts, span: Span, found: Telemetry) -> None:
    parts.span = span
    parent = found.tree.parent(span)
    parts.batch = parts.batch or parent
    asked = attrs.as_mapping(value_of(span.attributes, attrs.INPUT_MESSAGES)) or {}
    parts.arguments = asked.get("args") if parts.arguments is None else parts.arguments
    done = attrs.as_mapping(value_of(span.attributes, attrs.OUTPUT_MESSAGES))
    # A batch of many calls is cut sooner than each call's own span.
    if done is not None and ("response" in done or parts.finished is None):
        parts.finished = done


def _unnamed(found: Telemetry, known: Mapping[str, Parts]) -> list[Parts]:
    """Spans of calls without an id."""
    told = {id(parts.span) for parts in known.values()}
    alone: list[Parts] = []
    for span in found.of(TOOL):
        if id(span) not in told:
            parts = Parts(attrs.text(span.attributes, attrs.TOOL_NAME) or "(not recorded)")
            _tell_span(parts, span, found)
            alone.append(parts)
    return alone


def _match(everything: Iterable[Parts], records: Iterable[LogRecord]) -> list[Parts]:
    """Give each record to its call; those that match none are calls of their own."""
    waiting: defaultdict[_Key, deque[Parts]] = defaultdict(deque)
    for parts in sorted(everything, key=lambda parts: (parts.order_ns, parts.call_id or "")):
        trace = parts.batch.trace_id if parts.batch is not None else ""
        arguments = _canonical(parts.arguments)
        for place in dict.fromkeys((trace, "")):
            waiting[place, parts.name, arguments].append(parts)
            waiting[place, parts.name, "any"].append(parts)
    alone: list[Parts] = []
    for record in records:
        name = attrs.text(record.attributes, "function_name") or "(not recorded)"
        arguments = _canonical(attrs.json_value(record.attributes, "function_args"))
        if arguments is not None:
            keys = [(place, name, told) for place in (record.trace_id or "", "") for told in (arguments, None)]
        else:
            keys = [(place, name, "any") for place in (record.trace_id or "", "")]
        match = next((found for key in keys if (found := _next(waiting[key], record)) is not None), None)
        if match is None:
            match = Parts(name, arguments=attrs.json_value(record.attributes, "function_args"))
            alone.append(match)
        match.record = record
    return alone


def _next(waiting: deque[Parts], record: LogRecord) -> Parts | None:
    while waiting and waiting[0].record is not None:
        waiting.popleft()
    return next((parts for parts in islice(waiting, _MOST_WAITING) if _may_be(parts, record)), None)


def _may_be(parts: Parts, record: LogRecord) -> bool:
    """Whether nothing speaks against the record being about this call."""
    if parts.record is not None or parts.order_ns > record.time_ns + _SLACK_NS:
        return False
    success = attrs.boolean(record.attributes, "success")
    if success is False and parts.span is not None and not attrs.text(record.attributes, "decision"):
        return False  # it never ran, and this call did
    status = attrs.text(parts.finished or {}, "status")
    return status is None or success is None or (status == "success") == success


def _canonical(arguments: Value) -> str | None:
    return None if arguments is None else attrs.json_text(attrs.as_object(arguments) or arguments)
