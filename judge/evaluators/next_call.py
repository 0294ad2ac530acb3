"""How a call that is still to come, and the tools to choose from, are shown to a judge."""

from __future__ import annotations

from collections.abc import Sequence

from extractors.trajectory import ROOT_AGENT, ToolCall, ToolDefinition
from judge.describe import arguments_text
from judge.fence import Markup, element, fence, size
from judge.redaction import Redaction

MOST_ARGUMENTS = 8_000
"""Bytes of arguments that a question repeats."""


def call_markup(call: ToolCall, redaction: Redaction) -> Markup:
    """The call without anything that came of it."""
    arguments = arguments_text(call)
    parts = [fence("tool", call.name, 300, redaction)]
    if arguments is None:
        parts.append(Markup('<arguments state="not recorded"/>'))
    else:
        parts.append(fence("arguments", arguments, MOST_ARGUMENTS, redaction))
    if call.agent != ROOT_AGENT:
        parts.append(fence("sub_agent", call.agent, 200, redaction))
    return Markup("\n".join(parts))


def tools_markup(tools: Sequence[ToolDefinition] | None, most_bytes: int, redaction: Redaction) -> Markup:
    """The tools with their descriptions, in at most about `most_bytes`; what is left out is counted."""
    if tools is None:
        return Markup('<tools state="not recorded"/>')
    if not tools:
        return Markup('<tools state="none"/>')
    kept: list[Markup] = []
    for tool in tools:
        description = fence("description", tool.description or "", 1_000, redaction)
        part = element("tool", fence("name", tool.name, 300, redaction), description)
        most_bytes -= size(part)
        if most_bytes < 0:
            break
        kept.append(part)
    gone = len(tools) - len(kept)
    return element("tools", *kept, *([Markup(f'<left_out entries="{gone}"/>')] if gone else []))
