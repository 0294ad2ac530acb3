"""Which regular expressions may be run on text that strangers write: those whose time cannot explode.

Python's engine backtracks. An expression is taken only if it has no repeated group, no look-around and no
back-reference, and if the ways to match it (the start, each repetition, each alternative) multiply to no more than
`MOST_WAYS` for a text of `MOST_TEXT` characters.
"""

from __future__ import annotations

import re
from functools import lru_cache

MOST_PATTERN = 300
MOST_TEXT = 1_000
MOST_WAYS = 1_000_000
_AMBIGUOUS = ("[[", "--", "&&", "~~", "||")
"""Set operations in some dialects; Python warns, on the log, that it may read them otherwise one day."""

_TOKEN = re.compile(
    r"(?P<back>\\[1-9k])|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<odd>\(\?(?!:))|\(|(?P<close>\))|(?P<either>\|)"
    r"|(?P<repeat>[*+?]|\{(?P<low>[0-9]*)(?P<comma>,?)(?P<high>[0-9]*)\})|.",
    re.DOTALL,
)


@lru_cache(maxsize=512)
def bounded_pattern(pattern: str) -> re.Pattern[str] | None:
    """The expression, ready to search text of up to `MOST_TEXT` characters; None when it is broken or could explode.

    Classes such as `\\d` mean ASCII, as they do in JSON Schema.
    """
    if len(pattern) > MOST_PATTERN or any(odd in pattern for odd in _AMBIGUOUS) or ways(pattern) > MOST_WAYS:
        return None
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None


def ways(pattern: str) -> float:
    """An upper bound on the ways to match a text of `MOST_TEXT` characters; infinite when there is none."""
    # Without an anchor the engine starts again at every character.
    count = 1.0 if pattern.startswith("^") and "|" not in pattern else float(MOST_TEXT)
    after_group = False
    for token in _TOKEN.finditer(pattern):
        if token["odd"] is not None or token["back"] is not None:
            return float("inf")
        if token["either"] is not None:
            count *= 2
        if token["repeat"] is not None:
            if after_group and token["repeat"] != "?":
                return float("inf")
            count *= _choices(token)
        after_group = token["close"] is not None
    return count


def _choices(repeat: re.Match[str]) -> int:
    """How many numbers of repetitions there are to try."""
    match repeat["repeat"]:
        case "*" | "+":
            return MOST_TEXT
        case "?":
            return 2
    low = int(repeat["low"] or 0) if len(repeat["low"]) < 6 else 0
    if not repeat["comma"]:
        return 1 if repeat["low"] else MOST_TEXT
    high = int(repeat["high"]) if repeat["high"] and len(repeat["high"]) < 6 else MOST_TEXT
    return max(1, min(high - low + 1, MOST_TEXT))
