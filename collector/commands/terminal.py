"""Text for a terminal. What agents wrote is data there too: no control sequence of theirs reaches the screen, and
none of it is read as markup."""

from __future__ import annotations

import sys
from typing import Literal

from rich.console import Console
from rich.text import Text

from collector.visible import spelled

NOT_RECORDED = "not recorded"
LONG = 400
"""Characters of a text that are shown before it is cut."""

_LINE_BREAK = " ⏎ "


def console(*, to: Literal["stdout", "stderr"] = "stdout") -> Console:
    """Wraps and colours on a terminal; elsewhere one line stays one line, for grep."""
    stream = sys.stdout if to == "stdout" else sys.stderr
    terminal = stream.isatty()
    return Console(
        file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True, width=None if terminal else 160
    )


def safe(text: str) -> str:
    """The text on one line, with line breaks shown and every control or invisible formatting character spelled out
    (`\\x1b`, `\\u202e`)."""
    lines = text.replace("\r\n", "\n").replace("\n", _LINE_BREAK).replace("\t", " ")
    return "".join(spelled(character) for character in lines)


def short(text: str, most: int = LONG) -> str:
    """`safe`, cut after so many characters; says how many are left out."""
    line = safe(text[: 4 * most])
    if len(text) <= 4 * most and len(line) <= most:
        return line
    kept = line[:most]
    return f"{kept}… ({len(text) - len(kept):,} more characters)" if len(text) > len(kept) else f"{kept}…"


def recorded(text: str | None, most: int = LONG) -> str:
    """`short`, where None and "" are different facts."""
    if text is None:
        return NOT_RECORDED
    return short(text, most) if text else "(empty)"


def duration(nanoseconds: int) -> str:
    """`850 ms`, `3.2 s`, `4 min 05 s`."""
    if nanoseconds < 1_000_000_000:
        return f"{nanoseconds / 1e6:.0f} ms"
    seconds = nanoseconds / 1e9
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def styled(*parts: str | tuple[str, str]) -> Text:
    """One line of texts and (text, style) pairs; no markup is read in any of them."""
    return Text.assemble(*parts)
