"""What a command prints, as far as it can be told without running it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class FileText:
    """Text of a file. `path` may hold wildcards; then it is the text of every file that fits.

    `first` is the number of its first line, None when unknown; `last` that of the last line asked for, None for the
    end. `cut`: lines may be missing or changed beyond that. `maybe`: it is printed only in some cases.
    """

    path: str
    first: int | None = 1
    last: int | None = None
    cut: bool = False
    maybe: bool = False


@dataclass(frozen=True, slots=True)
class OtherText:
    """Anything else. `text` is None when only the run could tell; `paths` are files that it names."""

    text: str | None = None
    paths: tuple[str, ...] = ()
    maybe: bool = False


Printed: TypeAlias = FileText | OtherText


@dataclass(frozen=True, slots=True)
class Part:
    """What a command shows of a file or of its input: lines `first` to `last`, as in `FileText`."""

    first: int | None = 1
    last: int | None = None
    cut: bool = False

    @property
    def whole(self) -> bool:
        return self == WHOLE

    def of(self, text: FileText) -> FileText:
        """This part of a file's text."""
        if self.whole:
            return text
        if text.first == 1 and text.last is None and not text.cut:
            return replace(text, first=self.first, last=self.last, cut=self.cut)
        return replace(text, cut=True)

    def of_all(self, given: Sequence[Printed]) -> list[Printed]:
        """This part of several texts in a row. All but the first of them may be cut off whole."""
        if self.whole or not given:
            return list(given)
        shown = [one for one in given if isinstance(one, FileText)]
        if len(given) == 1:
            return [self.of(one) for one in shown] or [OtherText()]
        return [replace(one, cut=True, maybe=one is not given[0]) if one in shown else OtherText() for one in given]


WHOLE = Part()


def names_in(given: Iterable[Printed]) -> tuple[str, ...]:
    """The files that a text lists, blank-separated where the text itself is known."""
    found: list[str] = []
    for one in given:
        if isinstance(one, OtherText):
            found += one.paths or (one.text or "").split()
    return tuple(found)
