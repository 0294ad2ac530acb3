"""Calls and skills in few words, for explanations that people read at night."""

from __future__ import annotations

from collections.abc import Sequence

from extractors.attributes import json_text
from extractors.skills import SkillInvocation
from extractors.trajectory import ROOT_AGENT, ToolCall

SHORT = 160
"""Longest piece of an argument, error or answer that an explanation repeats, in characters."""


def call_text(call: ToolCall) -> str:
    """`bash {"command":"ls"}`, with the agent when it is not the root one."""
    owner = "" if call.agent == ROOT_AGENT else f" by {call.agent}"
    arguments = arguments_text(call)
    return f"{call.name} {shorten(arguments)}{owner}" if arguments is not None else f"{call.name}{owner}"


def arguments_text(call: ToolCall) -> str | None:
    """The arguments as recorded, or as JSON; None when they were not recorded."""
    return json_text(call.arguments) if call.arguments is not None else call.arguments_text


def skill_text(load: SkillInvocation) -> str:
    """`pdf (refused: no such skill)`."""
    remark = f": {shorten(load.refusal)}" if load.refusal else ""
    return f"{load.name or 'a skill whose name was not recorded'} ({load.outcome}{remark})"


def listed(items: Sequence[str], most: int = 5) -> str:
    """`a, b and 3 more`."""
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most} more"


def plural(count: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shorten(text: str) -> str:
    """One line of at most `SHORT` characters; what was left out is counted."""
    line = " ".join(text[: 4 * SHORT].split())
    if len(text) <= 4 * SHORT and len(line) <= SHORT:
        return line
    kept = line[:SHORT]
    return f"{kept}… ({len(text) - len(kept)} more characters)"
