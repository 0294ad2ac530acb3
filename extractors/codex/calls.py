"""Tool calls: the records `tool_decision` and `tool_result` and the tool's span are one, joined by `call_id`.

In code mode one call of `exec` holds a script whose own calls are recorded, too, and before it: they are the calls,
unless the script failed of itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extractors import attributes as attrs
from extractors.anchors import Anchor
from extractors.codex.outputs import Output, is_rejection, read_output
from extractors.codex.telemetry import CODE_CALLBACK, CODE_CELL, Telemetry, event_of, time_of
from extractors.spans import Attributes, LogRecord, Span, Value
from extractors.trajectory import CallOutcome, ToolCall
from extractors.tree import Key, key_of, record_anchor, span_anchor

CODE: Final = "exec"
"""The tool that runs a script of tool calls."""

_MS_NS: Final = 1_000_000
_NESTED: Final = "exec-"
_PLAIN_NAMESPACES: Final = frozenset({None, "", "functions"})
_MCP: Final = "mcp__"
_NAMES: Final = frozenset({"tool_name", "tool_namespace"})
_WENT_WRONG: Final = frozenset({CallOutcome.FAILED, CallOutcome.REFUSED})


@dataclass(slots=True)
class Parts:
    """Everything recorded of one call."""

    call_id: str
    conversation: str
    span: Span | None = None
    dispatch: Span | None = None
    """the span below, whose event has the outcome and whose ids the records carry"""
    told: Attributes | None = None
    """attributes of that event"""
    decision: LogRecord | None = None
    result: LogRecord | None = None

    @property
    def facts(self) -> Attributes:
        """Attributes of records and spans as one; those of the result count most."""
        recorded = [part.attributes for part in (self.span, self.decision) if part is not None]
        recorded += [self.told or {}, self.result.attributes if self.result is not None else {}]
        return {key: value for attributes in recorded for key, value in attributes.items()}

    @property
    def places(self) -> tuple[Key, ...]:
        """Spans that a record about this call may name."""
        spans = [key_of(span) for span in (self.dispatch, self.span) if span is not None]
        records = [record for record in (self.result, self.decision) if record is not None]
        named = ((record.trace_id, record.span_id) for record in records)
        return (*spans, *((trace_id, span_id) for trace_id, span_id in named if trace_id and span_id))


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with what is needed to join other records to it. `order_ns` is its place in time."""

    call: ToolCall
    places: tuple[Key, ...]
    order_ns: int
    is_cut: bool


def calls(found: Telemetry) -> tuple[Call, ...]:
    """Every call once, in time order."""
    parts = _parts(found)
    made = {id(one): _call(found, one) for one in parts}
    wrapped = _wrappers(found, parts, made)
    kept = [made[id(one)] for one in parts if id(one) not in wrapped]
    return tuple(sorted(kept, key=lambda call: (call.order_ns, call.call.call_id or "", call.call.anchor.ref)))


def _parts(found: Telemetry) -> list[Parts]:
    known: dict[tuple[str, str, str | None], Parts] = {}
    reused = _reused(found)

    def of(call_id: str | None, agent: str, trace_id: str | None, otherwise: str) -> Parts:
        key = (agent, call_id or otherwise, trace_id if (agent, call_id) in reused else None)
        return known.setdefault(key, Parts(call_id or "", agent))

    for record in (*found.named("tool_decision"), *found.named("tool_result")):
        call_id, agent = attrs.text(record.attributes, "call_id"), found.agent_of_record(record)
        parts = of(call_id, agent, record.trace_id, f"record {record.position}")
        if event_of(record) == "tool_result":
            parts.result = parts.result or record
        else:
            parts.decision = parts.decision or record
    for span in found.tree.spans.values():
        if "aborted" in span.attributes and "tool_name" in span.attributes:
            call_id = attrs.text(span.attributes, "call_id")
            parts = of(call_id, found.agent_of_span(span), span.trace_id, f"span {span.span_id}")
            _tell_span(parts, span, found)
    return list(known.values())


def _reused(found: Telemetry) -> frozenset[tuple[str, str | None]]:
    """Agents and ids under which several turns, each in its trace, had a call: some servers count ids anew."""
    traces: defaultdict[tuple[str, str | None], set[str]] = defaultdict(set)
    for record in found.named("tool_result"):
        if record.trace_id:
            traces[found.agent_of_record(record), attrs.text(record.attributes, "call_id")].add(record.trace_id)
    return frozenset(call for call, own in traces.items() if len(own) > 1)


def _tell_span(parts: Parts, span: Span, found: Telemetry) -> None:
    if parts.span is not None:
        return
    parts.span = span
    told: dict[str, Value] = {}
    for below in (span, *found.tree.children(span)):
        for event in below.events:
            name = attrs.text(event.attributes, attrs.EVENT_NAME)
            if name == "codex.tool_result":
                parts.dispatch = below
                told.update(event.attributes)
            elif name == "codex.tool_result_ready":
                told.update({key: value for key, value in event.attributes.items() if key in _NAMES})
    parts.told = told


def _call(found: Telemetry, parts: Parts) -> Call:
    facts = parts.facts
    recorded = attrs.text(facts, "output") if parts.result is not None else None
    output = read_output(recorded) if recorded is not None else None
    outcome = _outcome(parts, facts, recorded, output)
    arguments = attrs.json_object(facts, "arguments")
    start_ns, end_ns = _times(parts, facts)
    order_ns = start_ns or end_ns or 0
    trace_id = next((place[0] for place in parts.places), None)
    record = parts.result or parts.decision
    agent = found.agent_of_span(parts.span) if parts.span is not None else found.agent_of_record(_some(record))
    call = ToolCall(
        name=_name(facts),
        anchor=_anchor(parts),
        agent=agent,
        outcome=outcome,
        call_id=parts.call_id or None,
        arguments=arguments,
        arguments_text=attrs.text(facts, "arguments") if arguments is None else None,
        result=output.text if output is not None and outcome is CallOutcome.OK else None,
        error=_error(outcome, output, recorded),
        start_ns=start_ns,
        end_ns=end_ns,
        turn=found.turn_at(trace_id, order_ns),
    )
    return Call(call, parts.places, order_ns, attrs.boolean(facts, "output_truncated") is True)


def _some(record: LogRecord | None) -> LogRecord:
    if record is None:
        raise ValueError("a call without span and without records")
    return record


def _name(facts: Attributes) -> str:
    """As the model calls it. MCP tools have their server for a namespace."""
    name, namespace = attrs.text(facts, "tool_name") or "(not recorded)", attrs.text(facts, "tool_namespace")
    if namespace is None or namespace in _PLAIN_NAMESPACES or not namespace.startswith(_MCP):
        return name
    return f"{namespace.rstrip('_')}__{name}"


def _outcome(parts: Parts, facts: Attributes, recorded: str | None, output: Output | None) -> CallOutcome:
    decision = attrs.text(parts.decision.attributes, "decision") if parts.decision is not None else None
    if decision is not None and not decision.startswith("approved"):
        return CallOutcome.REFUSED
    success = attrs.boolean(facts, "success")
    if success is None:
        return CallOutcome.FAILED if attrs.boolean(facts, "aborted") else CallOutcome.UNANSWERED
    if success:
        return CallOutcome.FAILED if output is not None and output.exit_failed else CallOutcome.OK
    # Only what was allowed has a decision.
    return CallOutcome.REFUSED if decision is None and recorded and is_rejection(recorded) else CallOutcome.FAILED


def _error(outcome: CallOutcome, output: Output | None, recorded: str | None) -> str | None:
    if outcome not in _WENT_WRONG or output is None:
        return None
    if output.exit_failed:
        return "\n".join(text for text in (output.exit_line, output.text.rstrip()) if text)
    return output.text.rstrip() if output.text.strip() else recorded


def _times(parts: Parts, facts: Attributes) -> tuple[int | None, int | None]:
    if parts.span is not None:
        return parts.span.start_ns, parts.span.end_ns
    decided_ns = time_of(parts.decision) if parts.decision is not None else None
    if parts.result is None:
        return decided_ns, None
    ended_ns = time_of(parts.result)
    took_ns = (attrs.integer(facts, "duration_ms") or 0) * _MS_NS
    return ended_ns - took_ns, ended_ns


def _anchor(parts: Parts) -> Anchor:
    if parts.span is not None:
        return span_anchor(parts.span)
    return record_anchor(_some(parts.result or parts.decision))


def _wrappers(found: Telemetry, parts: Sequence[Parts], made: Mapping[int, Call]) -> set[int]:
    """Calls of `exec` whose script's own calls are known; not those that failed though no call of theirs did."""
    scripts = [one for one in parts if made[id(one)].call.name == CODE and not one.call_id.startswith(_NESTED)]
    scripts.sort(key=lambda one: made[id(one)].order_ns)
    starts = [made[id(one)].order_ns for one in scripts]
    by_id = {one.call_id: one for one in scripts}
    cells = _cells(found)
    inside: defaultdict[int, list[ToolCall]] = defaultdict(list)
    for one in parts:
        if not one.call_id.startswith(_NESTED):
            continue
        nested = made[id(one)]
        script = by_id.get(cells.get(key_of(found.tree.top(one.span)), "")) if one.span is not None else None
        if script is None:
            at = bisect_right(starts, nested.order_ns + _MS_NS) - 1
            script = scripts[at] if at >= 0 and _ran_during(nested.call, made[id(scripts[at])].call) else None
        if script is not None:
            inside[id(script)].append(nested.call)
    return {
        script
        for script, own in inside.items()
        if made[script].call.outcome is not CallOutcome.FAILED or any(call.outcome in _WENT_WRONG for call in own)
    }


def _cells(found: Telemetry) -> Mapping[Key, str]:
    """The root span above a nested call → the id of the call of `exec`, by the execution that both name."""
    executions = {
        execution: call_id
        for span in found.of(CODE_CELL)
        if (execution := attrs.text(span.attributes, "execution.id"))
        and (call_id := attrs.text(span.attributes, "call_id"))
    }
    roots = {key_of(span): attrs.text(span.attributes, "execution.id") or "" for span in found.of(CODE_CALLBACK)}
    return {key: executions[execution] for key, execution in roots.items() if execution in executions}


def _ran_during(call: ToolCall, script: ToolCall) -> bool:
    if call.agent != script.agent or script.end_ns is None:
        return call.agent == script.agent
    return (call.start_ns or 0) <= script.end_ns + _MS_NS
