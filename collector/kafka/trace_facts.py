"""What routers write down of traces, so that whoever takes a partition over knows it too (pure).

A message of the topic of links holds what was news about some traces. It is JSON, for people to read it as well:
`{"version": 1, "traces": [[tenant, trace id in hex, [session ids], session id by resource or null, [numbers], given
out], ...]}`. The numbers come in twos: where telemetry stands that names no session, and how many items of the trace
are there. Facts about one trace only ever add up, so it does no harm to learn one twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import orjson

from collector.journal.rows import Signal
from collector.sessions.links import TraceKey

CURRENT_VERSION = 1
_TRACE_BYTES = 96  # of a fact, beyond its texts and numbers
_PLACE_BYTES = 24  # of a place and its count


class FactsUnreadable(ValueError):
    """A message of the topic of links that we did not write."""


class FactsOfAnotherVersion(ValueError):
    """One that another version of us has written: there is something to know, and we do not."""


@dataclass(frozen=True, slots=True)
class TraceFact:
    """Something learned of one trace. `places` is flat: a place (see `place`), a number of items, and so on. `given`:
    it was given out as a session of its own, or to the session that its resource names."""

    key: TraceKey
    names: tuple[str, ...] = ()
    by_resource: str | None = None
    places: Sequence[int] = ()
    given: bool = False

    @property
    def size(self) -> int:
        """Bytes it takes, at most."""
        texts = (self.key[0], *self.names, self.by_resource or "")
        return _TRACE_BYTES + sum(6 * len(text) + 4 for text in texts) + _PLACE_BYTES * len(self.places)


def place(signal: Signal, offset: int) -> int:
    """Where a message of a telemetry topic stands, within its partition."""
    return offset * 2 + (signal == "logs")


def stands_at(place: int) -> tuple[Signal, int]:
    """The reverse of `place`."""
    return ("logs" if place & 1 else "traces"), place >> 1


def encode_facts(facts: Iterable[TraceFact], most_bytes: int) -> Iterator[tuple[list[TraceKey], bytes]]:
    """Values of messages, none above `most_bytes` unless a single name is, each with the traces it tells of."""
    chunk: list[TraceFact] = []
    size = 0
    for fact in (piece for whole in facts for piece in _pieces(whole, most_bytes)):
        if chunk and size + fact.size > most_bytes:
            yield _encoded(chunk)
            chunk, size = [], 0
        chunk.append(fact)
        size += fact.size
    if chunk:
        yield _encoded(chunk)


def _pieces(fact: TraceFact, most_bytes: int) -> Iterator[TraceFact]:
    """One that is too large by itself in several: facts add up."""
    names, places = len(fact.names) // 2, len(fact.places) // 4 * 2
    if fact.size <= most_bytes or not (names or places):
        yield fact
        return
    yield from _pieces(replace(fact, names=fact.names[:names], places=fact.places[:places]), most_bytes)
    yield from _pieces(replace(fact, names=fact.names[names:], places=fact.places[places:]), most_bytes)


def _encoded(facts: Sequence[TraceFact]) -> tuple[list[TraceKey], bytes]:
    rows = [
        (fact.key[0], fact.key[1].hex(), fact.names, fact.by_resource, list(fact.places), fact.given) for fact in facts
    ]
    return [fact.key for fact in facts], orjson.dumps({"version": CURRENT_VERSION, "traces": rows})


def decode_facts(value: bytes) -> list[TraceFact]:
    """Raises `FactsUnreadable` or `FactsOfAnotherVersion`."""
    try:
        told = orjson.loads(value)
        version, traces = told["version"], told["traces"] if told["version"] == CURRENT_VERSION else ()
        facts = [
            TraceFact(
                (str(tenant), _trace_id(trace)),
                tuple(map(str, names)),
                by_resource if by_resource is None else str(by_resource),
                _places(places),
                bool(given),
            )
            for tenant, trace, names, by_resource, places, given in traces
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise FactsUnreadable(f"no facts about traces: {error!r}") from error
    if version != CURRENT_VERSION:
        raise FactsOfAnotherVersion(f"facts of version {version!r}, {CURRENT_VERSION} expected")
    return facts


def _trace_id(told: str) -> bytes:
    """Raises ValueError for what is none."""
    trace = bytes.fromhex(told)
    if len(trace) != 16:
        raise ValueError("no trace id")
    return trace


def _places(told: Sequence[int]) -> tuple[int, ...]:
    """Raises ValueError for what are none."""
    places = tuple(map(int, told))
    if len(places) % 2 or not all(0 <= number < 2**63 for number in places):
        raise ValueError("no places")
    return places
