"""From the rows of a closed session to the session: decode, and in a trace that several sessions share, keep to
one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from collector.journal.rows import RowKey, signal_of, split_names
from collector.otlp.decode import decode_session
from collector.sessions.book import Claim
from collector.sessions.keys import Kind, Owner, SessionNames
from extractors.spans import LogRecord, Session, Span
from judge.verdict import SessionRef

_Rows = Sequence[tuple[RowKey, bytes]]
_HomeOf: TypeAlias = Callable[[Span | LogRecord], str | None]
"""The session an item belongs to, by name."""


def assemble(claim: Claim, own: _Rows, neighbours: _Rows, names: SessionNames) -> Session:
    """The session as it was when it was closed.

    `own` are the rows of the session and of the traces it reads, `neighbours` those of other sessions that read the
    same traces; rows behind the closing are left out. `names` are the attributes that may name a session.
    The result does not depend on the order in which rows were written, but for what came for neighbours that take
    nothing more: nobody judges it, so it counts as lost here.
    """
    owner = _owner(claim, own)
    session = _decode(owner, own, claim.upto)
    if not neighbours:
        return session
    everyone = _decode(owner, [*own, *neighbours], claim.upto)
    homes = homes_of(everyone.spans, names)
    first = _first_names(everyone.spans, names)

    def home_of(item: Span | LogRecord) -> str | None:
        trace_id, span_id = item.trace_id or "", item.span_id or ""
        return own_name(item, names) or homes.get((trace_id, span_id)) or first.get(trace_id)

    def belongs(item: Span | LogRecord) -> bool:
        home = home_of(item)
        return home is None or home == owner[0]

    kept = replace(
        session,
        spans=tuple(filter(belongs, everyone.spans)),
        records=tuple(filter(belongs, everyone.records)),
    )
    return _without_nobodys(kept, *_nobodys(claim, owner[1], own, home_of)) if claim.sated else kept


def _without_nobodys(session: Session, spans: int, records: int) -> Session:
    """Told that so many items of its traces are judged nowhere."""
    if not spans and not records:
        return session
    note = (
        f"left out, and judged nowhere: what came for sessions that share its traces and were full by then, {spans} "
        f"spans and {records} log records"
    )
    return replace(
        session,
        notes=(*session.notes, note),
        lost_spans=session.lost_spans + spans,
        lost_records=session.lost_records + records,
    )


def _nobodys(claim: Claim, tenant: str, own: _Rows, home_of: _HomeOf) -> tuple[int, int]:
    """How many spans and records are parked in its traces that came for neighbours after these had closed for good."""
    closed_ms = dict(claim.sated)
    spans: dict[tuple[str, str], bool] = {}
    records = 0
    for key, value in own:
        if key.kind != Kind.TRACE:
            continue
        row = _decode(("", tenant), [(key, value)], claim.upto)

        def too_late(item: Span | LogRecord, at_ms: int = key.at_ms) -> bool:
            home = Owner(Kind.SESSION, home_of(item) or "", tenant)
            return at_ms > closed_ms.get(home.digest, at_ms)

        for span in row.spans:
            place = span.trace_id, span.span_id
            spans[place] = spans.get(place, True) and too_late(span)  # one that was sent again had come in time
        records += sum(map(too_late, row.records))
    return sum(spans.values()), records


def _owner(claim: Claim, own: _Rows) -> tuple[str, str]:
    """Session id and tenant, from the head of any of its rows."""
    value = next(value for key, value in own if key.digest == claim.digest)
    owner, _ = split_names(value, claim.kind)
    return owner.name, owner.tenant


def absorbed(claim: Claim, own: _Rows) -> tuple[SessionRef, ...]:
    """The traces of `Claim.absorbed` by name, with the revision each would have next."""
    revisions = dict(claim.absorbed)
    owners = {key.digest: split_names(value, key.kind)[0] for key, value in own if key.digest in revisions}
    return tuple(SessionRef(owner.name, revisions[digest], owner.tenant) for digest, owner in owners.items())


def _decode(owner: tuple[str, str], rows: _Rows, upto: int) -> Session:
    bodies: dict[str, list[bytes]] = {"traces": [], "logs": []}
    for key, value in sorted(rows, key=lambda row: row[0].row):
        if key.row < upto:
            bodies[signal_of(key.flags)].append(split_names(value, Kind(key.kind))[1])
    return decode_session(owner[0], bodies["traces"], bodies["logs"], owner[1])


def own_name(item: Span | LogRecord, names: SessionNames) -> str | None:
    """The session that an item's own attributes name; the decoded twin of `keys.named_by`."""
    for name in names.of(item.scope.name):
        value = item.attributes.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def homes_of(spans: Sequence[Span], names: SessionNames) -> Mapping[tuple[str, str], str]:
    """(trace id, span id) → session, for the spans of traces that name any.

    A span that names a session goes there; another follows its nearest ancestor that names one, else the trace's
    first name in order of span start. Parents that never arrived, and parents in a circle, are no ancestors.
    """
    named = {(span.trace_id, span.span_id): own_name(span, names) for span in spans}
    parents = {(span.trace_id, span.span_id): span.parent_id for span in spans}
    first = _first_names(spans, names)
    homes: dict[tuple[str, str], str] = {}
    for span in spans:
        place: tuple[str, str] | None = (span.trace_id, span.span_id)
        seen: set[tuple[str, str]] = set()
        home: str | None = None
        while place is not None and place in named and place not in seen and home is None:
            seen.add(place)
            home = named[place] or homes.get(place)
            parent = parents[place]
            place = (place[0], parent) if parent is not None else None
        home = home or first.get(span.trace_id)
        if home is not None:
            homes[span.trace_id, span.span_id] = home
    return homes


def _first_names(spans: Sequence[Span], names: SessionNames) -> dict[str, str]:
    """Trace id → the first session name in it by span start, then span id."""
    first: dict[str, str] = {}
    for span in sorted(spans, key=lambda span: (span.start_ns, span.span_id)):
        name = own_name(span, names)
        if name is not None:
            first.setdefault(span.trace_id, name)
    return first
