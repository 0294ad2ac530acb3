"""Answers that came in pieces: schema 2 tells every piece of a streamed answer as a message of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from extractors import attributes as at
from extractors.conventions.genai_content import DETAILS
from extractors.spans import Attributes, Session, Value


def with_whole_answers(session: Session) -> Session:
    """The same session; what one request answered is one message."""
    return replace(
        session,
        spans=tuple(replace(span, attributes=_whole(span.attributes)) for span in session.spans),
        records=tuple(
            replace(record, attributes=_whole(record.attributes)) if record.event_name == DETAILS else record
            for record in session.records
        ),
    )


def _whole(attributes: Attributes) -> Attributes:
    told = at.json_list(attributes, at.OUTPUT_MESSAGES) if at.OUTPUT_MESSAGES in attributes else None
    pieces = [body for message in told or () if (body := at.as_mapping(message)) is not None]
    if len(pieces) < 2:
        return attributes
    parts = [part for piece in pieces for part in at.as_list(piece.get("parts")) or ()]
    return {**attributes, at.OUTPUT_MESSAGES: [{**pieces[-1], "parts": list(_joined(parts))}]}


def _joined(parts: Sequence[Value]) -> Iterator[Value]:
    """Text parts that follow each other as one."""
    text: str | None = None
    for part in parts:
        body = at.as_mapping(part) or {}
        content = body.get("content")
        if body.get("type") == "text" and isinstance(content, str):
            text = (text or "") + content
            continue
        if text is not None:
            yield {"type": "text", "content": text}
            text = None
        yield part
    if text is not None:
        yield {"type": "text", "content": text}
