"""Questions in batches: sent together, collected later, found again after a restart."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from collector.judge_queue.batch_judge import BatchRules
from collector.judge_queue.batching import LettingGo
from collector.judge_queue.terms import Terms
from judge.budget import Budget, Limit
from judge.errors import JudgeDeclined, JudgeError, JudgeMisconfigured, JudgeUnavailable
from judge.question import Answer, Question
from judge.retry import RetryPolicy
from judge.verdict import NotJudged, Score
from tests.collector.judge_queue.desk import Desk, ask, price_of, refs
from tests.fakes.clock import FakeClock
from tests.fakes.judges import ScriptedBatches, ScriptedJudge, down, no_key, yes
from tests.fakes.verdicts import NOW_NS

Making = Callable[..., Desk]
RULES = BatchRules(max_wait_s=300, max_questions=4, max_open=2)


@pytest.fixture
def service() -> ScriptedBatches:
    return ScriptedBatches()


@pytest.fixture
async def desk_of(tmp_path: Path, service: ScriptedBatches) -> AsyncIterator[Making]:
    made: list[Desk] = []

    def make(
        clock: FakeClock | None = None,
        terms: Terms | None = None,
        batches: ScriptedBatches | None = None,
        rules: BatchRules = RULES,
    ) -> Desk:
        made.append(Desk(tmp_path, ScriptedJudge(), clock, terms, batches=batches or service, batch_rules=rules))
        return made[-1]

    yield make
    for desk in made:
        await desk.close()


async def _full(desk: Desk, count: int = 4) -> list[str]:
    questions = [ask(f"q{number}") for number in range(count)]
    await desk.add(*questions)
    return [one.id for one in questions]


async def test_a_batch_is_sent_when_it_is_full_and_its_answers_become_verdicts(
    desk_of: Making, service: ScriptedBatches
) -> None:
    desk = desk_of()
    ids = await _full(desk)
    await desk.batching.look()
    assert set(service.sent["batch-1"]) == {f"{one}-0" for one in ids}
    await desk.batching.look()
    assert (await desk.store.pending_questions(), len(service.sent)) == (4, 1), "nothing is sent twice"
    assert desk.metric("judge_batches_open") == 1
    service.end()
    await desk.batching.look()
    assert {type(one.verdict.outcome) for one in await desk.verdicts()} == {Score}
    assert (await desk.store.pending_questions(), await desk.store.ledger.batches()) == (0, [])


async def test_a_batch_that_is_not_full_is_sent_when_its_oldest_has_waited_long_enough(
    desk_of: Making, service: ScriptedBatches
) -> None:
    desk = desk_of()
    await _full(desk, 2)
    desk.clock.advance(299)
    await desk.batching.look()
    assert service.sent == {}
    desk.clock.advance(1)
    await desk.batching.look()
    assert len(service.sent["batch-1"]) == 2


async def test_high_risk_is_not_made_to_wait(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of()
    await desk.add(ask("risky", high_risk=True), ask("plain"))
    desk.clock.advance(300)
    assert await desk.rounds() == 1
    assert refs(desk.judge) == ["risky"]
    await desk.batching.look()
    assert [question.subject.ref for question in service.sent["batch-1"].values()] == ["plain"]


async def test_batches_are_found_again_after_a_restart(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of()
    await _full(desk)
    await desk.batching.look()
    await desk.close()
    service.end()
    again = desk_of()
    await again.batching.look()
    assert len(await again.verdicts()) == 4
    assert len(service.sent) == 1
    assert again.judge.asked == []


async def test_all_votes_of_a_question_go_in_one_batch(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of()
    question = ask("a", votes=3)
    await desk.add(question)
    desk.clock.advance(300)
    await desk.batching.look()
    service.end()
    await desk.batching.look()
    judged = await desk.verdict(question)
    assert judged
    assert judged.verdict.agreement == 1.0
    assert judged.verdict.input_tokens == 3_000


async def test_votes_that_fail_are_asked_again_and_no_others(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of()
    question = ask("a", votes=3)
    await desk.add(question)
    desk.clock.advance(300)
    await desk.batching.look()
    service.lost = {f"{question.id}-0"}
    service.end()
    await desk.batching.look()
    assert await desk.verdict(question) is None
    desk.clock.advance(300)
    await desk.batching.look()
    assert list(service.sent["batch-2"]) == [f"{question.id}-0"]
    service.lost = set()
    service.end()
    await desk.batching.look()
    judged = await desk.verdict(question)
    assert judged
    assert judged.verdict.agreement == 1.0


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (JudgeDeclined("judge_refused", "bio", 5, 1), "judge_refused"),
        (JudgeMisconfigured("judge_request_rejected", "too long"), "judge_request_rejected"),
        (JudgeUnavailable("judge_unavailable", "expired"), "judge_unavailable"),
    ],
)
async def test_a_failure_inside_a_batch_is_that_questions_alone(
    desk_of: Making, service: ScriptedBatches, error: Exception, reason: str
) -> None:
    desk = desk_of(terms=Terms(RetryPolicy(max_attempts=1)))
    ids = await _full(desk)
    service.says = lambda question: error if question.subject.ref == "q1" else yes(question)
    await desk.batching.look()
    service.end()
    await desk.batching.look()
    outcomes = {one.id: one.verdict.outcome for one in await desk.verdicts()}
    bad = outcomes.pop(ids[1])
    assert isinstance(bad, NotJudged)
    assert bad.reason == reason
    assert all(isinstance(one, Score) for one in outcomes.values())
    assert len(outcomes) == 3


async def test_a_key_refused_inside_a_batch_uses_up_no_attempt(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of(terms=Terms(RetryPolicy(max_attempts=1)))
    await _full(desk)
    service.says = no_key
    await desk.batching.look()
    service.end()
    await desk.batching.look()
    assert await desk.store.pending_questions() == 4


async def test_while_the_service_is_away_nothing_is_lost_and_no_money_stays_set_aside(
    desk_of: Making, service: ScriptedBatches
) -> None:
    desk = desk_of(terms=Terms(budget=Budget((Limit("day", "tokens", 100_000),))))
    await _full(desk)
    service.trouble = JudgeUnavailable("judge_unavailable", "503")
    for _ in range(20):
        await desk.batching.look()
        desk.clock.advance(60)
    assert await desk.store.pending_questions() == 4
    assert [one.amount.tokens for one in await desk.store.ledger.spent(NOW_NS)] == [0]
    service.trouble = None
    desk.clock.advance(60)
    await desk.batching.look()
    service.trouble = JudgeUnavailable("judge_unavailable", "503")
    await desk.batching.look()
    service.trouble = None
    service.end()
    await desk.batching.look()
    assert await desk.store.pending_questions() == 0


async def test_a_batch_that_is_rejected_is_tried_in_halves_until_the_bad_question_is_found(
    desk_of: Making,
) -> None:
    class Picky(ScriptedBatches):
        async def send(self, questions: Mapping[str, Question]) -> str:
            if any(question.subject.ref == "q0" for question in questions.values()):
                raise JudgeMisconfigured("judge_request_rejected", "413 too large")
            return await super().send(questions)

    picky = Picky()
    desk = desk_of(batches=picky)
    ids = await _full(desk)
    desk.clock.advance(300)
    for _ in range(8):
        await desk.batching.look()
        picky.end()
    outcomes = {one.id: one.verdict.outcome for one in await desk.verdicts()}
    assert outcomes.pop(ids[0]) == NotJudged("judge_request_rejected", "413 too large")
    assert [type(one) for one in outcomes.values()] == [Score] * 3


async def test_a_batch_takes_no_more_than_the_budget_and_pays_half(desk_of: Making, service: ScriptedBatches) -> None:
    terms = Terms(price_of=price_of, budget=Budget((Limit("day", "tokens", 1_900),)), max_output_tokens=100)
    desk = desk_of(terms=terms)
    await _full(desk)
    await desk.batching.look()
    assert len(service.sent["batch-1"]) == 3
    service.says = lambda _: Answer("Yes", "r", "m", 400, 20)
    service.end()
    await desk.batching.look()
    (spent,) = await desk.store.ledger.spent(NOW_NS)
    assert spent.amount.tokens == 3 * 420
    desk.clock.advance(300)
    await desk.batching.look()
    assert len(service.sent["batch-2"]) == 1, "what was set aside and not used is there again"
    cost = desk.metric("judge_cost_dollars_total", model="judge-a", evaluator="skill_selection")
    assert cost == pytest.approx(3 * (400 * 5 + 20 * 25) / 1e6 / 2)


async def test_what_was_answered_before_needs_no_place_in_a_batch(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of(terms=Terms(answer_cache_s=3_600))
    for session in ("s-1", "s-2"):
        await desk.add(ask("a", session, text="Same?"), session=session)
        desk.clock.advance(300)
        await desk.batching.look()
        service.end()
        await desk.batching.look()
    assert len(service.sent) == 1
    assert await desk.store.pending_questions() == 0


async def test_no_more_batches_are_on_their_way_than_allowed(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of()
    await _full(desk, 20)
    for _ in range(5):
        await desk.batching.look()
    assert len(service.sent) == 2


async def test_an_open_circuit_holds_batches_too(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of()
    desk.judge.says = down
    await desk.add(*(ask(f"r{number}", high_risk=True) for number in range(4)))
    await desk.rounds()
    await desk.add(*(ask(f"q{number}", "s-2") for number in range(4)), session="s-2")
    await desk.batching.look()
    assert service.sent == {}


# -- what was perhaps paid for ----------------------------------------------------------------------------------------

TOKENS = Terms(budget=Budget((Limit("day", "tokens", 100_000),)))


async def _spent(desk: Desk) -> int:
    return sum(one.amount.tokens for one in await desk.store.ledger.spent(NOW_NS))


@pytest.mark.parametrize("billed", [True, False])
async def test_a_batch_whose_sending_broke_off_counts_as_spent_if_it_was_perhaps_taken(
    desk_of: Making, service: ScriptedBatches, billed: bool
) -> None:
    desk = desk_of(terms=TOKENS)
    await _full(desk)
    service.trouble = JudgeUnavailable("judge_unavailable", "the connection broke", perhaps_billed=billed)
    await desk.batching.look()
    assert (await _spent(desk) > 0) == billed
    assert await desk.store.pending_questions() == 4


@pytest.mark.parametrize("billed", [True, False])
async def test_a_result_that_is_no_answer_counts_as_spent_if_the_work_was_perhaps_done(
    desk_of: Making, service: ScriptedBatches, billed: bool
) -> None:
    desk = desk_of(terms=TOKENS)
    await _full(desk)
    service.says = lambda _: JudgeUnavailable("judge_unavailable", "no message", perhaps_billed=billed)
    await desk.batching.look()
    service.end()
    await desk.batching.look()
    assert (await _spent(desk) > 0) == billed


async def test_questions_of_which_a_batch_says_nothing_count_as_spent(
    desk_of: Making, service: ScriptedBatches
) -> None:
    desk = desk_of(terms=TOKENS)
    await _full(desk)
    await desk.batching.look()
    service.lost = set(service.sent["batch-1"])
    service.end()
    await desk.batching.look()
    assert await _spent(desk) > 0
    assert await desk.store.due_questions(NOW_NS + 10**12, 10) != []


# -- what goes wrong --------------------------------------------------------------------------------------------------


class _Breaking(ScriptedBatches):
    """The connection breaks while results come, until `mended`."""

    mended = False

    async def results(
        self, batch_id: str, questions: Mapping[str, Question]
    ) -> AsyncIterator[tuple[str, Answer | JudgeError]]:
        count = 0
        async for result in super().results(batch_id, questions):
            if count == 2 and not self.mended:
                raise OSError("connection reset")
            count += 1
            yield result


async def test_results_that_break_off_end_nothing_and_the_rest_is_fetched_later(desk_of: Making) -> None:
    service = _Breaking()
    desk = desk_of(batches=service, terms=TOKENS)
    await _full(desk)
    await desk.batching.look()
    service.end()
    assert await desk.batching.look(), "the batch is still to be collected"
    assert (len(await desk.verdicts()), await desk.store.pending_questions()) == (2, 2)
    service.mended = True
    await desk.batching.look()
    assert (len(await desk.verdicts()), await desk.store.pending_questions()) == (4, 0)
    assert await _spent(desk) == 4 * 1_100, "each is paid for once"


async def test_a_result_that_comes_twice_is_kept_and_paid_for_once(desk_of: Making) -> None:
    class Repeating(ScriptedBatches):
        async def results(
            self, batch_id: str, questions: Mapping[str, Question]
        ) -> AsyncIterator[tuple[str, Answer | JudgeError]]:
            for _ in range(2):
                async for result in super().results(batch_id, questions):
                    yield result

    service = Repeating()
    desk = desk_of(batches=service, terms=TOKENS)
    await _full(desk)
    await desk.batching.look()
    service.end()
    await desk.batching.look()
    assert (len(await desk.verdicts()), await _spent(desk)) == (4, 4 * 1_100)


async def test_a_defect_of_ours_in_sending_is_that_questions_alone(desk_of: Making) -> None:
    class Brittle(ScriptedBatches):
        async def send(self, questions: Mapping[str, Question]) -> str:
            if any(question.subject.ref == "q0" for question in questions.values()):
                raise TypeError("cannot be written as JSON")
            return await super().send(questions)

    service = Brittle()
    desk = desk_of(batches=service)
    ids = await _full(desk)
    desk.clock.advance(300)
    for _ in range(8):
        await desk.batching.look()
        service.end()
    outcomes = {one.id: one.verdict.outcome for one in await desk.verdicts()}
    assert outcomes.pop(ids[0]) == NotJudged("judge_error", "TypeError")
    assert [type(one) for one in outcomes.values()] == [Score] * 3


@pytest.mark.parametrize("status", [403, 404])
async def test_an_endpoint_without_batches_holds_up_no_question_of_high_risk(
    desk_of: Making, service: ScriptedBatches, status: int
) -> None:
    desk = desk_of()
    await _full(desk)
    service.trouble = JudgeMisconfigured("judge_request_rejected", f"{status} no such path", "model")
    for _ in range(5):
        await desk.batching.look()
    await desk.add(ask("risky", "s-2", high_risk=True), session="s-2")
    await desk.rounds()
    assert refs(desk.judge) == ["risky"]
    assert desk.asking.problem() == f"judge_request_rejected: message batches: {status} no such path"
    assert await desk.store.pending_questions() == 4


async def test_a_model_refused_inside_a_batch_is_left_out_for_a_while_and_loses_no_attempt(
    desk_of: Making, service: ScriptedBatches
) -> None:
    desk = desk_of(terms=Terms(RetryPolicy(max_attempts=1)))
    refused = JudgeMisconfigured("judge_not_authorised", "403", "model")
    service.says = lambda question: refused if question.model == "gone" else yes(question)
    await desk.add(*(ask(f"q{number}", model="gone" if number < 2 else None) for number in range(4)))
    await desk.batching.look()
    service.end()
    await desk.batching.look()
    assert (len(await desk.verdicts()), await desk.store.pending_questions()) == (2, 2)
    assert len(service.sent) == 1
    desk.clock.advance(300)
    await desk.batching.look()
    assert [question.model for question in service.sent["batch-2"].values()] == ["gone", "gone"]
    service.says = yes
    service.end()
    await desk.batching.look()
    assert (await desk.store.pending_questions(), desk.asking.problem()) == (0, None)


async def test_a_batch_that_is_the_try_after_an_outage_is_not_the_same_every_time(desk_of: Making) -> None:
    class Picky(ScriptedBatches):
        async def send(self, questions: Mapping[str, Question]) -> str:
            if any(question.subject.ref == "q0" for question in questions.values()):
                raise JudgeUnavailable("judge_unavailable", "500")
            return await super().send(questions)

    service = Picky()
    desk = desk_of(batches=service)
    await desk.add(*(ask(f"q{number}", created_ns=NOW_NS + number) for number in range(8)))
    for _ in range(6):
        await desk.batching.look()
        desk.clock.advance(60)
    assert [one.subject.ref for one in service.sent["batch-1"].values()] == ["q4", "q5", "q6", "q7"]


# -- room and order ---------------------------------------------------------------------------------------------------


async def test_a_backlog_of_high_risk_does_not_keep_batches_from_being_sent(
    desk_of: Making, service: ScriptedBatches
) -> None:
    desk = desk_of()
    desk.judge.hold()
    await desk.add(*(ask(f"risky{number}", "s-2", high_risk=True) for number in range(20)), session="s-2")
    await _full(desk)
    await desk.batching.look()
    assert len(service.sent["batch-1"]) == 4


async def test_to_see_whether_there_is_enough_no_record_is_read(desk_of: Making, tmp_path: Path) -> None:
    desk = desk_of()
    await _full(desk, 3)
    with closing(sqlite3.connect(tmp_path / "verdicts.db")) as connection:
        connection.execute("UPDATE questions SET record = '{'")
        connection.commit()
    await desk.batching.look()
    assert await desk.store.pending_questions() == 3, "nobody has seen that they are damaged"
    desk.clock.advance(300)
    await desk.batching.look()
    assert await desk.store.pending_questions() == 0
    assert desk.metric("questions_unreadable_total") == 3


async def test_a_batch_of_many_pages_keeps_the_order(desk_of: Making, service: ScriptedBatches) -> None:
    desk = desk_of(rules=BatchRules(max_questions=50))
    await desk.add(*(ask(f"q{number}", created_ns=NOW_NS + 99 - number) for number in range(55)))
    await desk.batching.look()
    sent = [question.subject.ref for question in service.sent["batch-1"].values()]
    assert sent == [f"q{number}" for number in range(54, 4, -1)]


# -- batches of another configuration ---------------------------------------------------------------------------------


async def test_with_batches_switched_off_those_on_their_way_are_collected_and_none_sent(
    desk_of: Making, service: ScriptedBatches
) -> None:
    desk = desk_of()
    await _full(desk)
    await desk.batching.look()
    await desk.close()
    off = desk_of(rules=replace(RULES, sends=False, poll_s=0))
    await off.add(*(ask(f"r{number}", "s-2") for number in range(8)), session="s-2")
    assert await off.batching.look(), "there is one on its way"
    service.end()
    await asyncio.wait_for(off.batching.run(), 30)
    assert len(await off.verdicts()) == 4
    assert len(service.sent) == 1
    assert off.metric("judge_batches_open") == 0


async def test_a_batch_that_cannot_be_fetched_for_days_lets_its_questions_go(
    desk_of: Making, service: ScriptedBatches
) -> None:
    desk = desk_of(terms=TOKENS, rules=replace(RULES, max_open=1))
    await _full(desk)
    await desk.batching.look()
    set_aside = await _spent(desk)
    service.trouble = JudgeMisconfigured("judge_not_authorised", "401", "account")
    desk.clock.advance(47 * 3_600)
    for _ in range(2):
        await desk.batching.look()
        desk.clock.advance(3_600)
    assert len(await desk.store.ledger.batches()) == 1
    await desk.batching.look()
    assert await desk.store.ledger.batches() == []
    assert len(await desk.store.due_questions(desk.clock.now_ns(), 10)) == 4
    assert await _spent(desk) == set_aside, "the service may have answered"


async def test_where_the_judge_has_no_batches_those_of_before_are_let_go_at_once(desk_of: Making) -> None:
    desk = desk_of(terms=TOKENS)
    await _full(desk)
    await desk.batching.look()
    set_aside = await _spent(desk)
    await asyncio.wait_for(LettingGo(desk.store.ledger).run(), 30)
    assert len(await desk.store.due_questions(NOW_NS, 10)) == 4
    assert await _spent(desk) == set_aside
