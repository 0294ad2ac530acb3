"""What belongs to one tool call: spans, records and bodies joined by `tool_use_id`.

Old CLIs name no ids: then a span, else the record of the result, is the call. Gateways to other models may count ids
anew in each turn; there the turn is part of the id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from extractors import attributes as attrs
from extractors.claude_code.bodies import Answer, Bodies, Use
from extractors.claude_code.telemetry import EXECUTION, PERMISSION, TOOL, Telemetry
from extractors.spans import Attributes, LogRecord, Span

_T = TypeVar("_T", Span, LogRecord)


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything recorded of one call."""

    call_id: str | None
    span: Span | None
    execution: Span | None
    permission: Span | None
    decision: LogRecord | None
    result: LogRecord | None
    use: Use | None
    answer: Answer | None

    @property
    def facts(self) -> Attributes:
        """Attributes of the records and spans as one; what is on the call's own span counts most."""
        recorded = [part.attributes for part in (self.decision, self.result, self.execution, self.span) if part]
        return {key: value for attributes in recorded for key, value in attributes.items()}


def parts_of_calls(found: Telemetry, texts: Bodies) -> Iterator[Parts]:
    """What was recorded of each call, once a call."""
    reused = _reused(found)
    spans = _by_call(found, found.of(TOOL), reused)
    executions = _by_call(found, found.of(EXECUTION), reused)
    decisions = _by_call(found, found.named("tool_decision"), reused)
    results = _by_call(found, found.named("tool_result"), reused)
    permissions = {(span.trace_id, span.parent_id): span for span in found.of(PERMISSION)}
    unexplained = [call_id for call_id, answer in texts.answers.items() if answer.failed and answer.fresh]
    told = [call_id for call_id in (*texts.uses, *unexplained) if call_id not in reused]
    for key in dict.fromkeys((*spans, *executions, *decisions, *results, *((call_id, -1) for call_id in told))):
        span = spans.get(key)
        call_id = key[0] if key[0] not in reused else ""
        yield Parts(
            key[0],
            span,
            executions.get(key),
            permissions.get((span.trace_id, span.span_id)) if span else None,
            decisions.get(key),
            results.get(key),
            texts.uses.get(call_id),
            texts.answers.get(call_id),
        )
    yield from _nameless(found, permissions)


def _reused(found: Telemetry) -> frozenset[str]:
    """Ids under which spans, or results, or decisions of several turns were recorded: a call that was denied has a
    decision only. A span and a record of one call may have different turns where prompts are missing; that alone makes
    no two calls of it."""
    alike = (found.of(TOOL), found.named("tool_result"), found.named("tool_decision"))
    return frozenset().union(*(_in_several_turns(found, items) for items in alike))


def _in_several_turns(found: Telemetry, items: Sequence[Span | LogRecord]) -> frozenset[str]:
    turns: defaultdict[str, set[int]] = defaultdict(set)
    for item in items:
        if call_id := attrs.text(item.attributes, "tool_use_id"):
            turns[call_id].add(_turn_of(found, item))
    return frozenset(call_id for call_id, own in turns.items() if len(own - {-1}) > 1)


def _by_call(found: Telemetry, items: Sequence[_T], reused: frozenset[str]) -> dict[tuple[str, int], _T]:
    """The items by id and, where it takes the turn to tell, by turn."""
    return {
        (call_id, _turn_of(found, item) if call_id in reused else -1): item
        for item in items
        if (call_id := attrs.text(item.attributes, "tool_use_id"))
    }


def _turn_of(found: Telemetry, item: Span | LogRecord) -> int:
    return found.turn_of_span(item) if isinstance(item, Span) else found.turn_of_record(item)


def _nameless(found: Telemetry, permissions: Mapping[tuple[str, str | None], Span]) -> Iterator[Parts]:
    """Calls without ids: spans with what is below them, else results and rejections, which cannot be joined."""
    executions = {(span.trace_id, span.parent_id): span for span in found.of(EXECUTION)}
    spans = [span for span in found.of(TOOL) if not attrs.text(span.attributes, "tool_use_id")]
    for span in spans:
        key = (span.trace_id, span.span_id)
        yield Parts(None, span, executions.get(key), permissions.get(key), None, None, None, None)
    if spans:
        return
    for record in found.named("tool_result"):
        if not attrs.text(record.attributes, "tool_use_id"):
            yield Parts(None, None, None, None, None, record, None, None)
    for record in found.named("tool_decision"):
        if not attrs.text(record.attributes, "tool_use_id") and attrs.text(record.attributes, "decision") == "reject":
            yield Parts(None, None, None, None, record, None, None, None)
