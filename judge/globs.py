"""Patterns that people write in suites: `*` stands for any text, everything else for itself.

No regular expressions: telemetry is written by strangers, and some expressions take exponential time on some texts.
"""

from __future__ import annotations

from functools import lru_cache


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text fits the pattern, case-sensitive. `\\*` is a star, `\\\\` a backslash.

    Time is that of one search through the text for each part between stars.
    """
    first, *rest = _parts(pattern)
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    position = len(first)
    for part in middle:
        # The leftmost place for each part leaves the most room for the parts that follow.
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return len(text) - len(last) >= position and text.endswith(last)


def contains(needle: str, text: str) -> bool:
    """Whether the text has the needle somewhere; letter case and kinds of white space do not matter."""
    return _folded(needle) in _folded(text)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


@lru_cache(maxsize=1024)
def _parts(pattern: str) -> tuple[str, ...]:
    """The literal texts between the stars."""
    parts = [""]
    characters = iter(pattern)
    for character in characters:
        if character == "*":
            parts.append("")
        elif character == "\\":
            parts[-1] += next(characters, "\\")
        else:
            parts[-1] += character
    return tuple(parts)
