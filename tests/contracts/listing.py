"""What any store's `Listing` does. A test module of an implementation derives a class from `ListingContract`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from collector.store.listing import MOST_FAILED, Failed, LoadsCounted, Offered, Stretch, Wanted
from collector.store.sql_listing import SqlListing
from collector.store.store import ClosedSession, SessionFilter, Store, VerdictFilter
from extractors.anchors import Anchor
from extractors.skills import LoadOutcome, Skill, SkillInvocation
from extractors.trajectory import Agent
from judge.verdict import NotApplicable, NotJudged, Score
from tests.contracts.store import Opener
from tests.fakes.verdicts import ANCHOR, NOW_NS, TRACE_ID, closed, judged, pending

YES, NO = Score(1.0, "yes", "It fits the task."), Score(0.0, "no", "It does not.")
OTHER = Anchor("span", "5b8aa5a2d2c872e8321cf37308d69df2", "051581bf3cb55c13")


def with_skills(session: ClosedSession, version: str = "7") -> ClosedSession:
    """Two skills on offer, one loaded twice and one refused."""
    assert session.trajectory is not None
    loads = (
        SkillInvocation("refunds", LoadOutcome.LOADED, ANCHOR, "root"),
        SkillInvocation("refunds", LoadOutcome.LOADED, OTHER, "root"),
        SkillInvocation("billing", LoadOutcome.REFUSED, ANCHOR, "root", refusal="not today"),
    )
    versions = replace(session.trajectory.versions, agent_version=version)
    helper = Agent("a1", "helper", parent="root", offered_skills=(Skill("maps"),))
    return replace(
        session,
        trajectory=replace(
            session.trajectory,
            skill_invocations=loads,
            offered_skills=(Skill("refunds"), Skill("billing")),
            agents=(Agent("root"), helper),
            versions=versions,
        ),
    )


class ListingContract:
    """Derive, and give it a fixture `opener` that opens the same data again at every call."""

    @pytest_asyncio.fixture
    async def store(self, opener: Opener) -> AsyncIterator[Store]:
        store = await opener()
        yield store
        await store.close()

    async def ids(self, store: Store, **wanted: object) -> list[str]:
        page = await store.listing.page(Wanted(**wanted))  # type: ignore[arg-type]
        return [line.ref.session_id for line in page.lines]

    async def test_sessions_are_listed_newest_first_with_how_their_verdicts_stand(self, store: Store) -> None:
        failed = judged(evaluator="budgets", outcome=NO)
        unknown = judged(evaluator="goal_completion", outcome=NotJudged("judge_refused"))
        await store.finish(closed(), [judged(), failed, unknown], [pending()], [])
        await store.finish(closed("s-2", closed_ns=NOW_NS + 1), [], [], [])
        page = await store.listing.page(Wanted())
        newest, line = page.lines
        assert (newest.ref, line.ref) == (closed("s-2").ref, closed().ref)
        assert (line.passed, line.failed, line.not_judged, line.pending) == (1, 1, 1, 1)
        assert (line.service, line.agent, line.harness, line.task) == ("shop", "clerk", "strands", "Refund order 7")
        assert (line.judged, line.superseded, page.following) == (True, False, None)

    async def test_a_line_tells_how_its_session_failed_what_was_asked_for_first(self, store: Store) -> None:
        alike = [judged(evaluator="step_efficiency", outcome=NO, skill=None, ref=f"call-{n}") for n in range(9)]
        others = [judged(evaluator=name, outcome=NO, skill=None) for name in ("budgets", "composite", "faithfulness")]
        of_skill = judged(outcome=NO, skill="maps", ref="load-1")
        await store.finish(closed(), [judged(), of_skill, *alike, *others], [], [])
        await store.finish(closed("s-2", closed_ns=NOW_NS + 1), [judged("s-2")], [], [])
        fine, line = (await store.listing.page(Wanted())).lines
        assert fine.failures == ()
        assert [one.evaluator for one in line.failures] == ["budgets", "composite", "faithfulness"]
        assert line.failed == 13
        (line,) = (await store.listing.page(Wanted(skill="maps", label="no"))).lines
        assert line.failures[0] == Failed("skill_selection", "no", "maps", 1)
        assert len(line.failures) == MOST_FAILED
        (line,) = (await store.listing.page(Wanted(evaluator="step_efficiency", outcome="failed"))).lines
        assert line.failures[0] == Failed("step_efficiency", "no", None, 9)

    async def test_every_session_is_on_one_page_though_many_closed_at_the_same_moment(self, store: Store) -> None:
        for number in range(7):
            await store.finish(closed(f"s-{number}", closed_ns=NOW_NS + number // 3), [], [], [])
        seen: list[str] = []
        after = None
        for _ in range(4):
            page = await store.listing.page(Wanted(limit=2, after=after))
            seen += [line.ref.session_id for line in page.lines]
            after = page.following
        assert seen == [f"s-{number}" for number in reversed(range(7))]
        assert after is None

    async def test_sessions_are_filtered_by_what_they_were(self, store: Store) -> None:
        await store.finish(with_skills(closed("a"), version="8"), [], [], [])
        await store.finish(closed("b", service="bank", harness="codex", closed_ns=NOW_NS + 5), [], [], [])
        await store.finish(closed("c", tenant="north", closed_ns=NOW_NS + 9), [], [], [])
        assert await self.ids(store, service="bank") == ["b"]
        assert await self.ids(store, version="8") == ["a"]
        assert await self.ids(store, harness="codex") == ["b"]
        assert await self.ids(store, tenant="north") == ["c"]
        assert await self.ids(store, since_ns=NOW_NS + 5) == ["c", "b"]
        assert await self.ids(store, until_ns=NOW_NS + 5) == ["a"]
        assert await self.ids(store, service="bank", harness="strands") == []

    async def test_evaluator_label_skill_and_outcome_are_those_of_one_verdict(self, store: Store) -> None:
        for name, outcome in (("good", YES), ("bad", NO)):
            await store.finish(closed(name), [judged(name, outcome=outcome), judged(name, "budgets")], [], [])
        await store.finish(closed("none"), [judged("none", outcome=NotApplicable("no skill"))], [], [])
        assert await self.ids(store, evaluator="skill_selection", label="no") == ["bad"]
        assert await self.ids(store, evaluator="budgets", label="no") == []
        assert await self.ids(store, skill="refunds", label="yes", evaluator="skill_selection") == ["good"]
        assert await self.ids(store, skill="billing") == []
        assert await self.ids(store, evaluator="skill_selection", outcome="passed") == ["good"]
        assert await self.ids(store, evaluator="budgets", outcome="passed") == ["bad", "good"]
        assert await self.ids(store, evaluator="budgets", outcome="failed") == []

    async def test_an_outcome_alone_is_that_of_the_session(self, store: Store) -> None:
        await store.finish(closed("good"), [judged("good")], [], [])
        await store.finish(closed("bad"), [judged("bad"), judged("bad", "budgets", outcome=NO)], [], [])
        await store.finish(closed("unknown"), [judged("unknown", outcome=NotJudged("judge_refused"))], [], [])
        await store.finish(closed("open"), [], [pending("open")], [])
        assert await self.ids(store, outcome="passed") == ["good"]
        assert await self.ids(store, outcome="failed") == ["bad"]
        assert await self.ids(store, outcome="not_judged") == ["unknown"]
        assert await self.ids(store, outcome="waiting") == ["open"]
        assert await self.ids(store, outcome="waiting", evaluator="budgets") == []

    async def test_a_text_is_found_whatever_its_case_and_is_no_pattern(self, store: Store) -> None:
        await store.finish(closed("a", task="Refund 50% of order 7"), [], [], [])
        await store.finish(closed("b", task="Refund 50 of order 7"), [], [], [])
        assert await self.ids(store, text="50% OF") == ["a"]
        assert await self.ids(store, text="refund") == ["b", "a"]
        assert await self.ids(store, text="SHOP", service="shop") == ["b", "a"]

    async def test_nobodys_sessions_are_seen_but_those_of_the_tenants_given(self, store: Store) -> None:
        for tenant in ("", "north", "south"):
            session = closed(f"of-{tenant}", tenant=tenant, service=f"desk-{tenant}")
            await store.finish(session, [judged(f"of-{tenant}", tenant=tenant, ref=f"span:{tenant}/1")], [], [])
        only = frozenset({"north"})
        assert await self.ids(store, tenants=only) == ["of-north"]
        assert await self.ids(store, tenants=only, tenant="south") == []
        assert await self.ids(store, tenants=frozenset()) == []
        assert [ref.tenant for ref in await store.listing.of_trace(TRACE_ID, only)] == ["north"]
        assert (await store.listing.names(only)).services == ("desk-north",)
        assert [one.service for one in (await store.listing.counts(Stretch(0, 10**18, tenants=only))).sessions] == [
            "desk-north"
        ]
        assert [one.ref.tenant for one in await store.sessions(SessionFilter(tenants=only))] == ["north"]
        assert [one.session.tenant for one in await store.find_verdicts(VerdictFilter(tenants=only))] == ["north"]
        assert await store.find_verdicts(VerdictFilter(tenants=frozenset())) == []

    async def test_a_session_is_found_by_every_trace_it_was_read_from(self, store: Store) -> None:
        await store.finish(with_skills(closed()), [], [], [])
        await store.finish(with_skills(closed(revision=2, closed_ns=NOW_NS + 5)), [], [], [])
        newest_first = [closed(revision=2).ref, closed().ref]
        for trace in (TRACE_ID, OTHER.trace_id):
            assert trace is not None
            assert await store.listing.of_trace(trace) == newest_first
        assert await store.listing.of_trace("f" * 32) == []

    async def test_a_superseded_closing_says_so_and_is_not_counted(self, store: Store) -> None:
        await store.finish(closed(), [judged()], [], [])
        await store.finish(closed(revision=2, closed_ns=NOW_NS + 5), [judged(revision=2)], [], [])
        page = await store.listing.page(Wanted())
        assert [(line.ref.revision, line.superseded) for line in page.lines] == [(2, False), (1, True)]
        counts = await store.listing.counts(Stretch(NOW_NS, 10))
        assert [one.sessions for one in counts.sessions] == [1]

    async def test_verdicts_loads_and_offers_are_counted_by_version_and_piece(self, store: Store) -> None:
        verdicts = [judged("a"), judged("a", "budgets", outcome=NO, skill=None, ref="session")]
        await store.finish(with_skills(closed("a")), verdicts, [], [])
        later = with_skills(closed("b", closed_ns=NOW_NS + 25), version="8")
        await store.finish(later, [judged("b", outcome=NotJudged("judge_refused"))], [], [])
        await store.finish(closed("c", closed_ns=NOW_NS + 25), [], [], [])
        counts = await store.listing.counts(Stretch(NOW_NS, 10))
        found = {(one.version, one.evaluator, one.skill, one.piece): one for one in counts.verdicts}
        assert found["7", "skill_selection", "refunds", 0].passed == 1
        assert found["7", "budgets", None, 0].failed == 1
        assert found["8", "skill_selection", "refunds", 2].not_judged == 1
        assert set(counts.loads) == {
            LoadsCounted("shop", version, skill, piece, *numbers)
            for version, piece in (("7", 0), ("8", 2))
            for skill, numbers in (("refunds", (2, 0, 0)), ("billing", (0, 1, 0)))
        }
        everything = ("billing", "maps", "refunds")
        assert {(one.version, one.skills, one.sessions) for one in counts.offered} == {
            ("7", everything, 1),
            ("8", everything, 1),
            (None, None, 1),
        }
        assert counts.complete
        assert (await store.listing.counts(Stretch(NOW_NS + 20, 10, service="nobody"))).sessions == []
        assert Offered("shop", "7", everything, 1) in counts.offered

    @pytest.mark.parametrize("name", ["x" * 5_000, "a\x00b", "half \ud83d"])
    async def test_a_skill_may_have_any_name(self, store: Store, name: str) -> None:
        session = with_skills(closed())
        assert session.trajectory is not None
        load = SkillInvocation(name, LoadOutcome.LOADED, ANCHOR, "root")
        offered = (Skill(name),)
        odd = replace(
            session, trajectory=replace(session.trajectory, skill_invocations=(load,), offered_skills=offered)
        )
        assert await store.finish(odd, [judged(skill=name)], [], [])
        assert await self.ids(store, skill=name) == ["s-1"]

    @pytest.mark.parametrize(
        "name", ["service", "version", "harness", "tenant", "evaluator", "label", "skill", "session_id"]
    )
    async def test_any_character_may_be_asked_for_in_any_filter(self, store: Store, name: str) -> None:
        await store.finish(closed(), [judged()], [], [])
        for odd in ("a\x00b", "\x00", "%", "\x1a0000", "'; DROP TABLE sessions; --", "x" * 5_000):
            if name == "session_id":
                assert await store.refs(odd) == []
                assert await store.session(odd) == []
                assert await store.listing.of_trace(odd) == []
            else:
                assert await self.ids(store, **{name: odd}) == []
                assert await self.ids(store, **{name: odd, "outcome": "failed"}) == []
                stretch = Stretch(0, 10**18, service=odd, tenants=frozenset({odd}))
                assert (await store.listing.counts(stretch)).sessions == []

    @pytest.mark.parametrize("text", ["\x00", "zz\x00", "%", "_", "\\"])
    async def test_a_search_finds_what_has_the_text_and_takes_no_character_for_any(
        self, store: Store, text: str
    ) -> None:
        await store.finish(closed(), [], [], [])
        assert await self.ids(store, text=text) == []
        assert [one.ref.session_id for one in await store.sessions(SessionFilter(text=text))] == []
        assert await self.ids(store, text="ORDER 7\x00") == ["s-1"]

    async def test_names_are_those_of_the_newest_sessions(self, store: Store) -> None:
        await store.finish(closed(), [judged(), judged(evaluator="budgets", outcome=NotApplicable("none"))], [], [])
        names = await store.listing.names()
        assert (names.services, names.harnesses, names.tenants) == (("shop",), ("strands",), ())
        assert (names.evaluators, names.labels, names.skills) == (("skill_selection",), ("yes",), ("refunds",))

    async def test_what_is_deleted_is_found_by_nothing_any_more(self, store: Store) -> None:
        await store.finish(with_skills(closed()), [judged()], [], [])
        assert await store.retention.purge(NOW_NS + 1, 10) == 1
        assert await store.listing.of_trace(TRACE_ID) == []
        assert (await store.listing.counts(Stretch(0, 10**18))).loads == []

    async def test_a_closing_that_was_never_judged_supersedes_nothing(self, store: Store) -> None:
        await store.finish(closed(), [judged()], [], [])
        await store.finish(replace(closed(revision=2, closed_ns=NOW_NS + 5), judged=False), [], [], [])
        counts = await store.listing.counts(Stretch(NOW_NS, 10))
        assert [one.sessions for one in counts.sessions] == [1]
        assert sum(one.passed for one in counts.verdicts) == 1

    async def test_a_whole_session_or_trace_id_is_found_however_old(self, opener: Opener) -> None:
        store = await opener()
        await store.finish(with_skills(closed("old-1")), [], [], [])
        await store.finish(closed("old-2", tenant="north"), [], [], [])
        for number in range(4):
            await store.finish(closed(f"new-{number}", closed_ns=NOW_NS + 10 + number, task=None), [], [], [])
        narrow = SqlListing(store._read, searched=2)  # type: ignore[attr-defined]
        for text in ("old-1", OTHER.trace_id or ""):
            page = await narrow.page(Wanted(text=text))
            assert [line.ref.session_id for line in page.lines] == ["old-1"]
        assert (await narrow.page(Wanted(text="old-2", tenants=frozenset({""})))).lines == ()
        await store.close()

    async def test_a_search_that_stops_says_so_and_goes_on(self, opener: Opener) -> None:
        store = await opener()
        for number in range(5):
            task = "a kettle" if number == 0 else "a mug"
            await store.finish(closed(f"s-{number}", closed_ns=NOW_NS + number, task=task), [], [], [])
        narrow = SqlListing(store._read, searched=3)  # type: ignore[attr-defined]
        first = await narrow.page(Wanted(text="kettle"))
        assert (first.lines, first.searched_all) == ((), False)
        second = await narrow.page(Wanted(text="kettle", after=first.following))
        assert [line.ref.session_id for line in second.lines] == ["s-0"]
        assert (second.following, second.searched_all) == (None, True)
        await store.close()
