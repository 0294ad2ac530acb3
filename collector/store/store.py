"""What durable means for verdicts, and what the page, the command line and the exporters read.

Everything a method promises is on disk when it returns. Doing the same work twice leaves one row: ids are
hashes of the work (see `judge.verdict.verdict_id`), and the first write wins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from collector.store.labels import Labels
from collector.store.ledger import Ledger
from collector.store.listing import Listing, Tenants
from collector.store.obstacles import Obstacles, OpenQuestion
from collector.store.retention import Retention
from extractors.trajectory import Trajectory
from judge.question import Question
from judge.verdict import Judged, SessionRef

if TYPE_CHECKING:  # it is made of the records below
    from collector.store.baselines import Baselines
    from collector.store.finishing import Fate, Finishing


@dataclass(frozen=True, slots=True)
class ClosedSession:
    """One closing of one session, as judged. `trajectory` is None where none could be read (`note` says why)."""

    ref: SessionRef
    closed_ns: int
    close_reason: str
    inclusion_probability: float
    trajectory: Trajectory | None
    spans: int
    records: int
    note: str = ""
    judged: bool = True
    """False for telemetry that came after the late window: kept to be looked at, never judged."""


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question waiting for a judge. `draft` is the verdict-to-be with every version filled in and
    `NotJudged("pending")` as outcome; its id is the question's id."""

    id: str
    question: Question
    draft: Judged
    asked: int = 0
    next_ns: int = 0
    created_ns: int = 0


@dataclass(frozen=True, slots=True)
class UnreadableQuestion:
    """A stored question whose record was damaged, or written in a form of another version. `draft` is its
    verdict-to-be; where that cannot be read either, it has only what the row says."""

    id: str
    draft: Judged


@dataclass(frozen=True, slots=True)
class DueQuestion:
    """That a question is due, without its record, which holds a whole session's."""

    id: str
    created_ns: int


@dataclass(frozen=True, slots=True)
class Held:
    """Questions not to be asked just now: those of one evaluator (None: of all), and with `high_risk` those of high
    risk too."""

    evaluator: str | None
    high_risk: bool


@dataclass(frozen=True, slots=True)
class OfModel:
    """Questions that bring this model of their own; None: those that bring none."""

    model: str | None


Hold: TypeAlias = Held | OfModel
StoredQuestion: TypeAlias = PendingQuestion | UnreadableQuestion
"""Whoever reads one must end it if it cannot be read: it would stand in the way of those behind it."""


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """A verdict not yet delivered to one exporter."""

    exporter: str
    judged: Judged
    attempts: int
    created_ns: int


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line of `spanjudge sessions`. `passed` and `failed` count scores by `judge.passing.passed`."""

    ref: SessionRef
    harness: str
    service: str | None
    agent: str | None
    task: str | None
    closed_ns: int
    close_reason: str
    spans: int
    records: int
    passed: int
    failed: int
    not_judged: int
    pending: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Closing:
    """That a session was closed, and whether it was judged then."""

    revision: int
    closed_ns: int
    judged: bool


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions to list; None means any. `text` is looked for in session id, task and service, whatever
    its case; `evaluator` and `label` must be those of one and the same verdict. `version` is the agent's, or the
    service's where the agent has none; `newest_closing` leaves out closings that were superseded or never judged;
    `tenants` are those to look at, an empty set nobody's."""

    service: str | None = None
    version: str | None = None
    harness: str | None = None
    evaluator: str | None = None
    label: str | None = None
    text: str | None = None
    since_ns: int | None = None
    newest_closing: bool = False
    limit: int = 50
    tenants: Tenants = None


@dataclass(frozen=True, slots=True)
class VerdictFilter:
    """Which verdicts to find; None means any. `passed` leaves out those without a score. `labelled` is whether
    anybody said something about them. `newest_closing` leaves out superseded ones; `tenants`
    are those to look at, an empty set nobody's.

    In order `newest` those of the session closed last come first. Order `by_chance` goes by id, which is a hash: the
    first of them are a random sample, and the same one every time.
    """

    id_prefix: str | None = None
    session_id: str | None = None
    evaluator: str | None = None
    evaluator_version: str | None = None
    judge_model: str | None = None
    label: str | None = None
    passed: bool | None = None
    labelled: bool | None = None
    newest_closing: bool = False
    since_ns: int | None = None
    order: Literal["newest", "by_chance"] = "newest"
    limit: int = 50
    tenants: Tenants = None


class Store(Protocol):
    """Implemented by `sql_store.SqlStore`; `tests/contracts/store.py` states what any store does."""

    @property
    def ledger(self) -> Ledger:
        """What was asked of the judge, in the same file: its changes and the store's see each other."""

    @property
    def obstacles(self) -> Obstacles:
        """What keeps questions waiting, in the same file."""

    @property
    def labels(self) -> Labels:
        """What people said about verdicts, in the same file."""

    @property
    def listing(self) -> Listing:
        """Sessions found among very many, page by page, and what they hold counted."""

    @property
    def retention(self) -> Retention:
        """How much it takes, and deleting what is old."""

    @property
    def baselines(self) -> Baselines:
        """Sessions kept to compare later ones with, in the same file."""

    async def finish(
        self,
        session: ClosedSession,
        verdicts: Sequence[Judged],
        questions: Sequence[PendingQuestion],
        exporters: Sequence[str],
    ) -> bool:
        """Keep the session, its verdicts and its open questions, and queue the verdicts for each exporter, in
        one transaction. False when this revision was finished before: nothing is written then."""

    async def finish_all(self, closings: Sequence[Finishing], exporters: Sequence[str]) -> list[Fate]:
        """Keep many closings in one transaction, in their order, as `finish` does each; what became of each."""

    async def settle(self, judged: Judged, exporters: Sequence[str]) -> bool:
        """Replace the pending question with this id by its verdict and queue it for export, in one transaction.
        False when it was settled before."""

    async def postpone_question(self, question_id: str, asked: int, next_ns: int, trouble: str = "") -> None:
        """Ask again at `next_ns`. `trouble` is what the last attempt met, for people."""

    async def open_questions(self, ref: SessionRef) -> list[OpenQuestion]:
        """Those of one closing, and how they stand."""

    async def due_questions(
        self,
        now_ns: int,
        limit: int,
        *,
        held: Collection[Hold] = (),
        but_not: Collection[str] = (),
        only: Collection[OfModel] = (),
    ) -> list[StoredQuestion]:
        """Questions whose time has come: high risk first, then oldest. Without those that are held, have one of the
        ids in `but_not`, or are in a batch on its way. With `only`, no others."""

    async def due_for_batch(
        self, now_ns: int, limit: int, *, held: Collection[Hold] = (), but_not: Collection[str] = ()
    ) -> list[DueQuestion]:
        """The same without those of high risk, oldest first, and without their records."""

    async def old_questions(
        self, before_ns: int, limit: int, but_not: Collection[str] = (), *, in_batches: bool = False
    ) -> list[StoredQuestion]:
        """Questions that came before this moment, oldest first, whether due or not; others are left out as by
        `due_questions`, those in a batch unless `in_batches`."""

    async def oldest_question_ns(self, *, of_high_risk: bool = False) -> int | None:
        """When the oldest open question came, or the oldest of high risk; None without any."""

    async def questions_by_id(self, ids: Collection[str]) -> list[StoredQuestion]:
        """Those of them that are open, in any order and in a batch or not."""

    async def pending_questions(self) -> int: ...

    async def due_exports(self, exporter: str, now_ns: int, limit: int) -> list[OutboxItem]:
        """Verdicts to send now, oldest first."""

    async def mark_exported(self, exporter: str, verdict_ids: Sequence[str]) -> None: ...

    async def postpone_exports(self, exporter: str, verdict_ids: Sequence[str], next_ns: int) -> None: ...

    async def outbox_size(self, exporter: str) -> int: ...

    async def closings(self, session_id: str, tenant: str) -> list[Closing]:
        """Every closing of this session, newest revision first, without its record."""

    async def sessions(self, where: SessionFilter) -> list[SessionSummary]:
        """Newest first."""

    async def refs(self, session_id: str, tenant: str | None = None) -> list[SessionRef]:
        """Of every closing of the session, newest revision first; several tenants' when `tenant` is None."""

    async def session(
        self, session_id: str, tenant: str | None = None, revision: int | None = None
    ) -> list[ClosedSession]:
        """Every closing of the session, newest revision first, or only that of a revision; several tenants' when
        `tenant` is None. One that cannot be read any more has no trajectory, and its note says so."""

    async def verdicts(self, ref: SessionRef) -> list[Judged]:
        """All verdicts of one closing, open questions included as `NotJudged("pending")`. One that cannot be read any
        more is `NotJudged`, and has what its row says."""

    async def verdicts_of(self, refs: Sequence[SessionRef]) -> dict[SessionRef, list[Judged]]:
        """As `verdicts`, of many closings at once; nothing for those that are not here."""

    async def find_verdicts(self, where: VerdictFilter) -> list[Judged]:
        """Verdicts of all sessions, open questions left out. One that cannot be read any more is `NotJudged`."""

    async def close(self) -> None: ...
