"""Finding sessions among very many, page by page, and counting what they hold. A part of the store, as labels are.

What people may see is limited by `tenants`: None is all of them, an empty set nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from judge.verdict import SessionRef

Tenants: TypeAlias = frozenset[str] | None
SessionOutcome: TypeAlias = Literal["failed", "passed", "not_judged", "waiting"]

SEARCHED = 20_000
"""So many sessions are searched for a text at a time: it is looked for in every one."""
COUNTED = 5_000
"""So many sessions are counted at most, the newest of a stretch of time."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins: behind the session that closed then and has this number."""

    closed_ns: int
    number: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions to list; None means any. `evaluator`, `label` and `skill` must be those of one and the same
    verdict, and with any of them so must `outcome`. Without, `failed` and `not_judged` sessions have such a verdict,
    `passed` ones have a verdict that passed and none that failed, and `waiting` ones an open question.

    `version` is the agent's, or the service's where the agent has none. `until_ns` is the first moment too late.
    `text` is looked for in session id, task and service, whatever its case; a whole session id or trace id is found
    however old the session is.
    """

    service: str | None = None
    version: str | None = None
    harness: str | None = None
    tenant: str | None = None
    evaluator: str | None = None
    label: str | None = None
    skill: str | None = None
    outcome: SessionOutcome | None = None
    text: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    tenants: Tenants = None
    after: Place | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Failed:
    """So many verdicts of a session that failed alike. `skill` is None for those about something else."""

    evaluator: str
    label: str
    skill: str | None
    verdicts: int


MOST_FAILED = 3
"""So many kinds of failures a line tells."""


@dataclass(frozen=True, slots=True)
class Line:
    """One closing of a session. `superseded`: it was closed and judged again later. `failures` are its first kinds,
    those that were asked for before others."""

    ref: SessionRef
    harness: str
    service: str | None
    agent: str | None
    version: str | None
    task: str | None
    closed_ns: int
    close_reason: str
    judged: bool
    note: str
    passed: int
    failed: int
    not_judged: int
    pending: int
    superseded: bool
    failures: tuple[Failed, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """`following` is where the next page begins, None at the end. `searched_all` is False where it begins there only
    because no more sessions are searched at a time."""

    lines: tuple[Line, ...]
    following: Place | None = None
    searched_all: bool = True


@dataclass(frozen=True, slots=True)
class Names:
    """What the newest sessions had, sorted: to choose from; there may be others."""

    services: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    harnesses: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stretch:
    """From a moment on, in pieces of the same length; only sessions of `service`, if one is given."""

    since_ns: int
    piece_ns: int
    service: str | None = None
    tenants: Tenants = None


@dataclass(frozen=True, slots=True)
class SessionsCounted:
    service: str | None
    version: str | None
    piece: int
    sessions: int


@dataclass(frozen=True, slots=True)
class VerdictsCounted:
    """`skill` is None for verdicts about something else."""

    service: str | None
    version: str | None
    evaluator: str
    skill: str | None
    piece: int
    passed: int
    failed: int
    not_judged: int


@dataclass(frozen=True, slots=True)
class LoadsCounted:
    """`skill` is None where its name was not recorded."""

    service: str | None
    version: str | None
    skill: str | None
    piece: int
    loaded: int
    refused: int
    unanswered: int


@dataclass(frozen=True, slots=True)
class Offered:
    """So many sessions were offered exactly these skills; None: what was on offer was not recorded."""

    service: str | None
    version: str | None
    skills: tuple[str, ...] | None
    sessions: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Of judged newest closings of the stretch; `complete` is False where there were more than `COUNTED`, and only the
    newest are counted, from `from_ns` on."""

    sessions: Sequence[SessionsCounted] = field(default=())
    verdicts: Sequence[VerdictsCounted] = ()
    loads: Sequence[LoadsCounted] = ()
    offered: Sequence[Offered] = ()
    complete: bool = True
    from_ns: int | None = None


class Listing(Protocol):
    """Implemented by `sql_listing.SqlListing`. Every method raises `StoreUnavailable`."""

    async def page(self, wanted: Wanted) -> Page:
        """Newest first."""

    async def of_trace(self, trace_id: str, tenants: Tenants = None) -> list[SessionRef]:
        """Closings that have read from this trace, newest first; a superseded one behind what superseded it."""

    async def names(self, tenants: Tenants = None) -> Names: ...

    async def counts(self, stretch: Stretch) -> Counts: ...
