"""A router, a book and rows in memory, driven by hand: requests in, closed sessions out."""

from __future__ import annotations

from collector.config import SCOPE_NAMES, SESSION_ALIASES
from collector.journal.rows import Signal
from collector.sessions.assembly import assemble
from collector.sessions.book import Claim, Policy, SessionBook
from collector.sessions.index import NOTHING_NEEDED
from collector.sessions.keys import Kind, Owner, SessionNames
from collector.sessions.routing import Marks, Routed, Router
from extractors.spans import Session
from tests.fakes.journal import MemoryRows

NAMES = SessionNames(("session.id", *SESSION_ALIASES), SCOPE_NAMES)
START_MS = 1_800_000_000_000
POLICY = Policy(idle_ms=10_000, max_age_ms=60_000, settle_ms=2_000, late_window_ms=30_000)


class Desk:
    def __init__(self, policy: Policy = POLICY, marks: Marks | None = None) -> None:
        self.policy = policy
        self._marks = marks or Marks(names=NAMES)
        self.rows = MemoryRows()
        self.now_ms = START_MS
        self.book = SessionBook(policy, self.now_ms)
        self.router = Router(self.book, self._marks)
        self.claims: list[Claim] = []

    def send(self, signal: Signal, request: bytes, tenant: str = "") -> Routed:
        routed = self.router.route(signal, request, tenant, self.now_ms)
        self.rows.append(routed.rows)
        return routed

    def wait(self, seconds: float) -> list[Claim]:
        """Let time pass and close what is due."""
        self.now_ms += int(seconds * 1000)
        due = self.book.due(self.now_ms)
        closings = [self.book.close(ref, reason, self.now_ms) for ref, reason in due]
        claims = [closing for closing in closings if isinstance(closing, Claim)]
        self.write()
        self.claims += claims
        return claims

    def done(self, claim: Claim) -> None:
        self.book.finished(claim.digest, claim.revision, self.now_ms)
        self.write()

    def move(self, slot: int) -> bool:
        """Copy a session or trace to the end of the journal and drop what nobody needs; False when it must stay."""
        for straggler in self.book.stragglers(NOTHING_NEEDED, slot, 1):
            if not self.book.can_move(straggler):
                return False
            assert self.book.move(straggler, self.rows.chain(straggler.last_row))
            self.write()
            self._drop()
            return True
        return False

    def _drop(self) -> None:
        """To the row, where the book itself goes by blocks."""
        held = [each.lowest for each in self.book._holds._held.values()]
        oldest = min([*self.book.index.first_row, *held])
        assert self.book.oldest_needed() <= oldest
        self.rows.drop_before(oldest)

    def write(self) -> None:
        rows, _ = self.book.take_rows()
        self.rows.append(rows)

    def crash(self) -> list[Claim]:
        """Lose everything in memory and start again from the rows."""
        self.book = SessionBook(self.policy, self.now_ms)
        self.router = Router(self.book, self._marks)
        return self.book.recover(self.rows.entries(), self.rows.last_row(), self.now_ms)

    def read(self, claim: Claim) -> Session:
        own = [row for head in claim.heads for row in self.rows.chain(head)]
        neighbours = [row for head in claim.neighbours for row in self.rows.chain(head)]
        return assemble(claim, own, neighbours, NAMES)

    def slot(self, session: str) -> int:
        """Of a session that is open."""
        slot = self.book.index.find(Owner(Kind.SESSION, session).digest)
        assert slot is not None
        return slot

    def close_all(self) -> dict[str, Session]:
        """Wait until everything has closed; sessions by id."""
        self.wait(3600)
        sessions = [self.read(claim) for claim in self.claims]
        assert len({session.session_id for session in sessions}) == len(sessions)
        return {session.session_id: session for session in sessions}
