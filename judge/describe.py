"""Calls and skills in few words, for explanations that people read at night."""

from __future__ import annotations

import re
from collections.abc import Sequence

from extractors.attributes import json_text
from extractors.skills import SkillInvocation
from extractors.trajectory import ROOT_AGENT, ToolCall
from judge.redaction import Redaction, without_broken_mark

SHORT = 160
"""Longest piece of an argument, error or answer that an explanation repeats, in characters."""

_KNOWN = Redaction()
_LAST_WORD = re.compile(r"[A-Za-z0-9_]*\Z")


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
    """One line of at most `SHORT` characters; what was left out is counted.

    Explanations leave the process, after a look for secrets that finds whole ones. So none of a well-known shape is cut
    here, nor any word: what settings say of other secrets is not known here, and few have spaces in them.
    """
    line = _line(text[: 4 * SHORT])
    if len(text) > 4 * SHORT or len(line) > SHORT:
        line = _line(_KNOWN.cut_before(text, 4 * SHORT))
    if len(text) <= 4 * SHORT and len(line) <= SHORT:
        return line
    kept = without_broken_mark(line[:SHORT])
    if kept == line[:SHORT] and line[SHORT - 1 : SHORT + 1].isalnum():
        kept = _LAST_WORD.sub("", kept)
    return f"{kept}… ({max(1, len(text) - len(kept))} more characters)"


def _line(text: str) -> str:
    return " ".join(text.split())
