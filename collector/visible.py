"""What agents wrote, for people: nothing that cannot be seen, and nothing that changes how the rest is read (pure)."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS = "\u200d\u200c"  # parts of words and of emoji, harmless
_MAYBE = re.compile(r"[^\x20-\x7e\n]")


def spelled(character: str) -> str:
    """The character, or its code (`\\x1b`, `\\u202e`) where it is a control or invisible formatting character."""
    if character in _JOINERS or unicodedata.category(character) not in _UNSEEN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text with every such character spelled out; line breaks and tabs stay."""
    lines = text.replace("\r\n", "\n")
    return _MAYBE.sub(lambda found: found[0] if found[0] == "\t" else spelled(found[0]), lines)
