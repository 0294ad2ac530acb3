"""Tells in the topic of verdicts how far the sessions of one partition are closed and judged, and remembers it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

import structlog

from collector.errors import StoreUnavailable
from collector.kafka.session_topic import session_key
from collector.kafka.verdict_records import Closed, SessionRecord, encode
from collector.kafka.verdict_topic import VerdictWriter
from collector.sessions.keys import Digest, Owner
from collector.store.store import Store
from judge.verdict import Judged, SessionRef

log = structlog.get_logger(__name__)

_MOST_PENDING = 200  # sessions that wait for a judge, looked at in one go


class Telling:
    """A closing is told of before it is evaluated, and again when its verdicts are durable. What tells raises `NotOurs`
    when another has begun to write for the partition."""

    def __init__(
        self, known: Mapping[Digest, SessionRecord], start: int, writer: VerdictWriter, store: Store, retry_s: float
    ) -> None:
        """`known` is what the topic says; `start` the offset from which the partition is read."""
        self._known = {digest: record for digest, record in known.items() if _matters(record, start)}
        self._pending = dict.fromkeys(digest for digest, record in self._known.items() if record.pending)
        self._writer = writer
        self._store = store
        self._retry_s = retry_s

    def ahead(self, start: int) -> dict[Digest, deque[Closed]]:
        """Closings that others came to behind this offset, in order."""
        return {
            digest: deque(each for each in record.closings if each.last_offset >= start)
            for digest, record in self._known.items()
        }

    def known(self, digest: Digest) -> SessionRecord | None:
        return self._known.get(digest)

    def note(self, owner: Owner, closed: Closed) -> None:
        """One more closing, which `closing` or `superseded` tells of."""
        self._known[owner.digest] = (self.known(owner.digest) or SessionRecord(owner)).with_closing(closed)

    async def closing(self, digests: Sequence[Digest]) -> None:
        """These sessions were closed, and are about to be evaluated. What is judged of them goes on being told."""
        await self._take_up(self._judged_before(digests))
        await self._write(digests)

    async def kept(self, closings: Sequence[tuple[Digest, int]]) -> None:
        """The verdicts of these closings, by session and number, are in the store."""
        await self._take_up(closings)
        await self._write([digest for digest, _ in closings])

    async def superseded(self, owner: Owner, closed: Closed) -> None:
        """It was closed once more, for good and without verdicts."""
        self.note(owner, closed)
        self._known[owner.digest] = self._known[owner.digest].judged(closed.revision, ())
        await self._write([owner.digest])

    async def look_at_pending(self) -> None:
        """Answers of judges come later, perhaps to another worker."""
        await self._write(await self._take_up(self._judged_before(list(self._pending)[:_MOST_PENDING])))

    def forget(self, wanted: Callable[[Digest], bool], low: int) -> None:
        """All but what is `wanted`, and what may be read again from the offset `low` on."""
        self._known = {
            digest: record for digest, record in self._known.items() if wanted(digest) or _matters(record, low)
        }

    async def _write(self, digests: Iterable[Digest]) -> None:
        """What is known of them by now."""
        records = {digest: self._known[digest] for digest in digests}
        if not records:
            return
        most = self._writer.most_bytes
        await self._writer.write([(session_key(record.owner), encode(record, most)) for record in records.values()])
        for digest, record in records.items():
            if self._known[digest] is record:
                self._known[digest] = record.without_verdicts()

    def _judged_before(self, digests: Iterable[Digest]) -> list[tuple[Digest, int]]:
        """Those that are judged already, with the number of the newest closing that is."""
        latest = ((digest, self._known[digest].latest_judged) for digest in digests)
        return [(digest, closed.revision) for digest, closed in latest if closed is not None]

    async def _take_up(self, closings: Iterable[tuple[Digest, int]]) -> list[Digest]:
        """What the store has on these closings. Returns those of which answers have come since."""
        refs = {(digest, revision): self._ref(digest, revision) for digest, revision in closings}
        verdicts = await self._stored(list(refs.values()))
        news: list[Digest] = []
        for (digest, revision), ref in refs.items():
            before = self._known[digest]
            record = self._known[digest] = before.judged(revision, verdicts[ref])
            self._pending.pop(digest, None)  # to the end: others have their turn
            if record.pending:
                self._pending[digest] = None
            if record.pending != before.pending:
                news.append(digest)
        return news

    def _ref(self, digest: Digest, revision: int) -> SessionRef:
        owner = self._known[digest].owner
        return SessionRef(owner.name, revision, owner.tenant)

    async def _stored(self, refs: Sequence[SessionRef]) -> dict[SessionRef, list[Judged]]:
        """Waits for a store that is away."""
        while refs:
            try:
                return await self._store.verdicts_of(refs)
            except StoreUnavailable as error:
                log.warning("store_unavailable", error=str(error))
                await asyncio.sleep(self._retry_s)
        return {}


def _matters(record: SessionRecord, start: int) -> bool:
    """To whoever reads the partition from this offset on. Of the rest the store knows all that is still asked."""
    return not record.settled or any(each.last_offset >= start for each in record.closings)
