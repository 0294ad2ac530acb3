"""Addresses that lead out of the page (pure)."""

from __future__ import annotations

import re

from extractors.anchors import Anchor

_ID = re.compile(r"[0-9a-f]{16,32}")


def trace_link(template: str | None, anchor: Anchor | None) -> str | None:
    """Of the span in the trace back-end. None without a template or a trace: what agents sent becomes part of an
    address only where it is an id."""
    if template is None or anchor is None or anchor.trace_id is None or not _ID.fullmatch(anchor.trace_id):
        return None
    span_id = anchor.span_id if anchor.span_id and _ID.fullmatch(anchor.span_id) else ""
    return template.replace("{trace_id}", anchor.trace_id).replace("{span_id}", span_id)
