"""Texts of a session as the page shows them: secrets masked, long ones cut, nothing unseen (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from collector.page.addresses import address, closing_query
from collector.visible import spelled, visible
from judge.redaction import Redaction
from judge.verdict import SessionRef

LONG = 1_200
"""Characters of a text before it is cut, with a link to all of it."""
LINES = 40
"""Lines of a text before it is cut likewise."""
NAME = 120
"""Characters of a name."""


@dataclass(frozen=True, slots=True)
class Piece:
    """`text` is None where nothing was recorded. `left_out` characters are behind `url`."""

    text: str | None
    left_out: int = 0
    url: str = ""

    @property
    def short(self) -> bool:
        return self.text is not None and len(self.text) <= 80 and "\n" not in self.text


NOT_RECORDED = Piece(None)


@dataclass(frozen=True, slots=True)
class Texts:
    """Of one closing; `redaction` masks what they hold."""

    ref: SessionRef
    redaction: Redaction

    def piece(self, text: str | None, of: str, most: int = LONG) -> Piece:
        """`of` names the text within the session, as `call.3.result`."""
        if text is None:
            return NOT_RECORDED
        most = min(most, _end_of_line(text, LINES))
        left_out = max(0, len(text) - most)
        url = address("/text", {**closing_query(self.ref), "of": of})
        return Piece(visible(self.redaction.cut_before(text, most)), left_out, url if left_out else "")

    def whole(self, text: str) -> str:
        return visible(self.redaction.text(text))

    def identifier(self, text: str, most: int = NAME) -> str:
        """With line breaks spelled out as well: two ids look like two."""
        line = "".join(map(spelled, self.redaction.cut_before(text, most))) or '""'
        return f"{line}…" if len(text) > most else line

    def name(self, text: str, most: int = NAME) -> str:
        """On one line, and never empty."""
        line = visible(" ".join(self.redaction.cut_before(text, most).split())) or '""'
        return f"{line}…" if len(text) > most else line


def _end_of_line(text: str, number: int) -> int:
    """Where that line ends, counted from 1; the end of a text that has fewer."""
    at = -1
    for _ in range(number):
        at = text.find("\n", at + 1)
        if at < 0:
            return len(text)
    return at
