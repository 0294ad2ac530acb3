"""What every store does with what people said about verdicts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from collector.store.labels import Counted, GivenLabel, Label
from collector.store.store import ClosedSession, Store, VerdictFilter
from judge.pass_rates import Tally, of_session
from judge.verdict import Judged, NotApplicable, NotJudged, Outcome, Score
from judge.yardstick import Yardstick
from tests.contracts.store import Opener
from tests.fakes.verdicts import NOW_NS, answered, closed, judged, pending

YES, NO = Score(1.0, "yes", ""), Score(0.0, "no", "")
RIGHT = judged()
WRONG = judged(ref="span:a/c", outcome=NO)
YARDSTICK = Yardstick("skill_selection", "v1")


def said(
    verdict: Judged = RIGHT, author: str = "ana", at_ns: int = NOW_NS, *, agrees: bool = True, passes: bool = True
) -> Label:
    return Label(verdict.id, author, at_ns, agrees, passes, "I read it.", None if agrees else "no")


class LabelContract:
    """Derive, and give it a fixture `opener` that opens the same data again at every call."""

    @pytest_asyncio.fixture
    async def store(self, opener: Opener) -> AsyncIterator[Store]:
        store = await opener()
        await store.finish(closed(), [RIGHT, WRONG], [pending()], [])
        yield store
        await store.close()

    async def test_a_label_is_kept_with_what_had_been_found(self, store: Store) -> None:
        assert await store.labels.add(said())
        assert await store.labels.of_verdicts([RIGHT.id, WRONG.id]) == [said()]
        assert await store.labels.given() == [GivenLabel(said(), RIGHT.session, YARDSTICK, "yes", True)]

    async def test_what_a_person_said_earlier_stays(self, store: Store) -> None:
        first, second = said(), said(at_ns=NOW_NS + 1, agrees=False, passes=False)
        assert await store.labels.add(second)
        assert await store.labels.add(first)
        assert await store.labels.of_verdicts([RIGHT.id]) == [first, second]

    async def test_several_people_may_label_one_verdict(self, store: Store) -> None:
        for author in ("ana", "bo"):
            assert await store.labels.add(said(author=author))
        assert [one.author for one in await store.labels.of_verdicts([RIGHT.id])] == ["ana", "bo"]

    async def test_the_same_label_again_changes_nothing(self, store: Store) -> None:
        assert await store.labels.add(said())
        assert await store.labels.add(said())
        assert await store.labels.of_verdicts([RIGHT.id]) == [said()]

    @pytest.mark.parametrize("outcome", [NotApplicable("no skill"), NotJudged("judge_refused")])
    async def test_only_a_verdict_with_a_score_can_be_labelled(self, store: Store, outcome: Outcome) -> None:
        without = judged("s-2", outcome=outcome)
        await store.finish(closed("s-2"), [without], [], [])
        assert not await store.labels.add(said(without))
        assert not await store.labels.add(replace(said(), verdict_id="unknown"))
        assert not await store.labels.add(replace(said(), verdict_id=pending().id))
        assert await store.labels.given() == []

    async def test_labels_are_found_by_evaluator_and_time(self, store: Store) -> None:
        other = judged(evaluator="budgets")
        await store.finish(closed("s-2"), [other], [], [])
        for label in (said(), said(other), said(WRONG, at_ns=NOW_NS + 5)):
            await store.labels.add(label)
        assert [one.label for one in await store.labels.given("budgets")] == [said(other)]
        assert [one.label for one in await store.labels.given(since_ns=NOW_NS + 5)] == [said(WRONG, at_ns=NOW_NS + 5)]

    async def test_verdicts_are_counted_by_session(self, store: Store) -> None:
        await store.finish(closed("s-2"), [judged("s-2", outcome=NO)], [], [])
        (counted,) = await store.labels.counts()
        assert counted == Counted("shop", "7", YARDSTICK, of_session(2, 1, 0.5) + of_session(1, 0, 0.5))

    async def test_counts_tell_apart_what_calibration_tells_apart(self, store: Store) -> None:
        for number, part in enumerate(("judge_model", "prompt_version", "evaluator_version")):
            one = judged(f"s-{number}+")
            verdict = replace(one.verdict, **{part: "other"})  # type: ignore[arg-type]
            await store.finish(closed(f"s-{number}+"), [replace(one, verdict=verdict)], [], [])
        found = {counted.yardstick: counted.tally.verdicts for counted in await store.labels.counts()}
        assert found == {
            YARDSTICK: 2,
            Yardstick("skill_selection", "v1", "other"): 1,
            Yardstick("skill_selection", "v1", None, "other"): 1,
            Yardstick("skill_selection", "other"): 1,
        }

    async def test_what_has_no_score_is_not_counted(self, store: Store) -> None:
        await store.finish(closed("s-2"), [judged("s-2", outcome=NotJudged("judge_refused"))], [], [])
        assert [one.tally.verdicts for one in await store.labels.counts()] == [2]
        await store.settle(answered(pending(), YES), [])
        assert [one.tally.verdicts for one in await store.labels.counts()] == [3]

    async def test_superseded_closings_are_not_counted(self, store: Store) -> None:
        again = closed(revision=2, closed_ns=NOW_NS + 1)
        await store.finish(again, [judged(revision=2)], [], [])
        late: ClosedSession = replace(closed(revision=3, closed_ns=NOW_NS + 2), judged=False)
        await store.finish(late, [], [], [])
        (counted,) = await store.labels.counts()
        assert counted.tally == of_session(1, 1, 0.5)

    async def test_counts_can_be_limited_to_a_time_and_to_evaluators(self, store: Store) -> None:
        await store.finish(closed("s-2", closed_ns=NOW_NS + 9), [judged("s-2", "budgets")], [], [])
        assert [one.yardstick.evaluator for one in await store.labels.counts(NOW_NS + 1)] == ["budgets"]
        assert [one.yardstick.evaluator for one in await store.labels.counts(None, ["skill_selection"])] == [
            "skill_selection"
        ]
        assert sum((one.tally for one in await store.labels.counts(NOW_NS + 10)), Tally()) == Tally()

    async def test_the_labels_an_evaluator_has_given_are_known(self, store: Store) -> None:
        high, low = Score(0.6, "partly", ""), Score(0.4, "partly", "")
        verdicts = [judged("s-2", ref="1", outcome=high), judged("s-2", ref="2", outcome=low)]
        await store.finish(closed("s-2"), verdicts, [], [])
        assert await store.labels.known_labels("skill_selection") == {
            "yes": {True},
            "no": {False},
            "partly": {True, False},
        }

    async def test_labels_an_evaluator_has_given_to_one_tenant_are_known_apart(self, store: Store) -> None:
        theirs = judged("s-2", tenant="north", ref="1", outcome=Score(0.6, "partly", ""))
        await store.finish(closed("s-2", tenant="north"), [theirs], [], [])
        known = store.labels.known_labels
        assert await known("skill_selection", frozenset({"north"})) == {"partly": {True}}
        assert await known("skill_selection", frozenset({""})) == {"yes": {True}, "no": {False}}
        assert await known("skill_selection", frozenset()) == {}

    async def test_labels_outlive_the_session(self, opener: Opener, store: Store) -> None:
        await store.labels.add(said())
        assert await store.retention.purge(NOW_NS + 1, 10) == 1
        assert [one.label for one in await store.labels.given()] == [said()]
        again = await opener()
        assert [one.label for one in await again.labels.given()] == [said()]
        await again.close()

    @pytest.mark.parametrize(
        ("where", "wanted"),
        [
            (VerdictFilter(session_id="s-1"), {"yes", "no"}),
            (VerdictFilter(id_prefix=WRONG.id[:8]), {"no"}),
            (VerdictFilter(id_prefix=WRONG.id), {"no"}),
            (VerdictFilter(id_prefix="%"), set()),
            (VerdictFilter(evaluator="budgets"), set()),
            (VerdictFilter(evaluator_version="v2"), set()),
            (VerdictFilter(label="no"), {"no"}),
            (VerdictFilter(passed=True), {"yes"}),
            (VerdictFilter(labelled=True), {"yes"}),
            (VerdictFilter(labelled=False), {"no"}),
            (VerdictFilter(since_ns=NOW_NS + 1), set()),
            (VerdictFilter(newest_closing=True), {"yes", "no"}),
        ],
    )
    async def test_verdicts_are_found(self, store: Store, where: VerdictFilter, wanted: set[str]) -> None:
        await store.labels.add(said())
        found = await store.find_verdicts(where)
        assert {one.verdict.outcome.label for one in found if isinstance(one.verdict.outcome, Score)} == wanted

    async def test_verdicts_come_newest_first_or_by_chance(self, store: Store) -> None:
        for number in range(5):
            session = f"s-{number}+"
            await store.finish(closed(session, closed_ns=NOW_NS + number), [judged(session)], [], [])
        newest = await store.find_verdicts(VerdictFilter(limit=2))
        assert [one.session.session_id for one in newest] == ["s-4+", "s-3+"]
        by_chance = await store.find_verdicts(VerdictFilter(order="by_chance"))
        assert [one.id for one in by_chance] == sorted(one.id for one in by_chance)
        assert len(by_chance) == 7

    async def test_superseded_verdicts_can_be_left_out(self, store: Store) -> None:
        again = judged(revision=2)
        await store.finish(closed(revision=2, closed_ns=NOW_NS + 1), [again], [], [])
        assert await store.find_verdicts(VerdictFilter(newest_closing=True)) == [again]
