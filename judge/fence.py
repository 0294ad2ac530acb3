"""What agents wrote, made safe to put between tags in a prompt.

Inside a fence every `<` is written `&lt;` and every `&` `&amp;`, so that no text can close its fence, open
another, or pass for a remark of ours. The text can be got back exactly. Half characters (lone surrogates), which no
UTF-8 request can carry, are written `&#xD800;`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from judge.redaction import NOTHING, Redaction, Secret, mark

_HALF = re.compile("[\ud800-\udfff]")
_HALVES = {code: f"&#x{code:04X};" for code in range(0xD800, 0xE000)}
_ENTITY = re.compile(r"&(?:amp|lt|#x(?P<code>[0-9A-F]{4}));")
_LEFT_OUT = re.compile(r'<left_out characters="(?P<count>[0-9]+)"/>')
LONGEST_ENTITY = 8


class Markup(str):
    """Text that is safe between tags: built here and from prompt files only, never from telemetry."""

    __slots__ = ()


def escape(text: str) -> Markup:
    """The text, unable to form a tag."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;")
    # Looked for first: a table makes a text of nothing but halves cheap, and every other one dear.
    return Markup(safe.translate(_HALVES) if _HALF.search(safe) else safe)


def unescape(text: str) -> str:
    """What `escape` was given."""

    def original(entity: re.Match[str]) -> str:
        if entity["code"]:
            return chr(int(entity["code"], 16))
        return "&" if entity[0] == "&amp;" else "<"

    return _ENTITY.sub(original, text)


def fence(tag: str, text: str, most_bytes: int | None = None, redaction: Redaction = NOTHING) -> Markup:
    """`<tag>` around the escaped text. Of a text over `most_bytes` the middle is left out, and a tag that no text
    can imitate says how many characters that were. What is left out is not missed by `redaction`, which masks the
    secrets of a text that is cut: half of one would not be known for what it is."""
    inside = escape(text) if most_bytes is None else _fitting(text, most_bytes, redaction)
    return Markup(f"<{tag}>{inside}</{tag}>")


def element(tag: str, *parts: Markup) -> Markup:
    """`<tag>` around parts that are safe already, one a line."""
    return Markup("\n".join((f"<{tag}>", *parts, f"</{tag.split(maxsplit=1)[0]}>")))


def unfence(fenced: str) -> tuple[str, str]:
    """(tag, text) that `fence` was given, for text that was not cut."""
    tag, _, rest = fenced[1:].partition(">")
    return tag, unescape(rest.removesuffix(f"</{tag}>"))


def left_out(fenced: str) -> int:
    """How many characters the marks in a fenced text say were left out."""
    return sum(int(mark["count"]) for mark in _LEFT_OUT.finditer(fenced))


def size(text: str) -> int:
    """Bytes in UTF-8; the text must be safe."""
    return len(text.encode())


def _fitting(text: str, most_bytes: int, redaction: Redaction) -> str:
    # Escaping never shortens, so a text of more characters than bytes need not be escaped whole.
    if len(text) <= most_bytes and size(safe := escape(text)) <= most_bytes:
        return safe
    # The beginning of a text says what it is, the end what came of it; the end is often a closing bracket.
    first = most_bytes * 2 // 3
    last = most_bytes - first
    head, begun = _head(text, first, redaction)
    tail, rest = _tail(text, begun, last, redaction)
    return f'{head}<left_out characters="{rest - begun}"/>{tail}'


def _head(text: str, most: int, redaction: Redaction) -> tuple[str, int]:
    """The beginning, escaped and masked, in `most` bytes; and where in the text it ends."""
    near = text[: most + redaction.reach]
    kept, room, done = "", most, 0
    for start, end, stands_for in _pieces(near, redaction.secrets(near)):
        if start >= most:
            break
        piece = stands_for or _begun(near[start : min(end, most)], room)
        if size(piece) > room:
            break
        kept, room = kept + piece, room - size(piece)
        done = end if stands_for else start + len(unescape(piece))
        if done < end:
            break
    return kept, done


def _tail(text: str, begun: int, most: int, redaction: Redaction) -> tuple[str, int]:
    """The end, escaped and masked, in `most` bytes; and where in the text it begins, not before `begun`."""
    begin = max(begun, len(text) - most)
    offset = max(0, begin - redaction.reach)
    near, begin, begun = text[offset:], begin - offset, begun - offset
    kept, room, done = "", most, len(near)
    for start, end, stands_for in reversed(_pieces(near, redaction.secrets(near))):
        if end <= begin:
            break
        piece = stands_for or _ended(near[max(start, begin) : end], room)
        if size(piece) > room:
            break
        kept, room = piece + kept, room - size(piece)
        done = max(start, begun) if stands_for else end - len(unescape(piece))
        if done > start:
            break
    return kept, offset + done


def _pieces(text: str, found: Sequence[Secret]) -> list[tuple[int, int, str]]:
    """(start, end, mark) of secrets and of what stands between them; that has no mark."""
    pieces, done = [], 0
    for secret in found:
        pieces += [(done, secret.start, ""), (secret.start, secret.end, mark(secret.kind))]
        done = secret.end
    return [piece for piece in (*pieces, (done, len(text), "")) if piece[0] < piece[1]]


def _begun(text: str, most: int) -> str:
    """As much of the escaped text as fits, from the beginning."""
    return _without_broken_end(escape(text[:most]).encode()[:most].decode(errors="ignore"))


def _ended(text: str, most: int) -> str:
    """As much of the escaped text as fits, from the end."""
    raw = escape(text[max(0, len(text) - most) :]).encode()
    if len(text) <= most and len(raw) <= most:
        return raw.decode()
    return _without_broken_start(raw[max(0, len(raw) - most) :].decode(errors="ignore"))


def _without_broken_end(head: str) -> str:
    start = head.rfind("&", max(0, len(head) - LONGEST_ENTITY))
    return head[:start] if start >= 0 and ";" not in head[start:] else head


def _without_broken_start(tail: str) -> str:
    """Without the rest of an entity that began before. Losing some characters more does no harm: they are counted."""
    end = tail.find(";", 0, LONGEST_ENTITY)
    return tail[end + 1 :] if end >= 0 and "&" not in tail[:end] else tail
