"""Errors of model requests and agents, as spans and log events tell them."""

from __future__ import annotations

from extractors import attributes as at
from extractors.conventions.genai_content import EXCEPTION
from extractors.conventions.genai_spans import WORKFLOW, Layout, Placed
from extractors.spans import Span, StatusCode
from extractors.trajectory import ROOT_AGENT, Failure
from extractors.tree import span_anchor


def failures(layout: Layout) -> tuple[Failure, ...]:
    """Model requests that failed, and agents that failed for another reason than such a request."""
    requests = [_failure(placed) for placed in layout.exchanges if has_failed(placed)]
    told = {failure.message for failure in requests}
    agents = [_failure(placed) for placed in layout.agent_spans if has_failed(placed)]
    workflows = [_span_failure(span) for span in layout.tree.spans.values() if _is_workflow(span)]
    for failure in (*agents, *(failure for failure in workflows if failure is not None)):
        if failure.message not in told:
            told.add(failure.message)
            requests.append(failure)
    return tuple(sorted(requests, key=lambda failure: (failure.time_ns, failure.anchor.ref)))


def _is_workflow(span: Span) -> bool:
    return span.attributes.get(at.OPERATION_NAME) == WORKFLOW


def _failure(placed: Placed) -> Failure:
    carriers = [placed.attributes, *(record.attributes for record in placed.records)]
    carriers += [event.attributes for event in placed.span.events] if placed.span is not None else []
    named = (at.text(carrier, key) for key in (at.ERROR_TYPE, at.EXCEPTION_TYPE) for carrier in carriers)
    kind = next((name for name in named if name), "error")
    return Failure(kind, failure_text(placed), placed.anchor, placed.agent, placed.end_ns)


def _span_failure(span: Span) -> Failure | None:
    if span.status is not StatusCode.ERROR and at.ERROR_TYPE not in span.attributes:
        return None
    kind = at.text(span.attributes, at.ERROR_TYPE) or "error"
    return Failure(kind, span.status_message or kind, span_anchor(span), ROOT_AGENT, span.end_ns)


def has_failed(placed: Placed) -> bool:
    """Whether a span, its error type or an exception log event says so."""
    if placed.span is not None and placed.span.status is StatusCode.ERROR:
        return True
    by_attribute = at.ERROR_TYPE in placed.attributes
    return by_attribute or (bool(placed.records) and any(one.event_name == EXCEPTION for one in placed.records))


def failure_text(placed: Placed) -> str | None:
    """An error as the span tells it: status message, else the exception's message, else its type."""
    span = placed.span
    events = [event for event in span.events if event.name == "exception"] if span is not None else []
    carriers = [placed.attributes, *(event.attributes for event in events), *(one.attributes for one in placed.records)]
    told = [span.status_message if span is not None else None]
    for key in (at.EXCEPTION_MESSAGE, at.ERROR_TYPE, at.EXCEPTION_TYPE):
        told += [at.text(carrier, key) for carrier in carriers]
    return next((text for text in told if text), None)
