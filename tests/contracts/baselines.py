"""What every store does with baselines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio

from collector.store.baselines import Baseline, KeptSession, LiveCount
from collector.store.store import Store
from judge.significance import Count
from judge.verdict import NotJudged, Score
from tests.contracts.store import Opener
from tests.fakes.verdicts import NOW_NS, closed, judged

NO = Score(0.0, "no", "It does not.")
FIRST = Baseline("v7", "shop", "7", NOW_NS, 2, "before the move")
SECOND = Baseline("v8", "shop", "8", NOW_NS + 1, 0)
OTHER = Baseline("desk-1", "desk", None, NOW_NS + 2, 0)
KEPT = [
    KeptSession(closed("a"), (judged("a"), judged("a", "budgets", NO))),
    KeptSession(closed("b"), (judged("b"), judged("b", "budgets", NotJudged("over_limit")))),
]
HOUR_NS = 3_600 * 1_000_000_000
HOUR = NOW_NS // HOUR_NS


class BaselineContract:
    """Derive, and give it a fixture `opener` that opens the same data again at every call."""

    @pytest_asyncio.fixture
    async def store(self, opener: Opener) -> AsyncIterator[Store]:
        store = await opener()
        yield store
        await store.close()

    async def test_a_baseline_reads_back_as_it_was_saved(self, store: Store) -> None:
        assert await store.baselines.save(FIRST, KEPT)
        assert await store.baselines.all() == [FIRST]
        assert await store.baselines.sessions("v7") == KEPT

    async def test_a_name_is_given_once(self, store: Store) -> None:
        assert await store.baselines.save(FIRST, KEPT)
        assert not await store.baselines.save(replace(SECOND, name="v7"), [])
        assert await store.baselines.all() == [FIRST]
        assert await store.baselines.sessions("v7") == KEPT

    async def test_the_newest_is_listed_first(self, store: Store) -> None:
        for one in (FIRST, OTHER, SECOND):
            await store.baselines.save(one, KEPT if one is FIRST else [])
        assert [one.name for one in await store.baselines.all()] == ["desk-1", "v8", "v7"]

    async def test_a_service_has_one_current_baseline(self, store: Store) -> None:
        for one in (FIRST, SECOND, OTHER):
            await store.baselines.save(one, [])
        for name in ("v7", "desk-1", "v8"):
            assert await store.baselines.promote(name, NOW_NS + 9)
        promoted = {one.name: one.promoted_ns for one in await store.baselines.all()}
        assert promoted == {"v7": None, "v8": NOW_NS + 9, "desk-1": NOW_NS + 9}

    async def test_what_there_is_not_is_neither_promoted_nor_deleted(self, store: Store) -> None:
        await store.baselines.save(FIRST, [])
        await store.baselines.promote("v7", NOW_NS)
        assert not await store.baselines.promote("v9", NOW_NS)
        assert not await store.baselines.delete("v9")
        assert [one.promoted_ns for one in await store.baselines.all()] == [NOW_NS]
        assert await store.baselines.sessions("v9") == []

    async def test_a_deleted_baseline_is_gone_with_all_it_holds(self, store: Store) -> None:
        await store.baselines.save(FIRST, KEPT)
        await store.baselines.promote("v7", NOW_NS)
        assert await store.baselines.delete("v7")
        assert await store.baselines.all() == []
        assert await store.baselines.sessions("v7") == []
        assert await store.baselines.counts() == {}

    async def test_the_counts_of_current_baselines_are_those_of_scored_verdicts(self, store: Store) -> None:
        await store.baselines.save(FIRST, KEPT)
        await store.baselines.save(OTHER, [])
        assert await store.baselines.counts() == {}, "none is promoted"
        await store.baselines.promote("v7", NOW_NS)
        await store.baselines.promote("desk-1", NOW_NS)
        assert await store.baselines.counts() == {
            "shop": {"skill_selection": Count(2, 0), "budgets": Count(0, 1)},
            "desk": {},
        }

    async def test_live_verdicts_are_counted_once_each(self, store: Store) -> None:
        await store.finish(closed("a"), [judged("a"), judged("a", "budgets", NotJudged("over_limit"))], [], [])
        found = await store.baselines.live_counts(["shop"], 0, 0)
        assert found.counts == (LiveCount(HOUR, "shop", "7", "skill_selection", Count(1, 0)),)
        await store.finish(closed("b"), [judged("b", outcome=NO)], [], [])
        more = await store.baselines.live_counts(["shop"], found.last, 0)
        assert more.counts == (LiveCount(HOUR, "shop", "7", "skill_selection", Count(0, 1)),)
        assert (await store.baselines.live_counts(["shop"], more.last, 0)).counts == ()

    async def test_live_counts_leave_out_other_services_and_what_closed_before(self, store: Store) -> None:
        await store.finish(closed("a", closed_ns=NOW_NS - HOUR_NS), [judged("a")], [], [])
        await store.finish(closed("b", service="desk"), [judged("b")], [], [])
        await store.finish(closed("c"), [judged("c")], [], [])
        found = await store.baselines.live_counts(["shop"], 0, NOW_NS)
        assert [one.count.total for one in found.counts] == [1]
        assert len((await store.baselines.live_counts(["shop", "desk"], 0, 0)).counts) == 3
