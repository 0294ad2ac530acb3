"""What a session repeats, read once.

Every request to a model repeats the conversation so far, its system prompt and its tools. Texts are therefore
remembered while one session is read, and forgotten with it. Results are shared: nobody may change them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, TypeVar

SHORTEST: Final = 64
"""Characters of a text below which reading is as quick as remembering."""

MOST: Final = 8_000_000
"""Characters remembered for one session; what comes after them is read as often as it is met."""

_UNREAD: Final[Any] = object()

T = TypeVar("T")


@dataclass(slots=True)
class Memory:
    """Readings of one session, by reader and text. `latest` is for texts that continue others: their first
    characters → the last such text, and its reading."""

    readings: dict[tuple[Any, str], Any] = field(default_factory=dict)
    latest: dict[str, tuple[str, Any]] = field(default_factory=dict)
    room: int = MOST

    def keep(self, reader: object, text: str, reading: Any) -> bool:
        """Remember a reading if there is room for it; whether there was."""
        if self.room < len(text):
            return False
        self.room -= len(text)
        self.readings[reader, text] = reading
        return True


_MEMORY: ContextVar[Memory | None] = ContextVar("extractors.repetition", default=None)


@contextmanager
def remembered() -> Iterator[None]:
    """While inside, what `read_once` decorates reads each text once. May be nested: the outer one counts."""
    if _MEMORY.get() is not None:
        yield
        return
    token = _MEMORY.set(Memory())
    try:
        yield
    finally:
        _MEMORY.reset(token)


def memory() -> Memory | None:
    """What is remembered now; None outside `remembered`."""
    return _MEMORY.get()


def read_once(read: Callable[[str], T]) -> Callable[[str], T]:
    """The same function of a text, which must have no other effect and no other input."""

    @wraps(read)
    def reading(text: str) -> T:
        if len(text) < SHORTEST or (known := _MEMORY.get()) is None:
            return read(text)
        key = (read, text)
        found: T = known.readings.get(key, _UNREAD)
        if found is not _UNREAD:
            return found
        found = read(text)
        if known.room >= len(text):  # as `keep` does, with the key at hand
            known.room -= len(text)
            known.readings[key] = found
        return found

    return reading
