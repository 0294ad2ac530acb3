"""JSON text that was cut off somewhere: what stands before the cut.

Limits on attributes cut in the middle of a string, a number or a key. One pass over the text, so that the time spent
grows with its length and no faster.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from extractors.attributes import json_text, parse_json
from extractors.spans import Value

_BLANKS: Final = re.compile(r"[ \t\r\n]*+")
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BEGUN_STRING: Final = re.compile(r'"[^"\\]*+(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*+)*+', re.DOTALL)
_LITERAL: Final = re.compile(r'[^ \t\r\n,:"\[\]{}]++')
_ESCAPE: Final = len(r"\ud800")
_HALF: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
"""Half of a character that JSON writes as two escapes."""


@dataclass(slots=True)
class _Open:
    """An array or object that has not ended: what would end it, and where its last whole member ends."""

    end: str
    good: int
    at_key: bool


def salvaged(document: str, tail: str = "") -> Value:
    """The value of a JSON text that ends too early: whole members, and the beginning of a text that was being told.

    `tail` is added to that text, so that readers see where it was cut. A number or word that the cut may have
    shortened is left out. None when nothing can be read.
    """
    stack: list[_Open] = []
    at = _skip(document, 0)
    while at < len(document):
        mark = document[at]
        if mark in "{[":
            stack.append(_Open("}" if mark == "{" else "]", at + 1, mark == "{"))
            at += 1
        elif mark in ",:":
            if not stack:
                return None
            stack[-1].at_key = mark == "," and stack[-1].end == "}"
            at += 1
        else:
            whole = _token_end(document, at, stack)
            if whole is None:
                break
            at = whole
            if not stack:
                return parse_json(document[:at])
        at = _skip(document, at)
    if at < len(document) and document[at] == '"' and not (stack and stack[-1].at_key):
        return _with_begun_text(document, at, stack, tail)
    return _closed(document[: stack[-1].good], stack) if stack else None


def _skip(document: str, at: int) -> int:
    blanks = _BLANKS.match(document, at)
    return at if blanks is None else blanks.end()


def _token_end(document: str, at: int, stack: list[_Open]) -> int | None:
    """Where the text, word or bracket at this place ends; None when it is cut, or no JSON."""
    if document[at] in "}]":
        if not stack or stack.pop().end != document[at]:
            return None
        end = at + 1
    else:
        found = (_STRING if document[at] == '"' else _LITERAL).match(document, at)
        if found is None or (found.end() == len(document) and document[at] != '"'):
            return None
        end = found.end()
        if stack and stack[-1].at_key:
            return end
    if stack:
        stack[-1].good = end
    return end


def _with_begun_text(document: str, at: int, stack: list[_Open], tail: str) -> Value:
    begun = _BEGUN_STRING.match(document, at)
    end = at + 1 if begun is None else begun.end()
    rest = json_text(tail)[1:]
    if end - _ESCAPE > at and _HALF.match(document, end - _ESCAPE, end):
        value = _closed(document[: end - _ESCAPE] + rest, stack)
        if value is not None:  # else the backslash was escaped itself, and this is no half
            return value
    return _closed(document[:end] + rest, stack)


def _closed(document: str, stack: list[_Open]) -> Value:
    return parse_json(document + "".join(part.end for part in reversed(stack)))
