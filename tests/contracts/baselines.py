"""What every store does with baselines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio

from collector.store.baselines import Baseline, KeptSession, LiveCount, Seen
from collector.store.store import Store
from judge.significance import Count
from judge.verdict import Judged, NotJudged, Score
from judge.yardstick import Yardstick
from tests.contracts.store import Opener
from tests.fakes.verdicts import NOW_NS, answered, closed, judged, pending

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
CHOICE = Yardstick("skill_selection", "v1")


def by(model: str, one: Judged) -> Judged:
    return replace(one, verdict=replace(one.verdict, judge_model=model, prompt_version="v1"))


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
            "shop": {CHOICE: Count(2, 0), Yardstick("budgets", "v1"): Count(0, 1)},
            "desk": {},
        }

    async def test_counts_of_another_judge_stand_apart(self, store: Store) -> None:
        for number, model in enumerate(("a", "a", "b")):
            one = KeptSession(closed(f"s-{number}"), (by(model, judged(f"s-{number}")),))
            await store.finish(one.session, one.verdicts, [], [])
        kept = [KeptSession(closed("k-1"), (by("a", judged("k-1")),)), KeptSession(closed("k-2"), (judged("k-2"),))]
        await store.baselines.save(FIRST, kept)
        await store.baselines.promote("v7", NOW_NS)
        a, b = (replace(CHOICE, model=model, prompt_version="v1") for model in "ab")
        assert await store.baselines.counts() == {"shop": {CHOICE: Count(1, 0), a: Count(1, 0)}}
        found = await store.baselines.live_counts(["shop"], Seen(), 0)
        assert {one.yardstick: one.count for one in found.counts} == {a: Count(2, 0), b: Count(1, 0)}

    async def test_live_verdicts_are_counted_once_each(self, store: Store) -> None:
        await store.finish(closed("a"), [judged("a"), judged("a", "budgets", NotJudged("over_limit"))], [], [])
        found = await store.baselines.live_counts(["shop"], Seen(), 0)
        assert found.counts == (LiveCount(HOUR, "shop", "7", CHOICE, Count(1, 0)),)
        await store.finish(closed("b"), [judged("b", outcome=NO)], [], [])
        more = await store.baselines.live_counts(["shop"], found.seen, 0)
        assert more.counts == (LiveCount(HOUR, "shop", "7", CHOICE, Count(0, 1)),)
        assert (await store.baselines.live_counts(["shop"], more.seen, 0)).counts == ()

    async def test_of_each_session_the_newest_closing_counts_whenever_one_looks(self, store: Store) -> None:
        """The sum over any number of looks is what one look at the end finds."""
        question = pending("a", "span:q/1")
        steps = [
            store.finish(closed("a"), [judged("a")], [question], []),
            store.finish(closed("a", revision=2), [judged("a", outcome=NO, revision=2)], [], []),
            store.settle(answered(question, Score(1.0, "Yes", "")), []),
            store.finish(closed("b"), [judged("b")], [], []),
            store.finish(replace(closed("b", revision=2), judged=False), [], [], []),
            store.finish(closed("a", revision=3), [judged("a", revision=3)], [], []),
            store.finish(closed("a", tenant="other"), [judged("a", tenant="other", outcome=NO)], [], []),
        ]
        expected = [(1, 0), (0, 1), (0, 1), (1, 1), (1, 1), (2, 0), (2, 1)]
        seen, total = Seen(), Count()
        for step, (passed, failed) in zip(steps, expected, strict=True):
            await step
            found = await store.baselines.live_counts(["shop"], seen, 0)
            seen, total = found.seen, sum((one.count for one in found.counts), total)
            at_once = await store.baselines.live_counts(["shop"], Seen(), 0)
            assert total == sum((one.count for one in at_once.counts), Count()) == Count(passed, failed)

    async def test_two_closings_between_looks_take_back_what_was_counted_once(self, store: Store) -> None:
        await store.finish(closed("a"), [judged("a")], [], [])
        first = await store.baselines.live_counts(["shop"], Seen(), 0)
        for revision in (2, 3):
            await store.finish(closed("a", revision=revision), [judged("a", revision=revision, outcome=NO)], [], [])
        then = await store.baselines.live_counts(["shop"], first.seen, 0)
        assert sorted((one.count.passed, one.count.failed) for one in then.counts) == [(-1, 0), (0, 1)]

    async def test_live_counts_leave_out_other_services_and_what_closed_before(self, store: Store) -> None:
        await store.finish(closed("a", closed_ns=NOW_NS - HOUR_NS), [judged("a")], [], [])
        await store.finish(closed("b", service="desk"), [judged("b")], [], [])
        await store.finish(closed("c"), [judged("c")], [], [])
        found = await store.baselines.live_counts(["shop"], Seen(), NOW_NS)
        assert [one.count.total for one in found.counts] == [1]
        assert len((await store.baselines.live_counts(["shop", "desk"], Seen(), 0)).counts) == 3
