"""Trajectories, questions and verdicts as JSON text and back.

What an agent recorded may hold what JSON cannot: half a surrogate pair, bytes that are no text, hundreds of nested
lists. Such values are replaced or cut, visibly, so that one odd argument never costs a session its verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Generic, TypeVar

import structlog
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from collector.store.store import ClosedSession, PendingQuestion, StoredQuestion, UnreadableQuestion
from judge.verdict import Judged

log = structlog.get_logger(__name__)

_Record = TypeVar("_Record")

MAX_DEPTH = 100
"""JSON readers give up near 200 levels; what is nested deeper than this is cut."""
CUT = "[nested too deeply to be kept]"


class RecordFormat(Generic[_Record]):
    """How one kind of record is written and read. Both directions accept what `tame` had to change."""

    def __init__(self, kind: type[_Record]) -> None:
        self._adapter = TypeAdapter(kind)

    def dump(self, record: _Record) -> str:
        try:
            return _json(record)
        except (PydanticSerializationError, RecursionError):
            return _json(tame(record))

    def load(self, text: str) -> _Record:
        """The record of a text from `dump`. Raises `pydantic.ValidationError` for any other text."""
        try:
            return self._adapter.validate_json(text)
        except ValidationError:
            # Depths between the writer's limit and the reader's end up here.
            return self._adapter.validate_json(_json(tame(json.loads(text))))


CLOSED_SESSION = RecordFormat(ClosedSession)
PENDING_QUESTION = RecordFormat(PendingQuestion)
JUDGED = RecordFormat(Judged)


def readable(kind: RecordFormat[_Record], text: str) -> _Record | None:
    """The record, or None, said in the log, where the file was damaged or an older version wrote something else: one
    such record must not stop what comes behind it."""
    try:
        return kind.load(text)
    except (ValidationError, ValueError, RecursionError) as error:
        log.error("stored_record_unreadable", error=type(error).__name__)  # noqa: TRY400 - its text may be content
        return None


def stored_question(question_id: str, text: str) -> StoredQuestion | None:
    """The question, or what is left of it; None when that is nothing. One that goes by another name than its row could
    never be settled."""
    question = readable(PENDING_QUESTION, text)
    if question is not None and question.id == question.draft.id == question_id:
        return question
    draft = _draft(text)
    return UnreadableQuestion(question_id, draft) if draft and draft.id == question_id else None


def _draft(text: str) -> Judged | None:
    """The verdict-to-be in the record of a question that cannot be read as a whole."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    draft = value.get("draft") if isinstance(value, dict) else None
    return None if draft is None else readable(JUDGED, json.dumps(draft))


def tame(value: object, depth: int = 0) -> object:
    """The same value in what JSON can hold: mappings with text keys, lists, encodable text, numbers, None."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if depth > MAX_DEPTH:
        return CUT
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: tame(getattr(value, field.name), depth + 1) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(tame(key)): tame(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [tame(item, depth + 1) for item in value]
    return value


def _json(value: object) -> str:
    return to_json(value, bytes_mode="base64", inf_nan_mode="strings", fallback=tame).decode()
