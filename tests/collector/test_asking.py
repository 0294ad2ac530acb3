"""Stored questions become verdicts, in order, whatever happens to the judge, the money, the store or us."""

from __future__ import annotations

import asyncio
import sqlite3
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from collector.concluding import composites_for
from collector.judge_queue.settling import UNREADABLE
from collector.judge_queue.terms import Terms
from collector.store.obstacles import Told
from judge.budget import HOUR_NS, Budget, Limit
from judge.composite import USUAL
from judge.errors import JudgeDeclined, JudgeMisconfigured, JudgeUnavailable
from judge.prices import NANO
from judge.question import Answer, Question
from judge.redaction import Redaction
from judge.retry import RetryPolicy
from judge.verdict import NotJudged, Score
from tests.collector.judge_queue.desk import Desk, ask, price_of, refs
from tests.fakes.clock import FakeClock
from tests.fakes.judges import ScriptedJudge, down, no_key, yes
from tests.fakes.verdicts import NOW_NS, closed, judged

Making = Callable[..., Desk]


@pytest.fixture
async def desk_of(tmp_path: Path) -> AsyncIterator[Making]:
    made: list[Desk] = []

    def make(judge: ScriptedJudge | None = None, clock: FakeClock | None = None, **rest: object) -> Desk:
        made.append(Desk(tmp_path, judge or ScriptedJudge(), clock, **rest))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for desk in made:
        await desk.close()


async def test_an_answer_becomes_the_verdict_and_is_told_and_queued_once(desk_of: Making) -> None:
    desk = desk_of()
    question = ask("a")
    await desk.add(question)
    assert await desk.rounds() == 1
    judged = await desk.verdict(question)
    assert judged
    assert judged.verdict.outcome == Score(1.0, "Yes", "It fits.")
    assert (judged.verdict.judge_model, judged.verdict.input_tokens) == ("judge-a", 1000)
    assert (desk.told, await desk.store.outbox_size("otlp"), await desk.store.pending_questions()) == (1, 1, 0)
    assert desk.metric("judge_requests_total", model="judge-a", outcome="answered") == 1


async def test_high_risk_is_asked_first_then_by_age(desk_of: Making) -> None:
    desk = desk_of(concurrency=1)
    await desk.add(
        ask("young", created_ns=NOW_NS + 2),
        ask("old", created_ns=NOW_NS),
        ask("risky", created_ns=NOW_NS + 9, high_risk=True),
    )
    await desk.rounds()
    assert refs(desk.judge) == ["risky", "old", "young"]


async def test_no_more_are_asked_at_a_time_than_is_allowed(desk_of: Making) -> None:
    desk = desk_of(concurrency=3)
    await desk.add(*(ask(f"q{number}") for number in range(12)))
    desk.judge.hold()
    async with asyncio.TaskGroup() as tasks:
        assert await desk.asking.look(tasks) == 3
        await desk.judge.until_on_their_way(3)
        assert await desk.asking.look(tasks) == 0
        desk.judge.release()
    await desk.rounds()
    assert len(desk.judge.asked) == 12


@pytest.mark.parametrize("turns", range(4))
async def test_it_ends_when_it_is_told_to_though_there_are_new_questions_just_then(desk_of: Making, turns: int) -> None:
    asking = desk_of().asking
    running = asyncio.create_task(asking.run())
    while not asking._poked._waiters:  # noqa: ASYNC110 - it looks into a database first
        await asyncio.sleep(0.01)
    asking.poke()
    for _ in range(turns):
        await asyncio.sleep(0)
    running.cancel()
    done, _ = await asyncio.wait({running}, timeout=5)
    assert done
    assert running.cancelled()


async def test_the_pace_is_kept(desk_of: Making) -> None:
    desk = desk_of(per_minute=6)
    await desk.add(*(ask(f"q{number}") for number in range(5)))
    counts = []
    for _ in range(4):
        await desk.rounds()
        counts.append(len(desk.judge.asked))
        desk.clock.advance(10)
    assert counts == [1, 2, 3, 4]


# -- votes ------------------------------------------------------------------------------------------------------------


async def test_votes_are_asked_one_by_one_and_the_majority_decides(desk_of: Making) -> None:
    labels = iter(["Yes", "No", "Yes"])
    desk = desk_of(ScriptedJudge(lambda _: Answer(next(labels), "Because.", "judge-a", 10, 1)))
    question = ask("a", votes=3)
    await desk.add(question)
    await desk.rounds()
    judged = await desk.verdict(question)
    assert judged
    assert isinstance(judged.verdict.outcome, Score)
    assert judged.verdict.outcome.label == "Yes"
    assert judged.verdict.agreement == pytest.approx(2 / 3)
    assert judged.verdict.input_tokens == 30
    assert len(desk.judge.asked) == 3


async def test_votes_that_were_answered_are_not_asked_again_after_a_crash(desk_of: Making) -> None:
    desk = desk_of()
    question = ask("a", votes=3)
    await desk.add(question)
    await desk.round()
    await desk.round()
    await desk.close()
    again = desk_of(ScriptedJudge())
    await again.rounds()
    assert len(again.judge.asked) == 1
    judged = await again.verdict(question)
    assert judged
    assert judged.verdict.agreement == 1.0


async def test_a_vote_that_is_declined_counts_against_the_majority_and_its_tokens_count(desk_of: Making) -> None:
    said: list[Answer | Exception] = [Answer("Yes", "r", "m", 10, 1), JudgeDeclined("judge_refused", "bio", 5, 1)]
    said.append(yes(ask("a").question))
    outcomes = iter(said)
    desk = desk_of(ScriptedJudge(lambda _: next(outcomes)))
    question = ask("a", votes=3)
    await desk.add(question)
    await desk.rounds()
    judged = await desk.verdict(question)
    assert judged
    assert judged.verdict.agreement == pytest.approx(2 / 3)
    assert judged.verdict.input_tokens == 10 + 5 + 1000


# -- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (JudgeDeclined("judge_refused", "category bio", 40, 2), "judge_refused"),
        (JudgeDeclined("answer_cut_off", "too long", 40, 2), "answer_cut_off"),
        (JudgeMisconfigured("judge_request_rejected", "400 no such model"), "judge_request_rejected"),
        (KeyError("a defect"), "judge_error"),
    ],
)
async def test_what_asking_again_will_not_mend_is_asked_once_and_not_judged(
    desk_of: Making, error: Exception, reason: str
) -> None:
    desk = desk_of(ScriptedJudge(lambda _: error))
    question = ask("a")
    await desk.add(question)
    await desk.rounds()
    judged = await desk.verdict(question)
    assert judged
    assert isinstance(judged.verdict.outcome, NotJudged)
    assert judged.verdict.outcome.reason == reason
    assert len(desk.judge.asked) == 1
    assert desk.asking.problem() is None, "the service works"


async def test_a_question_that_fails_alone_is_asked_again_and_given_up_after_the_last_attempt(desk_of: Making) -> None:
    def says(question: Question) -> Answer | Exception:
        return down(question) if question.subject.ref == "bad" else yes(question)

    desk = desk_of(ScriptedJudge(says), terms=Terms(RetryPolicy(max_attempts=3, first_s=4)), concurrency=1)
    bad = ask("bad")
    await desk.add(bad)
    for number in range(8):
        await desk.add(ask(f"good{number}"), session=f"s-{number}")
        await desk.rounds()
        desk.clock.advance(5)
    judged = await desk.verdict(bad)
    assert judged
    assert judged.verdict.outcome == NotJudged("judge_unavailable", "529 overloaded")
    assert refs(desk.judge).count("bad") == 3


async def test_an_outage_of_an_hour_loses_nothing_and_drains_in_order_at_the_pace_allowed(desk_of: Making) -> None:
    judge, clock = ScriptedJudge(down), FakeClock(NOW_NS)
    desk = desk_of(judge, clock, concurrency=8, per_minute=60)
    questions = []
    for minute in range(60):  # sessions go on closing all the time
        session = f"s-{minute}"
        for ref, risky in (("plain", False), ("risky", minute % 10 == 0)):
            questions.append(ask(f"{ref}-{minute}", session, high_risk=risky, created_ns=clock.now_ns()))
        await desk.add(*questions[-2:], session=session)
        for _ in range(6):
            await desk.round()
            clock.advance(10)
    assert await desk.store.pending_questions() == 120
    assert len(judge.asked) < 80, "a few failures, then one try a minute"
    assert desk.metric("judge_circuit_open") == 1
    assert desk.asking.problem() == "judge_unavailable: 529 overloaded"

    await desk.close()  # and killed in the middle of it
    judge = ScriptedJudge()
    again = desk_of(judge, clock, concurrency=8, per_minute=60)
    seconds = 0
    while await again.store.pending_questions():
        await again.rounds()
        clock.advance(1)
        seconds += 1
        assert len(judge.asked) <= 1 + seconds
    assert refs(judge)[:6] == [f"risky-{minute}" for minute in range(0, 60, 10)]
    plain = refs(judge)[6:]
    assert plain == [one.question.subject.ref for one in questions if not one.question.high_risk]
    for question in questions:
        judged = await again.verdict(question)
        assert judged
        assert isinstance(judged.verdict.outcome, Score)
    assert len(judge.asked) == 120, "each once"


async def test_when_the_judge_is_back_one_question_finds_out_and_the_others_follow(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(down), concurrency=4)
    await desk.add(*(ask(f"q{number}") for number in range(6)))
    await desk.rounds()
    assert len(desk.judge.asked) <= 5
    desk.judge.says = yes
    assert await desk.round() == 0, "not before its time"
    desk.clock.advance(5)
    assert await desk.round() == 1
    assert desk.metric("judge_circuit_open") == 0
    desk.clock.advance(300)
    await desk.rounds()
    assert await desk.store.pending_questions() == 0


async def test_a_refused_key_stops_asking_at_once_and_questions_wait_for_a_person(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(no_key), concurrency=1)
    await desk.add(*(ask(f"q{number}") for number in range(3)))
    await desk.rounds()
    assert len(desk.judge.asked) == 1
    assert desk.asking.problem() == "judge_not_authorised: 401 invalid key"
    assert desk.metric("judge_circuit_opened_total", reason="judge_not_authorised") == 1
    for _ in range(60):
        desk.clock.advance(60)
        await desk.rounds()
    assert await desk.store.pending_questions() == 3, "an hour of refusals uses up no attempts"
    desk.judge.says = yes
    desk.clock.advance(60)
    await desk.rounds()
    assert await desk.store.pending_questions() == 0


async def test_what_keeps_questions_waiting_stands_in_the_store_for_whoever_reads_it(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(no_key), concurrency=1)
    await desk.add(ask("q"))
    await desk.rounds()
    assert await desk.store.obstacles.told() == Told(NOW_NS)
    desk.clock.advance(10)
    await desk.rounds()
    told = await desk.store.obstacles.told()
    assert told
    (obstacle,) = told.obstacles
    assert (obstacle.reason, obstacle.detail) == ("judge_not_authorised", "401 invalid key")
    desk.judge.says = yes
    desk.clock.advance(60)
    await desk.rounds()
    desk.clock.advance(10)
    await desk.rounds()
    assert await desk.store.obstacles.told() == Told(desk.clock.now_ns())


async def test_what_an_attempt_met_stands_with_its_question(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(down), concurrency=1)
    await desk.add(ask("q"))
    await desk.rounds()
    (question,) = await desk.store.open_questions(closed().ref)
    assert (question.asked, question.trouble) == (1, "judge_unavailable: 529 overloaded")
    assert question.next_ns > desk.clock.now_ns()


@pytest.mark.parametrize("trouble", [down, no_key])
async def test_a_question_the_judge_cannot_bear_does_not_keep_it_out_of_use(
    desk_of: Making, trouble: Callable[[Question], Answer | Exception]
) -> None:
    desk = desk_of(ScriptedJudge(trouble), concurrency=1)
    await desk.add(ask("bad"), *(ask(f"q{number}", created_ns=NOW_NS + 1 + number) for number in range(4)))
    await desk.rounds()
    assert desk.metric("judge_circuit_open") == 1
    desk.judge.says = lambda question: trouble(question) if question.subject.ref == "bad" else yes(question)
    for _ in range(4):
        desk.clock.advance(120)
        await desk.rounds()
    answered = {ref for ref in refs(desk.judge) if ref != "bad"}
    assert answered == {"q0", "q1", "q2", "q3"}
    assert await desk.store.pending_questions() == 1, "and the bad one still waits"


async def test_questions_take_turns_to_try_and_start_over_when_all_have(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(no_key), concurrency=1)
    await desk.add(*(ask(f"q{number}", created_ns=NOW_NS + number) for number in range(3)))
    for _ in range(7):
        await desk.rounds()
        desk.clock.advance(60)
    assert refs(desk.judge) == ["q0", "q1", "q2", "q0", "q1", "q2", "q0"]


def _no_model(question: Question) -> Answer | Exception:
    if question.model != "gone":
        return yes(question)
    return JudgeMisconfigured("judge_not_authorised", "403 no permission", "model")


async def test_a_refused_model_stops_its_own_questions_only_until_one_of_them_is_answered(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(_no_model), concurrency=1)
    gone = [ask(f"gone{number}", evaluator="dear", model="gone", created_ns=NOW_NS + number) for number in range(3)]
    await desk.add(*gone, *(ask(f"q{number}", created_ns=NOW_NS + 9) for number in range(4)))
    await desk.rounds()
    assert refs(desk.judge) == ["gone0", "q0", "q1", "q2", "q3"]
    assert desk.asking.problem() == "judge_not_authorised: gone: 403 no permission"
    assert (desk.metric("judge_models_refused"), desk.metric("judge_circuit_open")) == (1, 0)
    desk.clock.advance(5)
    await desk.rounds()
    assert refs(desk.judge)[5:] == ["gone1"], "another one tries"
    desk.judge.says = yes
    desk.clock.advance(60)
    await desk.rounds()
    assert await desk.store.pending_questions() == 0
    assert desk.asking.problem() is None


async def test_questions_that_bring_no_model_wait_when_the_usual_one_is_refused(desk_of: Making) -> None:
    refused = JudgeMisconfigured("judge_request_rejected", "404 no such model", "model")
    desk = desk_of(ScriptedJudge(lambda question: yes(question) if question.model == "other" else refused))
    await desk.add(ask("usual"), ask("other", model="other"))
    await desk.rounds()
    desk.clock.advance(1)
    await desk.add(ask("later", "s-2"), session="s-2")
    await desk.rounds()
    assert sorted(refs(desk.judge)) == ["other", "usual"]


async def test_a_question_that_alone_is_refused_is_given_up_and_its_model_goes_on(desk_of: Making) -> None:
    refused = JudgeMisconfigured("judge_not_authorised", "403 by a proxy that read the text", "model")
    desk = desk_of(
        ScriptedJudge(lambda question: refused if question.subject.ref == "bad" else yes(question)),
        terms=Terms(RetryPolicy(max_attempts=3)),
        concurrency=1,
    )
    bad = ask("bad")
    await desk.add(bad, *(ask(f"q{number}", created_ns=NOW_NS + 1) for number in range(6)))
    for _ in range(12):
        await desk.rounds()
        desk.clock.advance(60)
    judged = await desk.verdict(bad)
    assert judged
    assert judged.verdict.outcome == NotJudged("judge_not_authorised", "403 by a proxy that read the text")
    assert refs(desk.judge).count("bad") == 4, "the first refusal may have been the model's"
    assert await desk.store.pending_questions() == 0


async def test_a_question_whose_model_stays_refused_says_so_when_its_time_is_over(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(_no_model), terms=Terms(max_wait_s=3_600))
    question = ask("a", model="gone")
    await desk.add(question)
    for _ in range(62):
        await desk.rounds()
        desk.clock.advance(60)
    judged = await desk.verdict(question)
    assert judged
    assert judged.verdict.outcome == NotJudged("judge_not_authorised", "waited 1.0 h; gone: 403 no permission")


@pytest.mark.parametrize(("says", "reason"), [(down, "judge_unavailable"), (no_key, "judge_not_authorised")])
async def test_a_question_that_waited_too_long_is_not_judged_and_says_why(
    desk_of: Making, says: Callable[[Question], Answer | Exception], reason: str
) -> None:
    desk = desk_of(ScriptedJudge(says), terms=Terms(max_wait_s=86_400), concurrency=1)
    old, young = ask("old"), ask("young", created_ns=NOW_NS + HOUR_NS)
    await desk.add(old, young)
    for _ in range(1_000):
        await desk.round()
        desk.clock.advance(90)
        if await desk.verdict(old):
            break
    judged = await desk.verdict(old)
    assert judged
    assert isinstance(judged.verdict.outcome, NotJudged)
    assert judged.verdict.outcome.reason == reason
    assert judged.verdict.outcome.detail.startswith("waited 24.0 h; ")
    assert await desk.verdict(young) is None
    assert desk.metric("questions_expired_total", reason=reason) == 1


# -- money ------------------------------------------------------------------------------------------------------------


def _budget(*limits: Limit, share: float = 0.0) -> Terms:
    return Terms(price_of=price_of, budget=Budget(limits, share), max_output_tokens=100)


HOURLY_CENT = Limit("hour", "dollars", NANO // 50)  # two cents: two answers of 0.0075, with room for the estimate


async def test_a_spent_budget_holds_questions_until_its_window_opens_again(desk_of: Making) -> None:
    desk = desk_of(terms=_budget(HOURLY_CENT), concurrency=1)
    await desk.add(*(ask(f"q{number}") for number in range(5)))
    await desk.rounds()
    first = len(desk.judge.asked)
    assert first == 2
    assert desk.asking.problem() == "budget_spent: nothing is left of judge.budget.dollars_per_hour ($0.0200)"
    desk.clock.advance(3_599 - (NOW_NS // NANO) % 3_600)
    await desk.rounds()
    assert len(desk.judge.asked) == first
    desk.clock.advance(1)
    await desk.rounds()
    assert len(desk.judge.asked) > first


async def test_a_restart_does_not_forget_what_was_spent(desk_of: Making) -> None:
    desk = desk_of(terms=_budget(HOURLY_CENT))
    await desk.add(*(ask(f"q{number}") for number in range(6)))
    await desk.rounds()
    first = len(desk.judge.asked)
    for _ in range(3):
        await desk.close()
        desk = desk_of(terms=_budget(HOURLY_CENT))
        await desk.rounds()
        assert desk.judge.asked == []
    assert first < 6


async def test_killed_in_the_middle_of_calls_their_money_counts_as_spent(desk_of: Making) -> None:
    terms = _budget(Limit("hour", "tokens", 1_500))  # an estimate is about 620
    desk = desk_of(terms=terms)
    await desk.add(*(ask(f"q{number}") for number in range(6)))
    desk.judge.hold()
    asking = asyncio.create_task(desk.round())
    await desk.judge.until_on_their_way(2)
    asking.cancel()
    await asyncio.wait([asking])
    await desk.close()
    again = desk_of(terms=terms)
    await again.rounds()
    assert again.judge.asked == []


async def test_money_that_is_left_at_the_end_of_a_window_goes_to_high_risk(desk_of: Making) -> None:
    desk = desk_of(terms=_budget(Limit("hour", "tokens", 10_000), share=0.5), concurrency=1)
    await desk.add(*(ask(f"q{number}") for number in range(10)))
    await desk.rounds()
    ordinary = len(desk.judge.asked)
    assert 3 <= ordinary <= 5
    await desk.add(ask("late", "s-2", high_risk=True), session="s-2")
    await desk.rounds()
    assert refs(desk.judge)[ordinary:] == ["late"]


async def test_an_evaluator_over_its_limit_does_not_hold_up_the_others(desk_of: Making) -> None:
    desk = desk_of(terms=_budget(Limit("hour", "tokens", 1_200, "dear")), concurrency=2)
    await desk.add(*(ask(f"dear{number}", evaluator="dear") for number in range(20)))
    await desk.add(ask("cheap", "s-2", evaluator="cheap", created_ns=NOW_NS + 1), session="s-2")
    await desk.rounds()
    assert "cheap" in refs(desk.judge)
    assert len(desk.judge.asked) == 2


async def test_a_question_that_no_budget_has_room_for_is_told_at_once(desk_of: Making) -> None:
    desk = desk_of(terms=_budget(Limit("day", "tokens", 100)))
    question = ask("a")
    await desk.add(question)
    await desk.rounds()
    judged = await desk.verdict(question)
    assert judged
    assert isinstance(judged.verdict.outcome, NotJudged)
    assert judged.verdict.outcome.reason == "budget_spent"
    assert "judge.budget.tokens_per_day" in judged.verdict.outcome.detail
    assert desk.judge.asked == []


async def test_a_question_that_waited_too_long_for_money_says_so(desk_of: Making) -> None:
    terms = replace(_budget(Limit("day", "tokens", 1_300)), max_wait_s=3_600)
    desk = desk_of(terms=terms, concurrency=1)
    await desk.add(ask("a"), ask("b"))
    await desk.rounds()
    desk.clock.advance(3_601)
    await desk.rounds()
    judged = await desk.verdict(ask("b"))
    assert judged
    assert isinstance(judged.verdict.outcome, NotJudged)
    assert judged.verdict.outcome.reason == "budget_spent"


@pytest.mark.parametrize("billed", [True, False])
async def test_a_call_we_gave_up_on_may_have_been_paid_for(desk_of: Making, billed: bool) -> None:
    error = JudgeUnavailable("judge_unavailable", "no answer in time", perhaps_billed=billed)
    desk = desk_of(ScriptedJudge(lambda _: error), terms=_budget(Limit("day", "tokens", 1_300)))
    await desk.add(ask("a"))
    await desk.rounds()
    (spent,) = await desk.store.ledger.spent(NOW_NS)
    assert (spent.amount.tokens > 0) == billed


async def test_an_answer_with_half_a_character_is_kept(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(lambda _: Answer("Yes", "cut in the middle: \ud83d", "judge-a", 10, 5)))
    question = ask("a")
    await desk.add(question)
    await desk.rounds()
    judged = await desk.verdict(question)
    assert judged
    assert isinstance(judged.verdict.outcome, Score)
    assert judged.verdict.outcome.label == "Yes"


async def test_an_endpoint_that_tells_no_usage_still_uses_up_the_budget(desk_of: Making) -> None:
    silent = ScriptedJudge(lambda _: Answer("Yes", "r", "m"))
    desk = desk_of(silent, terms=_budget(Limit("hour", "tokens", 2_000)))
    await desk.add(*(ask(f"q{number}") for number in range(9)))
    await desk.rounds()
    assert len(silent.asked) == 3


async def test_what_answers_cost_is_counted(desk_of: Making) -> None:
    desk = desk_of()
    await desk.add(ask("a"), ask("b"))
    await desk.rounds()
    cost = desk.metric("judge_cost_dollars_total", model="judge-a", evaluator="skill_selection")
    assert cost == pytest.approx(2 * (1_000 * 5 + 100 * 25) / 1e6)


# -- the same again ---------------------------------------------------------------------------------------------------

CACHING = Terms(price_of=price_of, answer_cache_s=3_600)


async def test_the_same_question_is_answered_once_and_the_verdict_says_so(desk_of: Making) -> None:
    desk = desk_of(terms=CACHING, concurrency=8)
    same = [ask("a", f"s-{number}", text="Was it right?") for number in range(5)]
    for question in same:
        await desk.add(question, session=question.draft.session.session_id)
    await desk.rounds()
    assert len(desk.judge.asked) == 1
    verdicts = [await desk.verdict(question) for question in same]
    cached = [one for one in verdicts if one and one.attributes.get("spanjudge.judge.answer") == "cached"]
    assert len(cached) == 4
    assert {one.verdict.outcome for one in verdicts if one} == {Score(1.0, "Yes", "It fits.")}
    assert sum(one.verdict.input_tokens for one in verdicts if one) == 1_000, "paid for once"
    assert desk.metric("judge_cache_hits_total", evaluator="skill_selection") == 4


async def test_an_answer_that_is_too_old_is_not_used(desk_of: Making) -> None:
    desk = desk_of(terms=CACHING)
    await desk.add(ask("a", text="Same?"))
    await desk.rounds()
    desk.clock.advance(3_601)
    await desk.add(ask("a", "s-2", text="Same?"), session="s-2")
    await desk.rounds()
    assert len(desk.judge.asked) == 2


async def test_another_scale_or_model_is_another_question(desk_of: Making) -> None:
    desk = desk_of(terms=CACHING)
    plain = ask("a", text="Same?")
    others = [
        replace(ask("a", "s-2", text="Same?"), question=replace(plain.question, model="judge-b")),
        replace(ask("a", "s-3", text="Same?"), question=replace(plain.question, effort="max")),
    ]
    await desk.add(plain)
    for question in others:
        await desk.add(question, session=question.draft.session.session_id)
        await desk.rounds()
    assert len(desk.judge.asked) == 3


async def test_votes_on_one_question_are_answers_of_their_own_and_are_found_again(desk_of: Making) -> None:
    desk = desk_of(terms=CACHING)
    for session in ("s-1", "s-2"):
        await desk.add(ask("a", session, votes=3, text="Same?"), session=session)
    await desk.rounds()
    assert len(desk.judge.asked) == 3


async def test_questions_about_one_session_wait_for_the_first_and_then_share_its_record(desk_of: Making) -> None:
    desk = desk_of(concurrency=4)
    await desk.add(*(ask(f"q{number}", prefix="record " * 1_000) for number in range(4)))
    assert await desk.round() == 1
    assert await desk.round() == 3


async def test_a_short_record_is_not_waited_for(desk_of: Making) -> None:
    desk = desk_of(concurrency=4)
    await desk.add(*(ask(f"q{number}", prefix="short") for number in range(4)))
    assert await desk.round() == 4


# -- what leaves, and the store ---------------------------------------------------------------------------------------


async def test_no_secret_leaves_and_the_stored_question_keeps_it(desk_of: Making) -> None:
    desk = desk_of(terms=Terms(redaction=Redaction()))
    question = ask("a", prefix="<result>password=tulip</result>", text="Was password=rose right?")
    await desk.add(question)
    assert await desk.store.due_questions(NOW_NS, 1) == [question]
    await desk.rounds()
    (asked,) = desk.judge.asked
    assert asked.prompt.prefix == '<result>password=<redacted kind="field"/></result>'
    assert "rose" not in asked.prompt.question


async def test_an_answer_is_not_lost_while_the_store_is_away(tmp_path: Path) -> None:
    rested = asyncio.Event()
    back = asyncio.Event()

    async def rest() -> None:
        rested.set()
        await back.wait()

    desk = Desk(tmp_path, ScriptedJudge(), rest=rest)
    question = ask("a")
    await desk.add(question)
    desk.judge.hold()
    async with asyncio.TaskGroup() as tasks:
        await desk.asking.look(tasks)
        await desk.judge.until_on_their_way(1)
        locked = await asyncio.to_thread(_lock, tmp_path / "verdicts.db")
        desk.judge.release()
        await asyncio.wait_for(rested.wait(), 30)
        locked.rollback()
        locked.close()
        back.set()
    await desk.rounds()
    assert await desk.verdict(question)
    assert len(desk.judge.asked) == 1
    await desk.close()


def _lock(path: Path) -> sqlite3.Connection:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


async def test_with_the_store_away_nothing_is_asked_over_and_over(desk_of: Making) -> None:
    desk = desk_of(terms=_budget(Limit("day", "tokens", 10**9)))
    await desk.add(ask("a"))
    await desk.store.close()
    for _ in range(5):
        await desk.round()
    assert desk.judge.asked == []


# -- damaged rows -----------------------------------------------------------------------------------------------------


def _damage(path: Path, record: str, like: str = "%") -> None:
    """Write this in place of the records of questions."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE questions SET record = {record} WHERE record LIKE ?", (like,))
        connection.commit()


async def test_damaged_questions_do_not_fill_the_window_before_those_behind_them(
    desk_of: Making, tmp_path: Path
) -> None:
    desk = desk_of(concurrency=2)
    await desk.add(*(ask(f"bad{number}") for number in range(50)))
    _damage(tmp_path / "verdicts.db", "'{'")
    await desk.add(ask("good", "s-2", created_ns=NOW_NS + 1), session="s-2")
    for _ in range(30):
        await desk.rounds()
    assert refs(desk.judge) == ["good"]
    assert await desk.store.pending_questions() == 0
    assert desk.metric("questions_unreadable_total") == 50


async def test_a_session_whose_last_question_is_damaged_beyond_reading_has_its_composite(
    desk_of: Making, tmp_path: Path
) -> None:
    desk = desk_of()
    desk.store.conclude_by(composites_for(USUAL, desk.metrics.verdict))
    await desk.store.finish(closed(), [judged(evaluator="goal_completion")], [ask("q")], ["otlp"])
    _damage(tmp_path / "verdicts.db", "'{'")
    await desk.rounds()
    found = {one.verdict.evaluator: one.verdict.outcome for one in await desk.store.verdicts(closed().ref)}
    assert found["skill_selection"] == UNREADABLE
    assert found["composite"] == NotJudged(
        "question_unreadable", f"selection was not judged: skill_selection: {UNREADABLE.detail}"
    )


async def test_a_damaged_question_of_which_it_is_known_what_it_was_about_is_not_judged(
    desk_of: Making, tmp_path: Path
) -> None:
    desk = desk_of()
    question = ask("a")
    await desk.add(question)
    _damage(tmp_path / "verdicts.db", "json_remove(record, '$.question.scale')")
    await desk.rounds()
    judged = await desk.verdict(question)
    assert judged
    assert isinstance(judged.verdict.outcome, NotJudged)
    assert judged.verdict.outcome.reason == "question_unreadable"
    assert desk.metric("questions_unreadable_total") == 1
    assert (desk.told, await desk.store.outbox_size("otlp")) == (1, 1)


async def test_damaged_questions_that_are_held_back_end_when_their_time_is_over(
    desk_of: Making, tmp_path: Path
) -> None:
    desk = desk_of(ScriptedJudge(no_key), terms=Terms(max_wait_s=3_600), concurrency=1)
    await desk.add(ask("a"), ask("bad", created_ns=NOW_NS + 1))
    _damage(tmp_path / "verdicts.db", "'[]'", like="%About s-1 bad%")
    desk.clock.advance(3_700)
    await desk.round()
    assert await desk.store.pending_questions() == 0


async def test_a_damaged_vote_is_asked_again(desk_of: Making, tmp_path: Path) -> None:
    desk = desk_of(concurrency=1)
    question = ask("a", votes=3)
    await desk.add(question)
    await desk.round()
    with closing(sqlite3.connect(tmp_path / "verdicts.db")) as connection:
        connection.execute("UPDATE votes SET record = '{'")
        connection.commit()
    await desk.rounds()
    judged = await desk.verdict(question)
    assert judged
    assert judged.verdict.agreement == 1.0
    assert len(desk.judge.asked) == 4


async def test_ten_thousand_waiting_questions_cost_little_memory_and_are_asked_in_their_order(desk_of: Making) -> None:
    desk = desk_of(ScriptedJudge(down), concurrency=8)
    record = "what the agent did " * 200
    for number in range(100):
        session = f"s-{number}"
        questions = [
            ask(f"q{number * 100 + one}", session, created_ns=NOW_NS + number, prefix=f"{session} {record}")
            for one in range(100)
        ]
        await desk.add(*questions, session=session)
    tracemalloc.start()
    try:
        for _ in range(30):
            await desk.round()
            desk.clock.advance(60)
        assert await desk.store.pending_questions() == 10_000
        assert len(desk.judge.asked) < 50, "a few failures, then one try a minute"
        desk.judge.asked.clear()
        desk.judge.says = yes
        desk.clock.advance(60)
        while len(desk.judge.asked) < 100:
            await desk.round()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5_000_000, "of 38 MB that wait"
    probe, *others = [int(ref.removeprefix("q")) for ref in refs(desk.judge)]
    assert probe < 100, "one that had not tried before"
    # Side by side with others a question may be a few places ahead; it is never left behind.
    assert all(abs(place - number) <= 2 * 8 for place, number in enumerate(others))
