"""What the topic of verdicts says of a session: how far it was closed, and what was found (pure).

A record is written before a closing is evaluated, so that whoever takes the session over closes it at the same place,
with the same number and time, and again when verdicts are durable. The newest record of a session says everything:
the topic is compacted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from collector.sessions.keys import Kind, Owner
from judge.verdict import Judged, NotApplicable, NotJudged, Score

_VERSION = 1
_PENDING = "pending"
_MOST = 2**63 - 1
_NS_IN_MS = 1_000_000
_MOST_REVISIONS = 2**16 - 1
"""As many as a journal has room for."""


class UnreadableRecord(Exception):
    """The record was damaged, or written by a later version; why, without content."""


@dataclass(frozen=True, slots=True)
class Closed:
    """One closing. `last_offset` is the highest offset of the topic of sessions that it has read of this session;
    `closed_ms` is wall time; `judged`: its verdicts are durable."""

    revision: int
    reason: str
    closed_ms: int
    last_offset: int
    probability: float
    judged: bool = False


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """`closings`, oldest first, are the newest that is judged and all that are not. `verdicts` are those of the newest
    that is judged, as mappings; `pending` is how many of them wait for a judge."""

    owner: Owner
    closings: tuple[Closed, ...] = ()
    verdicts: tuple[Mapping[str, Any], ...] = field(default=())
    pending: int = 0

    def with_closing(self, closed: Closed) -> SessionRecord:
        """Closed once more, and not judged yet."""
        return replace(self, closings=(*self.closings, closed))

    def judged(self, revision: int, verdicts: Sequence[Judged]) -> SessionRecord:
        """With the verdicts of this closing. Nothing changes when a later one is judged already."""
        if any(each.judged and each.revision > revision for each in self.closings):
            return self
        closings = tuple(
            replace(each, judged=each.judged or each.revision == revision)
            for each in self.closings
            if each.revision >= revision or not each.judged
        )
        pending = sum(1 for one in verdicts if _is_pending(one))
        return replace(self, closings=closings, verdicts=tuple(map(_verdict, verdicts)), pending=pending)

    def without_verdicts(self) -> SessionRecord:
        """To be remembered: there may be very many, and the store has the verdicts."""
        return replace(self, verdicts=())

    @property
    def latest_judged(self) -> Closed | None:
        return next((each for each in reversed(self.closings) if each.judged), None)

    @property
    def settled(self) -> bool:
        """Nothing more will be written of the closings there are."""
        return not self.pending and all(each.judged for each in self.closings)


def encode(record: SessionRecord, most_bytes: int | None = None) -> bytes:
    """Verdicts that would make it larger than `most_bytes` are left out, and their number told: the store has them, and
    whoever takes the session over needs only its closings."""
    encoded = _encoded(record, 0)
    if most_bytes is None or len(encoded) <= most_bytes:
        return encoded
    return _encoded(record.without_verdicts(), len(record.verdicts))


def _encoded(record: SessionRecord, left_out: int) -> bytes:
    latest = record.latest_judged
    shown = latest or (record.closings[-1] if record.closings else None)
    return json.dumps(
        {
            "version": _VERSION,
            "session": record.owner.name,
            "tenant": record.owner.tenant,
            "kind": record.owner.kind.name.lower(),
            "revision": shown.revision if shown else 0,
            "close_reason": shown.reason if shown else "",
            "closed_ms": shown.closed_ms if shown else 0,
            "last_offset": shown.last_offset if shown else -1,
            "judged": latest is not None,
            "pending": record.pending,
            "verdicts": list(record.verdicts),
            "verdicts_left_out": left_out,
            "closings": [
                {
                    "revision": each.revision,
                    "close_reason": each.reason,
                    "closed_ms": each.closed_ms,
                    "last_offset": each.last_offset,
                    "inclusion_probability": each.probability,
                    "judged": each.judged,
                }
                for each in record.closings
            ],
        },
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode("utf-8", "replace")


def decode(value: bytes) -> SessionRecord:
    """Raises `UnreadableRecord`."""
    try:
        said = json.loads(value)
        if said["version"] != _VERSION:
            raise UnreadableRecord(f"the record is of version {said['version']}, this is version {_VERSION}")
        owner = Owner(Kind[said["kind"].upper()], _text(said["session"]), _text(said["tenant"]))
        pending = _number(said["pending"], 0, _MOST)
        return SessionRecord(owner, tuple(map(_closed, said["closings"])), tuple(said["verdicts"]), pending)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableRecord(f"the record cannot be read: {type(error).__name__}") from error


def _closed(said: Mapping[str, Any]) -> Closed:
    probability = float(said["inclusion_probability"])
    if not 0 <= probability <= 1:  # and not for NaN
        raise ValueError("no probability")
    return Closed(
        _number(said["revision"], 1, _MOST_REVISIONS),
        _text(said["close_reason"]),
        _number(said["closed_ms"], 0, _MOST // _NS_IN_MS),
        _number(said["last_offset"], -1, _MOST),
        probability,
        bool(said["judged"]),
    )


def _text(said: object) -> str:
    """Raises TypeError for what is none, ValueError for what cannot be written as UTF-8."""
    if not isinstance(said, str):
        raise TypeError("no text")
    said.encode()
    return said


def _number(said: object, least: int, most: int) -> int:
    """Raises ValueError for what journals and stores have no room for."""
    if type(said) is not int or not least <= said <= most:
        raise ValueError("no number, or out of bounds")
    return said


def _verdict(judged: Judged) -> dict[str, Any]:
    """Without explanations, which may be long and quote what agents wrote: the store has them."""
    verdict = judged.verdict
    subject = verdict.subject
    return {
        "id": judged.id,
        "evaluator": verdict.evaluator,
        "evaluator_version": verdict.evaluator_version,
        "case": verdict.case,
        "subject": {"kind": subject.kind, "ref": subject.ref},
        "judged_ns": judged.judged_ns,
        **_outcome(judged),
    }


def _outcome(judged: Judged) -> dict[str, Any]:
    match judged.verdict.outcome:
        case Score(value=value, label=label):
            return {"outcome": "score", "value": value, "label": label}
        case NotApplicable():
            return {"outcome": "not_applicable"}
        case NotJudged(reason=reason):
            return {"outcome": "not_judged", "reason": reason}


def _is_pending(judged: Judged) -> bool:
    outcome = judged.verdict.outcome
    return isinstance(outcome, NotJudged) and outcome.reason == _PENDING
