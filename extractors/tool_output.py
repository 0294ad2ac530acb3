"""What tools put around the text of a file or command that they return."""

from __future__ import annotations

import re
from typing import Final

SUCCESS: Final = frozenset({0, 141})
"""Exit codes of a command that printed what it was asked for; 141 when its reader, as in `| head`, had enough."""

_LINES: Final = re.compile(r"@@ lines \d{1,9}-\d{1,9} of \d{1,9} @@\n")
_EXIT_CODE: Final = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,9})")
_OUTPUT: Final = "Output:"
_HEADER_LINES: Final = 10
_HEADS: Final = ("Chunk ID:", "Wall time:", "Exit code:", "Process exited with code ")


def printed(text: str) -> str | None:
    """The text alone, without a first line that counts lines or a header that ends in a line `Output:`; None when
    the header says that the command failed."""
    counted = _LINES.match(text)
    if counted is not None:
        return text[counted.end() :]
    if not text.startswith(_HEADS):
        return text
    lines = text.split("\n", _HEADER_LINES)
    if _OUTPUT not in lines[:_HEADER_LINES]:
        return text
    at = lines.index(_OUTPUT)
    codes = [int(code[1]) for line in lines[:at] if (code := _EXIT_CODE.match(line)) is not None]
    return "\n".join(lines[at + 1 :]) if SUCCESS.issuperset(codes) else None
