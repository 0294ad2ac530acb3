"""Recordings to sessions, with the very router, book and assembly that the server uses; in memory, no disk, no wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from collector.config import Config
from collector.errors import Malformed, TooLarge
from collector.journal.rows import NO_ROW, Row, RowKey, decode_key
from collector.recordings import Reading, Recorded, Unreadable
from collector.rules import session_names
from collector.sessions.assembly import assemble
from collector.sessions.book import Claim, Discarded, Policy, SessionBook
from collector.sessions.routing import Marks, Router
from extractors.spans import Session

_NOW_MS = 1_000_000
_IDLE_MS = 1_000
_EVER = 2**62


@dataclass(slots=True)
class Grouped:
    """What recordings hold. `received` = items in `sessions` + `own` + `no_session` + `rejected`, but for spans that
    were recorded twice."""

    sessions: list[Session] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    requests: int = 0
    received: int = 0
    own: int = 0
    no_session: int = 0
    rejected: int = 0
    causes: list[str] = field(default_factory=list)


def group(readings: Iterable[Reading], config: Config) -> Grouped:
    """The sessions in recordings, by first telemetry. Names and aliases of sessions come from the configuration;
    nothing is sampled out, cut by size, or closed before the recordings end."""
    grouped = Grouped()
    rows = _Rows()
    policy = Policy(
        idle_ms=_IDLE_MS,
        max_age_ms=_EVER,
        settle_ms=_IDLE_MS,
        max_spans=_EVER,
        max_bytes=_EVER,
        trace_is_session=config.sessions.without_id == "trace",
    )
    names = session_names(config)
    book = SessionBook(policy, _NOW_MS)
    router = Router(book, Marks(names=names))
    for reading in readings:
        match reading:
            case Unreadable():
                grouped.unreadable.append(reading)
            case Recorded():
                rows.add(_route(router, reading, grouped))
    closings = _close_all(book, _NOW_MS + 10 * _IDLE_MS)
    rows.add(book.take_rows()[0])
    for claim in closings:
        if not isinstance(claim, Claim):
            continue  # nothing is left to it
        own = [row for head in claim.heads for row in rows.chain(head)]
        neighbours = [row for head in claim.neighbours for row in rows.chain(head)]
        grouped.sessions.append(assemble(claim, own, neighbours, names))
    grouped.sessions.sort(key=_first_ns)
    return grouped


def _close_all(book: SessionBook, now_ms: int) -> list[Claim | Discarded | None]:
    closings: list[Claim | Discarded | None] = []
    while True:
        closings += [book.close(ref, reason, now_ms) for ref, reason in book.due(now_ms)]
        if not book.behind:
            return closings


def _route(router: Router, recorded: Recorded, grouped: Grouped) -> list[Row]:
    grouped.requests += 1
    try:
        routed = router.route(recorded.signal, recorded.payload, "", _NOW_MS)
    except (Malformed, TooLarge) as error:
        grouped.unreadable.append(Unreadable(recorded.where, str(error)))
        return []
    grouped.received += routed.received
    grouped.own += routed.own
    grouped.no_session += routed.no_session
    grouped.rejected += routed.rejected
    if routed.cause:
        grouped.causes.append(f"{recorded.where}: {routed.cause}")
    return routed.rows


def _first_ns(session: Session) -> tuple[int, str]:
    times = [*(span.start_ns for span in session.spans), *(record.time_ns for record in session.records)]
    return min(times, default=0), session.session_id


class _Rows:
    """What the journal keeps, in a dict."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[RowKey, bytes]] = {}

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            key = decode_key(row[0])
            self._rows[key.row] = (key, b"".join(row[1]))

    def chain(self, last_row: int) -> list[tuple[RowKey, bytes]]:
        """A session's or trace's rows, oldest first."""
        found = []
        row = last_row
        while row != NO_ROW:
            found.append(self._rows[row])
            row = self._rows[row][0].before
        return found[::-1]
