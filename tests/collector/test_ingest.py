"""What a sender is told is true is on disk by then, and what cannot be taken is refused at the door."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from collector.errors import Malformed, Refused, StoreUnavailable
from collector.ingest import Ingest, Limits
from collector.journal.journal import JournalSettings
from collector.journal.rows import RowType
from collector.sessions.routing import MOST_AT_ONCE
from tests.collector.receiving import Receiving, receiving
from tests.collector.sessions.telemetry import log_request, record, span, trace_request

ANN = trace_request([span(1, 1, session__id="ann")])


def _rows(half: Receiving) -> int:
    return sum(key.type == RowType.TELEMETRY for key, _ in half.journal.entries())


def _refusal(ingest: Ingest, size: int = 0) -> str | None:
    try:
        ingest.admit(size)
    except Refused as refused:
        return refused.reason if refused.retry_after_s > 0 else "no time to come back at"
    return None


async def test_what_is_accepted_is_on_disk_and_counted(tmp_path: Path) -> None:
    async with receiving(tmp_path) as half:
        receipt = await half.ingest.accept("traces", ANN)
        assert (receipt.rejected, receipt.cause) == (0, "")
        assert _rows(half) == 1
        assert half.value("spans_received_total") == half.value("spans_stored_total") == 1


async def test_a_partly_bad_request_is_accepted_with_count_and_causes(tmp_path: Path) -> None:
    bad = span(1, 2)
    bad.span_id = b"xyz"
    async with receiving(tmp_path) as half:
        receipt = await half.ingest.accept("traces", trace_request([span(1, 1, session__id="ann"), bad, bad]))
        assert receipt.rejected == 2
        assert receipt.cause.startswith("2 rejected, the first because a span has a span id of 3 bytes")
        receipt = await half.ingest.accept("logs", log_request([record(None), record(None, session__id="ann")]))
        assert (receipt.rejected, receipt.cause) == (1, "1 name no session and no trace")


async def test_others_have_their_turn_while_a_large_request_is_taken(tmp_path: Path) -> None:
    bad = span(1, 2)
    bad.span_id = b"xyz"
    large = trace_request([span(1, number + 1, session__id="ann") for number in range(3 * MOST_AT_ONCE)] + [bad])
    async with receiving(tmp_path) as half:
        taking = asyncio.create_task(half.ingest.accept("traces", large))
        await asyncio.sleep(0)
        await half.ingest.accept("traces", trace_request([span(9, 9, session__id="bob")]))
        assert not taking.done()
        receipt = await taking
        assert (receipt.rejected, half.value("spans_stored_total")) == (1, 3 * MOST_AT_ONCE + 1)
        assert half.value("spans_received_total") == 3 * MOST_AT_ONCE + 2
        assert receipt.cause.startswith("1 rejected, the first because")


async def test_a_broken_envelope_is_malformed_and_leaves_nothing(tmp_path: Path) -> None:
    async with receiving(tmp_path) as half:
        with pytest.raises(Malformed):
            await half.ingest.accept("traces", b"no otlp at all")
        assert _rows(half) == 0
        await half.ingest.accept("traces", ANN)
        assert _rows(half) == 1


async def test_an_empty_request_is_accepted(tmp_path: Path) -> None:
    async with receiving(tmp_path) as half:
        assert (await half.ingest.accept("traces", b"")).rejected == 0


async def test_requests_beyond_those_that_may_wait_are_refused(tmp_path: Path) -> None:
    async with receiving(tmp_path, limits=Limits(in_flight=1), writing=False) as half:
        waiting = asyncio.ensure_future(half.ingest.accept("traces", ANN))
        await asyncio.sleep(0)
        assert _refusal(half.ingest) == "in_flight"
        with pytest.raises(Refused):
            await half.ingest.accept("traces", ANN)
        half.journal.start()
        await waiting
        assert _refusal(half.ingest) is None


async def test_bytes_beyond_those_that_may_wait_are_refused(tmp_path: Path) -> None:
    async with receiving(tmp_path, limits=Limits(pending_bytes=len(ANN) * 2), writing=False) as half:
        waiting = asyncio.ensure_future(half.ingest.accept("traces", ANN))
        await asyncio.sleep(0)
        assert _refusal(half.ingest, len(ANN) * 2) == "pending_bytes"
        half.journal.start()
        await waiting
        assert _refusal(half.ingest, len(ANN) * 2) is None


async def test_bytes_being_received_count_until_they_are_not(tmp_path: Path) -> None:
    async with receiving(tmp_path, limits=Limits(pending_bytes=100)) as half:
        with half.ingest.arriving() as arrived:
            arrived(60)
            assert _refusal(half.ingest, 41) == "pending_bytes"
            with half.ingest.arriving() as another:
                another(30)
                with pytest.raises(Refused):
                    another(30)
            assert _refusal(half.ingest, 40) is None
        assert _refusal(half.ingest, 100) is None


async def test_sessions_beyond_those_that_may_be_open_are_refused(tmp_path: Path) -> None:
    async with receiving(tmp_path, limits=Limits(open_sessions=1)) as half:
        await half.ingest.accept("traces", trace_request([span(n, n, session__id=f"user-{n}") for n in (1, 2)]))
        assert _refusal(half.ingest) == "open_sessions"


async def test_nothing_is_taken_while_stopping(tmp_path: Path) -> None:
    async with receiving(tmp_path) as half:
        half.ingest.stop_taking()
        assert _refusal(half.ingest) == "stopping"
        assert half.ingest.problem() == "stopping"


async def test_a_sender_that_gives_up_does_not_lose_what_it_sent(tmp_path: Path) -> None:
    async with receiving(tmp_path, writing=False) as half:
        waiting = asyncio.ensure_future(half.ingest.accept("traces", ANN))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        half.journal.start()
        await half.ingest.accept("traces", ANN)
        assert _rows(half) == 2
        assert _refusal(half.ingest) is None


async def _break(half: Receiving) -> None:
    """A commit that fails: a row out of order, as nothing else of ours would write it."""
    await half.ingest.accept("traces", ANN)
    with pytest.raises(StoreUnavailable):
        await half.journal.append([(key.encode(), (value,)) for key, value in half.journal.entries()], 0)


async def test_a_failed_journal_refuses_until_it_has_been_read_again(tmp_path: Path) -> None:
    async with receiving(tmp_path) as half:
        await _break(half)
        assert "cannot be written" in (half.ingest.problem() or "")
        assert _refusal(half.ingest) == "store_unavailable"
        watching = asyncio.create_task(half.ingest.watch())
        async with asyncio.timeout(20):
            while half.ingest.problem():  # noqa: ASYNC110 - it comes back by itself, and tells nobody
                await asyncio.sleep(0.05)
        watching.cancel()
        await half.ingest.accept("traces", ANN)
        assert _rows(half) == 2
        assert half.book.index.items[0] == 2


async def test_what_was_refused_by_the_disk_is_counted_as_refused(tmp_path: Path) -> None:
    async with receiving(tmp_path, writing=False) as half:
        waiting = asyncio.ensure_future(half.ingest.accept("traces", ANN))
        await asyncio.sleep(0)
        half.journal.failure = "the disk is gone"
        half.journal.start()
        with pytest.raises(StoreUnavailable, match="the disk is gone"):
            await waiting
        assert half.value("dropped_total", signal="traces", reason="refused") == 1


@pytest.mark.parametrize("settings", [JournalSettings(min_free_bytes=2**62), JournalSettings(max_bytes=-1)])
async def test_without_room_telemetry_is_refused_and_the_reason_shown(
    tmp_path: Path, settings: JournalSettings
) -> None:
    async with receiving(tmp_path, settings=settings) as half:
        watching = asyncio.create_task(half.ingest.watch())
        async with asyncio.timeout(10):
            while half.ingest.problem() is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert _refusal(half.ingest) == "disk_full"
        assert "MiB" in (half.ingest.problem() or "")
        assert half.value("journal_room_bytes") < 0
        watching.cancel()


async def test_a_journal_directory_that_is_gone_is_a_problem_and_not_the_end(tmp_path: Path) -> None:
    async with receiving(tmp_path) as half:
        (tmp_path / "journal").rename(tmp_path / "elsewhere")
        watching = asyncio.create_task(half.ingest.watch())
        async with asyncio.timeout(10):
            while half.ingest.problem() is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert "cannot be read" in (half.ingest.problem() or "")
        (tmp_path / "elsewhere").rename(tmp_path / "journal")
        async with asyncio.timeout(10):
            while half.ingest.problem() is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert not watching.done()
        watching.cancel()
