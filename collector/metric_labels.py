"""Label values that telemetry decides about: cleaned, cut, and bounded in number."""

from __future__ import annotations

import re
from collections.abc import Callable

OTHER = "other"
"""Stands for every value past the bound."""

MAX_VALUES = 200
MAX_SERIES = 10_000
MAX_HISTOGRAMS = 1_000
"""Combinations of a histogram's labels: each has a series for every bucket."""
MAX_LENGTH = 128
EXEMPLAR_CHARACTERS = 128
"""OpenMetrics 1.0: names and values of one exemplar together."""

_ESCAPED = frozenset('\\"')

# Surrogates too: one lone half of a pair would make every later scrape fail to encode. And what turns the direction of
# writing, or takes no room: a name must not look like another one on a dashboard. Joiners stay, which words are spelt
# with.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_READ = 8 * MAX_LENGTH
"""Characters that are looked at: a value may be as long as a request."""


def clean(value: str | None) -> str:
    """The value as one printable line of at most `MAX_LENGTH` characters; empty for None."""
    return _UNPRINTABLE.sub("", (value or "")[:_READ])[:MAX_LENGTH]


def exemplar_of(trace_id: str | None, session_id: str | None) -> dict[str, str] | None:
    """Trace and session, as far as they fit; the client library raises for an exemplar that is too long."""
    exemplar: dict[str, str] = {}
    room = EXEMPLAR_CHARACTERS
    for name, value in (("trace_id", trace_id), ("session_id", session_id)):
        # An id that had to be changed would lead nowhere, so one that does not survive cleaning is left out, and what
        # is written with an escape: Prometheus (2.42 at least) keeps that in exemplars as it is.
        if value and clean(value) == value and not _ESCAPED & set(value) and len(name) + len(value) <= room:
            exemplar[name] = value
            room -= len(name) + len(value)
    return exemplar or None


class BoundedLabels:
    """Lets the first `MAX_VALUES` distinct values of each label through, and folds the rest into `OTHER`.

    `on_overflow(label)` is called for every value that was folded. The first come stay until restart: a value
    that came and went would leave a gap in its counters.
    """

    def __init__(self, on_overflow: Callable[[str], None], max_values: int = MAX_VALUES) -> None:
        self._on_overflow = on_overflow
        self._max_values = max_values
        self._seen: dict[str, set[str]] = {}

    def bound(self, label: str, value: str | None) -> str:
        text = clean(value)
        seen = self._seen.setdefault(label, set())
        if text in seen:
            return text
        if len(seen) >= self._max_values:
            self._on_overflow(label)
            return OTHER
        seen.add(text)
        return text


class BoundedSeries:
    """Bounds the number of combinations too: labels that are each within bounds can still multiply."""

    def __init__(self, on_overflow: Callable[[str], None], max_series: int = MAX_SERIES) -> None:
        self._on_overflow = on_overflow
        self._max_series = max_series
        self._seen: set[tuple[str, ...]] = set()

    def fits(self, values: tuple[str, ...]) -> bool:
        """False, and counted as label `series`, for a combination that is new when there is no room for it."""
        if values in self._seen:
            return True
        if len(self._seen) >= self._max_series:
            self._on_overflow("series")
            return False
        self._seen.add(values)
        return True
