"""Damages a session as emitters, limits, networks and attackers do. Every damage is chosen by the given `Random`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from extractors.spans import Attributes, LogRecord, Session, Span, Value

DEEP = 10_000
LONG = 300_000
LAST_NS = 2**63 - 1
ODD_VALUES: tuple[Value, ...] = (
    *(None, True, False, 0, -1, 2**63, 1.5, float("nan"), b"\xff\x00", "", " ", "\n", "\x00", "\udcff", "null", "NaN"),
    *("[]", "{}", "[[]]", '[{"parts": 3}]', '{"role": {}}', "{'a': 1}", "[1, 2", '"', "[" * DEEP + "]" * DEEP),
    *(
        '{"parts":' * DEEP + "1" + "}" * DEEP,
        [],
        {},
        [None, 3, "x"],
        {"": None},
        [[{"parts": [[]]}]],
        {"role": ["user"]},
    ),
)
TIMES = (0, 1, LAST_NS)

Damage = Callable[[Session, Random], Session]


def _attributes(attributes: Attributes, chance: Random, change: Callable[[Value, Random], Value]) -> Attributes:
    """The attributes, about a third of them changed."""
    return {key: change(value, chance) if chance.random() < 0.3 else value for key, value in attributes.items()}


def _values(session: Session, chance: Random, change: Callable[[Value, Random], Value]) -> Session:
    """The session, about a third of all values in it changed."""
    return replace(
        session,
        spans=tuple(_values_of_span(span, chance, change) for span in session.spans),
        records=tuple(
            replace(
                record,
                attributes=_attributes(record.attributes, chance, change),
                body=change(record.body, chance) if chance.random() < 0.3 else record.body,
            )
            for record in session.records
        ),
    )


def _values_of_span(span: Span, chance: Random, change: Callable[[Value, Random], Value]) -> Span:
    events = tuple(replace(one, attributes=_attributes(one.attributes, chance, change)) for one in span.events)
    return replace(span, attributes=_attributes(span.attributes, chance, change), events=events)


def cut(session: Session, chance: Random) -> Session:
    """Texts end anywhere, as under an attribute length limit."""
    return _values(
        session, chance, lambda value, at: value[: at.randrange(len(value) + 1)] if isinstance(value, str) else value
    )


def of_other_types(session: Session, chance: Random) -> Session:
    """Values are of any type, nested, deep, empty or no text at all."""
    return _values(session, chance, lambda _, at: at.choice(ODD_VALUES))


def garbled(session: Session, chance: Random) -> Session:
    """Texts have characters changed, so that JSON means something else."""
    return _values(session, chance, _garbled)


def _garbled(value: Value, chance: Random) -> Value:
    if not isinstance(value, str) or not value:
        return value
    at = chance.randrange(len(value))
    return value[:at] + chance.choice('"{}[]:,\\ntfx\udcff\x00') + value[at + chance.randrange(3) :]


def swapped(session: Session, chance: Random) -> Session:
    """Values stand under each other's keys."""
    pool = [value for span in session.spans for value in span.attributes.values()]
    pool += [value for record in session.records for value in record.attributes.values()]
    return _values(session, chance, lambda value, at: at.choice(pool) if pool else value)


def huge(session: Session, chance: Random) -> Session:
    """One value is long: a repeated text, a list or an object of many members."""
    filler: Sequence[Value] = (
        "x" * LONG,
        "[" + "1," * LONG + "1]",
        "a\n" * LONG,
        "<skill>" * (LONG // 7),
        "---\n" * LONG,
    )
    items = [one for one in session.spans if one.attributes]
    if not items:
        return session
    victim = chance.choice(items)
    key = chance.choice(sorted(victim.attributes))
    changed = replace(victim, attributes={**victim.attributes, key: chance.choice(filler)})
    return replace(session, spans=tuple(changed if span is victim else span for span in session.spans))


def of_other_times(session: Session, chance: Random) -> Session:
    """Clocks are wrong: ends before starts, no time, the end of time."""

    def instant(usual_ns: int) -> int:
        return chance.choice((usual_ns, usual_ns, usual_ns - 10**9, *TIMES))

    return replace(
        session,
        spans=tuple(
            replace(span, start_ns=instant(span.start_ns), end_ns=instant(span.end_ns)) for span in session.spans
        ),
        records=tuple(
            replace(one, time_ns=instant(one.time_ns), observed_ns=instant(one.observed_ns)) for one in session.records
        ),
    )


def of_other_parents(session: Session, chance: Random) -> Session:
    """Spans have parents that are their children, themselves, in no trace, or none."""
    ids = [span.span_id for span in session.spans]

    def parent(span: Span) -> Span:
        return replace(
            span, parent_id=chance.choice([span.parent_id, span.span_id, None, "f" * 16, chance.choice(ids)])
        )

    return replace(session, spans=tuple(map(parent, session.spans)))


def with_ids_twice(session: Session, chance: Random) -> Session:
    """Different spans have one id."""
    ids = [(span.trace_id, span.span_id) for span in session.spans]
    if not ids:
        return session
    named = [
        (span, chance.choice(ids) if chance.random() < 0.3 else (span.trace_id, span.span_id)) for span in session.spans
    ]
    return replace(session, spans=tuple(replace(span, trace_id=trace, span_id=own) for span, (trace, own) in named))


def dropped(session: Session, chance: Random) -> Session:
    """Some spans and records never came; sometimes all of one kind."""
    share = chance.choice((0.1, 0.5, 0.9))
    spans = tuple(span for span in session.spans if chance.random() > share)
    records = tuple(record for record in session.records if chance.random() > share)
    return replace(session, spans=chance.choice((spans, session.spans, ())), records=chance.choice((records, ())))


def without_keys(session: Session, chance: Random) -> Session:
    """Attributes are missing."""

    def thinned(attributes: Attributes) -> Attributes:
        return {key: value for key, value in attributes.items() if chance.random() > 0.2}

    def record_without(record: LogRecord) -> LogRecord:
        name = record.event_name if chance.random() > 0.1 else None
        return replace(record, attributes=thinned(record.attributes), event_name=name)

    return replace(
        session,
        spans=tuple(replace(span, attributes=thinned(span.attributes)) for span in session.spans),
        records=tuple(map(record_without, session.records)),
    )


DAMAGES: tuple[Damage, ...] = (
    cut, of_other_types, garbled, swapped, huge, of_other_times, of_other_parents, with_ids_twice, dropped, without_keys
)  # fmt: skip
