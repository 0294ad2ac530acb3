"""What any `Store` does. A test module of an implementation derives a class from `StoreContract`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

import pytest
import pytest_asyncio

from collector.store.finishing import Kept, KeptBefore, TooLate, finishing
from collector.store.ledger import Batch, BatchItem, Reservation, item_id
from collector.store.obstacles import Obstacle, OpenQuestion, Told
from collector.store.store import Closing, DueQuestion, Held, OfModel, SessionFilter, Store, VerdictFilter
from extractors.anchors import Anchor
from extractors.trajectory import CallOutcome, ToolCall
from judge.budget import Amount
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, SessionRef
from tests.fakes.verdicts import NOW_NS, answered, closed, judged, pending

Opener: TypeAlias = Callable[[], Awaitable[Store]]

YES = Score(1.0, "yes", "It fits the task.")
NO = Score(0.0, "no", "It does not.")


class StoreContract:
    """Derive, and give it a fixture `opener` that opens the same data again at every call."""

    @pytest_asyncio.fixture
    async def store(self, opener: Opener) -> AsyncIterator[Store]:
        store = await opener()
        yield store
        await store.close()

    async def test_what_was_finished_reads_back_the_same(self, store: Store) -> None:
        session, verdicts, question = closed(), [judged(), judged(evaluator="budgets", outcome=NO)], pending()
        assert await store.finish(session, verdicts, [question], [])
        assert await store.session("s-1") == [session]
        assert await store.verdicts(session.ref) == [*verdicts, question.draft]
        assert await store.due_questions(NOW_NS, 10) == [question]
        assert await store.closings("s-1", "") == [Closing(1, NOW_NS, True)]

    async def test_finishing_twice_writes_nothing_the_second_time(self, store: Store) -> None:
        assert await store.finish(closed(), [judged()], [], ["otlp"])
        other = judged(evaluator="budgets")
        assert not await store.finish(closed(task="another"), [other], [pending()], ["otlp"])
        assert await store.session("s-1") == [closed()]
        assert await store.verdicts(closed().ref) == [judged()]
        assert await store.pending_questions() == 0
        assert await store.outbox_size("otlp") == 1

    async def test_many_closings_are_finished_at_once(self, store: Store) -> None:
        judgements = {name: judged(name) for name in ("a", "b")}
        question = pending("c")
        closings = [finishing(closed(name), [verdict], []) for name, verdict in judgements.items()]
        closings.append(finishing(closed("c"), [judged("c", outcome=NotApplicable("no skill"))], [question]))
        assert await store.finish_all(closings, ["otlp"]) == [Kept()] * 3
        assert [await store.session(name) for name in "abc"] == [[closed(name)] for name in "abc"]
        assert await store.verdicts(closed("a").ref) == [judgements["a"]]
        assert await store.due_questions(NOW_NS, 10) == [question]
        assert [item.judged.session.session_id for item in await store.due_exports("otlp", NOW_NS, 10)] == ["a", "b"]

    async def test_of_many_closings_those_finished_before_are_told_and_left_alone(self, store: Store) -> None:
        await store.finish(closed("a", task="first"), [], [], [])
        again = [finishing(closed(name), [judged(name)], [], next_only=True) for name in ("a", "b", "b")]
        assert await store.finish_all(again, ["otlp"]) == [KeptBefore(), Kept(), KeptBefore()]
        assert await store.session("a") == [closed("a", task="first")]
        assert await store.outbox_size("otlp") == 1

    async def test_a_revision_of_another_time_that_is_not_the_next_one_is_too_late(self, store: Store) -> None:
        await store.finish(closed(), [], [], [])
        second, first_anew = closed(revision=2, closed_ns=NOW_NS + 9), closed(closed_ns=NOW_NS + 20)
        group = [finishing(session, [], [], next_only=True) for session in (second, first_anew)]
        assert await store.finish_all(group, []) == [Kept(), TooLate(2)]
        assert await store.session("s-1") == [second, closed()]
        assert await store.refs("s-1") == [second.ref, closed().ref]
        assert await store.session("s-1", "", 1) == [closed()]
        assert await store.session("s-1", revision=3) == []
        assert await store.refs("s-1", "north") == []

    async def test_what_was_judged_alone_is_superseded_with_the_session_that_it_belongs_to(self, store: Store) -> None:
        await store.finish(closed("trace"), [judged("trace")], [], [])
        gone = [replace(closed(name, revision=2, closed_ns=NOW_NS + 9), note="moved") for name in ("trace", "unheard")]
        whole = closed(closed_ns=NOW_NS + 9)
        with_them = finishing(whole, [judged()], [], next_only=True, moved=gone)
        assert await store.finish_all([with_them], []) == [Kept()]
        assert await store.session("trace") == [gone[0], closed("trace")]
        assert await store.session("unheard") == []
        assert await store.find_verdicts(VerdictFilter(session_id="trace", newest_closing=True)) == []

    async def test_a_new_revision_stands_beside_the_old_one_and_comes_first(self, store: Store) -> None:
        first, second = closed(), closed(revision=2, closed_ns=NOW_NS + 5)
        for session in (first, second):
            assert await store.finish(session, [judged(revision=session.ref.revision)], [], [])
        assert await store.session("s-1") == [second, first]
        assert await store.closings("s-1", "") == [Closing(2, NOW_NS + 5, True), Closing(1, NOW_NS, True)]
        assert await store.verdicts(second.ref) == [judged(revision=2)]

    async def test_telemetry_kept_but_not_judged_says_so(self, store: Store) -> None:
        await store.finish(closed(), [], [], [])
        await store.finish(replace(closed(revision=2), judged=False), [], [], [])
        assert [closing.judged for closing in await store.closings("s-1", "")] == [False, True]
        assert len(await store.session("s-1")) == 2

    async def test_tenants_may_use_the_same_session_id(self, store: Store) -> None:
        for tenant in ("a", "b"):
            assert await store.finish(closed(tenant=tenant), [judged(tenant=tenant)], [], [])
        assert [session.ref.tenant for session in await store.session("s-1", "b")] == ["b"]
        assert len(await store.session("s-1")) == 2
        assert await store.closings("s-1", "c") == []
        assert await store.verdicts(SessionRef("s-1", 1, "a")) == [judged(tenant="a")]

    async def test_verdicts_of_many_closings_are_told_apart(self, store: Store) -> None:
        question = pending()
        await store.finish(closed(tenant="a"), [judged(tenant="a")], [], [])
        await store.finish(closed(), [judged(), judged(evaluator="budgets", outcome=NO)], [question], [])
        await store.finish(closed(revision=2), [judged(revision=2)], [], [])
        refs = [SessionRef("s-1", 1, "a"), SessionRef("s-1", 1), SessionRef("s-1", 2), SessionRef("s-1", 3)]
        many = [*refs, *(SessionRef(f"none-{number}", 1) for number in range(250))]
        found = await store.verdicts_of(many)
        assert [found[ref] for ref in refs] == [
            [judged(tenant="a")],
            [judged(), judged(evaluator="budgets", outcome=NO), question.draft],
            [judged(revision=2)],
            [],
        ]
        assert await store.verdicts_of([]) == {}

    async def test_a_settled_question_becomes_a_verdict_and_is_queued(self, store: Store) -> None:
        question = pending()
        await store.finish(closed(), [], [question], ["otlp"])
        verdict = answered(question, YES)
        assert await store.settle(verdict, ["otlp"])
        assert await store.verdicts(closed().ref) == [verdict]
        assert await store.pending_questions() == 0
        assert [item.judged for item in await store.due_exports("otlp", NOW_NS, 10)] == [verdict]

    async def test_settling_twice_keeps_the_first_answer(self, store: Store) -> None:
        question = pending()
        await store.finish(closed(), [], [question], [])
        assert await store.settle(answered(question, YES), ["otlp"])
        assert not await store.settle(answered(question, NO), ["otlp"])
        assert await store.verdicts(closed().ref) == [answered(question, YES)]
        assert await store.outbox_size("otlp") == 1

    async def test_settling_at_the_same_time_has_one_winner(self, store: Store) -> None:
        question = pending()
        await store.finish(closed(), [], [question], [])
        results = await asyncio.gather(*(store.settle(answered(question, YES), ["otlp"]) for _ in range(5)))
        assert sorted(results) == [False, False, False, False, True]
        assert await store.outbox_size("otlp") == 1

    async def test_settling_what_was_never_asked_writes_nothing(self, store: Store) -> None:
        assert not await store.settle(judged(), ["otlp"])
        assert await store.outbox_size("otlp") == 0

    async def test_high_risk_questions_come_first_then_the_oldest(self, store: Store) -> None:
        young = pending(ref="young", created_ns=NOW_NS + 9)
        old = pending(ref="old", created_ns=NOW_NS)
        risky = pending(ref="risky", created_ns=NOW_NS + 10, high_risk=True)
        await store.finish(closed(), [], [young, old, risky], [])
        assert await store.due_questions(NOW_NS, 10) == [risky, old, young]
        assert await store.due_questions(NOW_NS, 2) == [risky, old]

    async def test_held_questions_are_passed_over_and_those_behind_them_come(self, store: Store) -> None:
        plain, risky = pending(ref="plain"), pending(ref="risky", high_risk=True)
        await store.finish(closed(), [], [plain, risky], [])
        for evaluator in (None, "skill_selection"):
            assert await store.due_questions(NOW_NS, 10, held=[Held(evaluator, high_risk=True)]) == []
            assert await store.due_questions(NOW_NS, 10, held=[Held(evaluator, high_risk=False)]) == [risky]
        assert await store.due_questions(NOW_NS, 10, held=[Held("another", high_risk=True)]) == [risky, plain]
        assert await store.due_questions(NOW_NS, 1, but_not=[risky.id]) == [plain]

    async def test_questions_are_held_and_chosen_by_the_model_they_bring(self, store: Store) -> None:
        usual, dear = pending(ref="usual"), pending(ref="dear")
        dear = replace(dear, question=replace(dear.question, model="model-b"))
        await store.finish(closed(), [], [usual, dear], [])
        for one, of_its_model in ((usual, OfModel(None)), (dear, OfModel("model-b"))):
            assert await store.due_questions(NOW_NS, 10, only=[of_its_model]) == [one]
            (other,) = await store.due_questions(NOW_NS, 10, held=[of_its_model])
            assert other != one
        assert await store.due_questions(NOW_NS, 10, held=[OfModel("model-c")]) == [usual, dear]
        assert await store.due_questions(NOW_NS, 10, only=[OfModel("model-b"), OfModel(None)]) == [usual, dear]

    async def test_what_waits_for_a_batch_is_told_without_its_record_and_without_high_risk(self, store: Store) -> None:
        young, old = pending(ref="young", created_ns=NOW_NS + 9), pending(ref="old", created_ns=NOW_NS)
        risky = [pending(ref=f"risky{number}", high_risk=True) for number in range(5)]
        await store.finish(closed(), [], [young, old, *risky], [])
        await store.postpone_question(young.id, 1, NOW_NS + 1)
        assert await store.due_for_batch(NOW_NS, 3) == [DueQuestion(old.id, NOW_NS)]
        assert await store.due_for_batch(NOW_NS + 1, 3) == [
            DueQuestion(old.id, NOW_NS),
            DueQuestion(young.id, NOW_NS + 9),
        ]
        assert await store.due_for_batch(NOW_NS + 1, 1, but_not=[old.id]) == [DueQuestion(young.id, NOW_NS + 9)]
        assert await store.due_for_batch(NOW_NS + 1, 3, held=[OfModel(None)]) == []

    async def test_the_oldest_open_question_is_known(self, store: Store) -> None:
        older, newer = pending(), pending(ref="other", created_ns=NOW_NS + 5)
        await store.finish(closed(), [], [older, newer], [])
        assert await store.oldest_question_ns() == NOW_NS
        await store.settle(answered(older, YES), [])
        assert await store.oldest_question_ns() == NOW_NS + 5
        await store.settle(answered(newer, YES), [])
        assert (await store.pending_questions(), await store.oldest_question_ns()) == (0, None)

    async def test_the_oldest_open_question_of_high_risk_is_known(self, store: Store) -> None:
        risky = pending(ref="risky", created_ns=NOW_NS + 5, high_risk=True)
        await store.finish(closed(), [], [pending(), risky], [])
        assert await store.oldest_question_ns(of_high_risk=True) == NOW_NS + 5
        await store.settle(answered(risky, YES), [])
        assert await store.oldest_question_ns(of_high_risk=True) is None

    async def test_open_questions_of_a_closing_say_how_they_stand(self, store: Store) -> None:
        fresh, tried = pending(next_ns=NOW_NS), pending(ref="tried", high_risk=True)
        await store.finish(closed(), [], [fresh, tried], [])
        await store.finish(closed("s-2"), [], [pending("s-2")], [])
        await store.postpone_question(tried.id, 2, NOW_NS + 60, "judge_unavailable: 529 \x00overloaded")
        name = fresh.question.evaluator
        assert await store.open_questions(closed().ref) == [
            OpenQuestion(fresh.id, name, None, False, 0, NOW_NS, NOW_NS),
            OpenQuestion(tried.id, name, None, True, 2, NOW_NS + 60, NOW_NS, "judge_unavailable: 529 overloaded"),
        ]
        item = BatchItem(item_id(fresh.id, 0), fresh.id, 0, Reservation(NOW_NS, name, Amount()), "model-a")
        await store.ledger.add_batch(Batch("batch-1", NOW_NS), [item])
        assert [one.in_batch for one in await store.open_questions(closed().ref)] == [True, False]

    async def test_what_was_told_last_of_what_keeps_questions_waiting_stands(self, store: Store) -> None:
        assert await store.obstacles.told() is None
        everything = Told(NOW_NS, (Obstacle("judge_not_authorised", "401 invalid key", NOW_NS + 5),))
        some = Told(NOW_NS + 9, (Obstacle("budget_spent", "gone", models=("a", None), spares_high_risk=True),))
        for told in (everything, some, Told(NOW_NS + 20)):
            await store.obstacles.tell(told)
            assert await store.obstacles.told() == told

    async def test_old_questions_are_found_whether_due_or_not(self, store: Store) -> None:
        old, older = pending(ref="old", created_ns=NOW_NS - 1), pending(ref="older", created_ns=NOW_NS - 2)
        await store.finish(closed(), [], [pending(ref="new"), old, older], [])
        await store.postpone_question(older.id, 3, NOW_NS + 100)
        found = [one.id for one in await store.old_questions(NOW_NS, 10)]
        assert found == [older.id, old.id]
        assert [one.id for one in await store.old_questions(NOW_NS, 10, [older.id])] == [old.id]

    async def test_open_questions_are_found_by_their_ids(self, store: Store) -> None:
        open_one, settled = pending(), pending(ref="settled")
        await store.finish(closed(), [], [open_one, settled], [])
        await store.settle(answered(settled, YES), [])
        assert await store.questions_by_id([open_one.id, settled.id, "unknown"]) == [open_one]
        assert await store.questions_by_id([]) == []

    async def test_a_postponed_question_waits_for_its_time_and_counts_its_attempts(self, store: Store) -> None:
        question = pending()
        await store.finish(closed(), [], [question], [])
        await store.postpone_question(question.id, asked=3, next_ns=NOW_NS + 60)
        assert await store.due_questions(NOW_NS + 59, 10) == []
        assert await store.due_questions(NOW_NS + 60, 10) == [replace(question, asked=3, next_ns=NOW_NS + 60)]
        assert await store.pending_questions() == 1

    async def test_every_exporter_has_an_outbox_of_its_own_oldest_first(self, store: Store) -> None:
        first, second = judged(), judged(evaluator="budgets")
        await store.finish(closed(), [first, second], [], ["otlp", "kafka"])
        await store.mark_exported("otlp", [first.id])
        assert [item.judged for item in await store.due_exports("otlp", NOW_NS, 10)] == [second]
        assert [item.judged for item in await store.due_exports("kafka", NOW_NS, 10)] == [first, second]
        assert [item.judged for item in await store.due_exports("kafka", NOW_NS, 1)] == [first]
        assert (await store.outbox_size("otlp"), await store.outbox_size("kafka")) == (1, 2)

    async def test_a_postponed_export_waits_for_its_time_and_counts_its_attempts(self, store: Store) -> None:
        await store.finish(closed(), [judged()], [], ["otlp", "kafka"])
        await store.postpone_exports("otlp", [judged().id], NOW_NS + 60)
        assert await store.due_exports("otlp", NOW_NS + 59, 10) == []
        assert [item.attempts for item in await store.due_exports("otlp", NOW_NS + 60, 10)] == [1]
        assert [item.attempts for item in await store.due_exports("kafka", NOW_NS, 10)] == [0]

    async def test_marking_what_is_not_queued_changes_nothing(self, store: Store) -> None:
        await store.finish(closed(), [judged()], [], ["otlp"])
        await store.mark_exported("otlp", ["unknown"])
        await store.mark_exported("otlp", [])
        assert await store.outbox_size("otlp") == 1

    async def test_concurrent_finishes_all_arrive(self, store: Store) -> None:
        results = await asyncio.gather(
            *(store.finish(closed(f"s-{n % 30}"), [judged(f"s-{n % 30}")], [], ["otlp"]) for n in range(60))
        )
        assert sum(results) == 30, "each session once, whoever came first"
        assert await store.outbox_size("otlp") == 30
        assert len(await store.sessions(SessionFilter(limit=100))) == 30

    async def test_one_bad_item_does_not_fail_those_beside_it(self, store: Store) -> None:
        too_large = replace(closed("bad"), spans=1 << 80)
        results = await asyncio.gather(
            store.finish(closed("a"), [judged("a")], [], []),
            store.finish(too_large, [judged("bad")], [], []),
            store.finish(closed("b"), [judged("b")], [], []),
            return_exceptions=True,
        )
        assert results[0] is True
        assert isinstance(results[1], Exception)
        assert results[2] is True
        assert await store.session("bad") == []
        assert {summary.ref.session_id for summary in await store.sessions(SessionFilter())} == {"a", "b"}

    async def test_a_reopened_store_shows_everything(self, opener: Opener) -> None:
        store = await opener()
        await store.finish(closed(), [judged()], [pending()], ["otlp"])
        await store.close()
        again = await opener()
        assert await again.session("s-1") == [closed()]
        assert await again.verdicts(closed().ref) == [judged(), pending().draft]
        assert await again.outbox_size("otlp") == 1
        assert not await again.finish(closed(), [], [], [])
        await again.close()

    async def test_a_summary_counts_by_outcome(self, store: Store) -> None:
        outcomes: list[Outcome] = [YES, NO, NO, NotJudged("judge_refused"), NotApplicable("no skill")]
        verdicts = [judged(evaluator=f"e{n}", outcome=outcome) for n, outcome in enumerate(outcomes)]
        await store.finish(closed(), verdicts, [pending()], [])
        (summary,) = await store.sessions(SessionFilter())
        assert (summary.passed, summary.failed, summary.not_judged, summary.pending) == (1, 2, 1, 1)
        assert (summary.ref, summary.harness, summary.service) == (closed().ref, "strands", "shop")
        assert (summary.agent, summary.task, summary.closed_ns) == ("clerk", "Refund order 7", NOW_NS)
        assert (summary.close_reason, summary.spans, summary.records, summary.note) == ("idle", 12, 3, "")

    async def test_sessions_are_listed_newest_first_up_to_the_limit(self, store: Store) -> None:
        for age in (3, 1, 2):
            await store.finish(closed(f"s-{age}", closed_ns=NOW_NS - age), [], [], [])
        listed = await store.sessions(SessionFilter(limit=2))
        assert [summary.ref.session_id for summary in listed] == ["s-1", "s-2"]

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            (SessionFilter(service="bank"), ["s-2"]),
            (SessionFilter(harness="codex"), ["s-2"]),
            (SessionFilter(text="ORDER 7"), ["s-1"]),
            (SessionFilter(text="100%"), ["s-2"]),
            (SessionFilter(text="s_1"), []),
            (SessionFilter(since_ns=NOW_NS + 1), ["s-2"]),
            (SessionFilter(label="no"), ["s-2"]),
            (SessionFilter(evaluator="budgets"), ["s-2"]),
            (SessionFilter(evaluator="budgets", label="yes"), ["s-2"]),
            (SessionFilter(evaluator="budgets", label="no"), []),
            (SessionFilter(service="shop", label="no"), []),
        ],
    )
    async def test_a_filter_finds(self, store: Store, where: SessionFilter, found: list[str]) -> None:
        other = closed("s-2", closed_ns=NOW_NS + 1, task="Raise by 100%", service="bank", harness="codex")
        await store.finish(closed(), [judged()], [], [])
        await store.finish(other, [judged("s-2", outcome=NO), judged("s-2", "budgets", YES)], [], [])
        assert [summary.ref.session_id for summary in await store.sessions(where)] == found

    async def test_a_version_is_found_before_the_limit_counts(self, store: Store) -> None:
        """The agent's version, or the service's where the agent has none."""
        versions = (("7", "1"), ("8", "1"), (None, "7"), ("", "8"), (None, None), ("8", "7"))
        for number, (agent, service) in enumerate(versions):
            session = closed(f"s-{number}", closed_ns=NOW_NS + number)
            assert session.trajectory is not None
            told = replace(session.trajectory.versions, agent_version=agent, service_version=service)
            await store.finish(replace(session, trajectory=replace(session.trajectory, versions=told)), [], [], [])
        found = await store.sessions(SessionFilter(version="7", limit=2))
        assert [summary.ref.session_id for summary in found] == ["s-2", "s-0"]
        found = await store.sessions(SessionFilter(version="8"))
        assert [summary.ref.session_id for summary in found] == ["s-5", "s-3", "s-1"]

    async def test_of_each_session_the_newest_judged_closing_is_found_on_request(self, store: Store) -> None:
        for revision in (1, 2):
            await store.finish(closed("a", revision=revision), [], [], [])
        await store.finish(replace(closed("a", revision=3), judged=False), [], [], [])
        await store.finish(closed("b"), [], [], [])
        found = await store.sessions(SessionFilter(newest_closing=True))
        assert {(summary.ref.session_id, summary.ref.revision) for summary in found} == {("a", 2), ("b", 1)}

    async def test_a_session_nobody_could_read_is_kept_with_its_note(self, store: Store) -> None:
        session = replace(closed(), trajectory=None, note="the extractor failed: KeyError")
        assert await store.finish(session, [], [], [])
        assert await store.session("s-1") == [session]
        (summary,) = await store.sessions(SessionFilter())
        assert (summary.note, summary.service, summary.task) == (session.note, None, None)

    async def test_odd_values_of_an_agent_do_not_cost_the_session(self, store: Store) -> None:
        nested: list[object] = []
        for _ in range(400):
            nested = [nested]
        arguments = {"half": "\ud83d", "bytes": b"\xff", "nan": float("nan"), "deep": nested, "nul": "\x00"}
        call = ToolCall("tool", Anchor("span", None, None), "root", CallOutcome.OK, arguments=arguments)  # type: ignore[arg-type]
        session = closed(task="say \ud83d\x00")
        assert session.trajectory
        session = replace(session, trajectory=replace(session.trajectory, tool_calls=(call,)))
        assert await store.finish(session, [judged(outcome=Score(1.0, "yes", "\ud83d"))], [], ["otlp"])
        (kept,) = await store.session("s-1")
        assert kept.trajectory
        (kept_call,) = kept.trajectory.tool_calls
        assert kept_call.arguments
        assert kept_call.arguments["half"] == "?"
        assert kept_call.arguments["nul"] == "\x00"
        assert "nested too deeply" in str(kept_call.arguments["deep"])
        assert len(await store.due_exports("otlp", NOW_NS, 1)) == 1
