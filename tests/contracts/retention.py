"""What every store does when closings are deleted because they are old, or too many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random

import pytest_asyncio

from collector.store.store import SessionFilter, Store
from judge.verdict import NotApplicable, Score
from tests.contracts.store import Opener
from tests.fakes.verdicts import NOW_NS, answered, closed, judged, pending


def _text(number: int) -> str:
    """That no database makes much shorter."""
    chance = Random(number)
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=20_000))


class RetentionContract:
    """Derive, and give it a fixture `opener` that opens the same data again at every call."""

    @pytest_asyncio.fixture
    async def store(self, opener: Opener) -> AsyncIterator[Store]:
        store = await opener()
        yield store
        await store.close()

    async def test_the_oldest_go_first_in_bounded_steps_with_all_that_belongs_to_them(self, store: Store) -> None:
        for age in range(5):
            name = f"s-{age}"
            await store.finish(closed(name, closed_ns=NOW_NS - age), [judged(name)], [pending(name)], ["otlp"])
        assert await store.retention.purge(NOW_NS - 1, limit=2) == 2
        assert await _present(store) == ["s-0", "s-1", "s-2"]
        assert await store.retention.purge(NOW_NS - 1, limit=2) == 1
        assert await store.retention.purge(NOW_NS - 1, limit=2) == 0
        assert await store.pending_questions() == 2
        assert await store.outbox_size("otlp") == 2

    async def test_what_is_still_to_be_judged_or_sent_stays_and_what_is_younger_goes_in_its_stead(
        self, store: Store
    ) -> None:
        asked, waiting = pending("asked"), judged("waiting")
        await store.finish(closed("asked", closed_ns=NOW_NS), [], [asked], [])
        await store.finish(closed("waiting", closed_ns=NOW_NS + 1), [waiting], [], ["otlp"])
        await store.finish(closed("done", closed_ns=NOW_NS + 2), [judged("done")], [], [])
        nothing = judged("nothing", outcome=NotApplicable("no skill"))
        await store.finish(closed("nothing", closed_ns=NOW_NS + 3), [nothing], [], ["otlp"])
        assert await store.retention.purge(NOW_NS + 10, limit=1, only_done=True) == 1
        assert await _present(store) == ["asked", "nothing", "waiting"]
        assert await store.retention.purge(NOW_NS + 10, limit=9, only_done=True) == 1
        assert await store.retention.purge(NOW_NS + 10, limit=9, only_done=True) == 0
        await store.settle(answered(asked, Score(1.0, "yes", "")), [])
        await store.mark_exported("otlp", [waiting.id])
        assert await store.retention.purge(NOW_NS + 10, limit=9, only_done=True) == 2
        assert await _present(store) == []

    async def test_several_verdicts_of_which_one_is_not_sent_keep_their_session(self, store: Store) -> None:
        both = [judged(ref="span:a/1"), judged(ref="span:a/2")]
        await store.finish(closed(), both, [], ["one", "two"])
        await store.mark_exported("one", [one.id for one in both])
        await store.mark_exported("two", [both[0].id])
        assert await store.retention.purge(NOW_NS + 1, limit=9, only_done=True) == 0
        await store.mark_exported("two", [both[1].id])
        assert await store.retention.purge(NOW_NS + 1, limit=9, only_done=True) == 1

    async def test_two_who_delete_at_once_delete_each_closing_once(self, opener: Opener, store: Store) -> None:
        for number in range(6):
            await store.finish(closed(f"s-{number}"), [], [], [])
        other = await opener()
        first, second = await asyncio.gather(*(one.retention.purge(NOW_NS + 1, 4) for one in (store, other)))
        assert first + second == 6 - len(await _present(store))
        await other.close()

    async def test_what_is_in_use_grows_with_sessions_and_shrinks_with_them(self, store: Store) -> None:
        empty = await store.retention.size()
        for number in range(60):
            name = f"s-{number}"
            await store.finish(closed(name, task=_text(number)), [judged(name)], [], [])
        full = await store.retention.size()
        assert full.used - empty.used > 60 * 20_000 * 0.9
        assert full.used <= full.on_disk
        assert await store.retention.purge(NOW_NS + 1, 30) == 30
        half = await store.retention.size()
        assert 0.4 < (half.used - empty.used) / (full.used - empty.used) < 0.6
        assert await store.retention.purge(NOW_NS + 1, 30) == 30
        none = await store.retention.size()
        assert none.used - empty.used < 0.2 * (full.used - empty.used)
        assert none.used <= none.on_disk

    async def test_giving_space_back_comes_to_an_end(self, store: Store) -> None:
        for _ in range(100):
            if not await store.retention.give_back():
                return
        raise AssertionError("there is always more to give back")


async def _present(store: Store) -> list[str]:
    return sorted(summary.ref.session_id for summary in await store.sessions(SessionFilter()))
