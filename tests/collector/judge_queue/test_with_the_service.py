"""The queue, the real client and a service on loopback together: caching, rate limits, outages, batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from collector.judge_building import AskingParts, build_asking, build_judge
from collector.judge_config import JudgeSettings
from collector.judge_queue.batching import Batching
from collector.metrics import Metrics
from collector.store.sqlite import SqliteStore
from judge.catalog import build, plan_all
from judge.clients.anthropic import AnthropicJudge
from judge.options import EvaluatorOptions
from judge.verdict import Score
from tests.collector.judge_queue.desk import ask
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, Reply, Request, fails, now_and_then, rate_limited, says
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS, closed
from tests.judge.trajectories import call, load, skills, trajectory

RECORD = "<result>" + "what the agent did " * 400 + "</result>"
PRICES = {"claude-opus-*": {"input": 5, "output": 25}}


class Place:
    """Everything that `building` builds, around a stub; the clock stands still."""

    def __init__(self, path: Path, stub: AnthropicStub, **settings: object) -> None:
        self.settings = JudgeSettings.model_validate({"api_key": API_KEY, "base_url": stub.url, **settings})
        self.clock = FakeClock(NOW_NS)
        self.metrics = Metrics()
        self.store = SqliteStore.open(path / "verdicts.db")
        judge = build_judge(self.settings)
        assert judge
        self.judge: AnthropicJudge = judge
        self.parts: AskingParts = build_asking(
            self.settings, judge, self.store, self.clock, self.metrics, exporters=[], on_verdict=lambda: None
        )

    async def rounds(self) -> None:
        begun = 1
        while begun:
            async with asyncio.TaskGroup() as tasks:
                begun = await self.parts.asking.look(tasks)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"spanjudge_{name}", labels)

    async def close(self) -> None:
        await self.judge.aclose()
        await self.store.close()


@pytest.fixture
def stub() -> Iterator[AnthropicStub]:
    with AnthropicStub() as serving:
        yield serving


@pytest.fixture
async def places(tmp_path: Path, stub: AnthropicStub) -> AsyncIterator[list[Place]]:
    made: list[Place] = []
    yield made
    for place in made:
        await place.close()


def _place(places: list[Place], tmp_path: Path, stub: AnthropicStub, **settings: object) -> Place:
    places.append(Place(tmp_path, stub, **settings))
    return places[-1]


async def test_questions_about_one_session_pay_for_its_record_once(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    place = _place(places, tmp_path, stub, prices=PRICES)
    for session in ("s-1", "s-2"):
        record = f"{session} {RECORD}"
        questions = [ask(f"q{number}", session, prefix=record) for number in range(5)]
        await place.store.finish(closed(session), [], questions, [])
    await place.rounds()
    assert len({request.prefix for request in stub.requests}) == 2
    written = place.metric("judge_tokens_total", model="claude-opus-4-8", kind="cache_write")
    read = place.metric("judge_tokens_total", model="claude-opus-4-8", kind="cache_read")
    assert written
    assert read == 4 * written, "of five questions the first writes and four read"
    fresh = place.metric("judge_tokens_total", model="claude-opus-4-8", kind="input") or 0
    output = place.metric("judge_tokens_total", model="claude-opus-4-8", kind="output") or 0
    cost = place.metric("judge_cost_dollars_total", model="claude-opus-4-8", evaluator="skill_selection")
    assert cost == pytest.approx((fresh * 5 + written * 6.25 + read * 0.5 + output * 25) / 1e6)


async def test_questions_of_different_evaluators_about_one_session_read_the_same_cached_record(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    session = trajectory(
        call("find", {"order": 7}, result="what the shop knows of it " * 400),
        skill_invocations=(load("refunds"),),
        offered_skills=skills("refunds", "returns"),
        answer="It was refunded.",
    )
    own_system = EvaluatorOptions(system_prompt="Judge as we do.")
    evaluators = build({"faithfulness": own_system, "tool_selection": EvaluatorOptions(enabled=False)})
    questions = [
        replace(ask(question.evaluator), question=question) for question in plan_all(session, [], evaluators).questions
    ]
    assert {one.question.evaluator for one in questions} == {"skill_selection", "goal_completion", "faithfulness"}
    place = _place(places, tmp_path, stub, prices=PRICES)
    await place.store.finish(closed(), [], questions, [])
    await place.rounds()
    asked = {request.labels[0]: request.body for request in stub.requests}
    outcomes = [one.verdict.outcome for one in await place.store.verdicts(closed().ref)]
    assert {one.label for one in outcomes if isinstance(one, Score)} == {"Yes", "Complete", "Faithful"}
    for part in ("system", "output_config"):
        assert asked["Yes"][part] == asked["Complete"][part] != asked["Faithful"][part]
    written = place.metric("judge_tokens_total", model="claude-opus-4-8", kind="cache_write") or 0
    read = place.metric("judge_tokens_total", model="claude-opus-4-8", kind="cache_read") or 0
    assert read > 2_000, "of the two that begin alike the second reads what the first wrote"
    assert written > 1.5 * read, "the one with a system prompt of its own writes for itself"


async def test_a_secret_in_the_record_is_masked_and_the_record_is_still_shared(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    place = _place(places, tmp_path, stub)
    record = f"<result>password=tulip {RECORD}</result>"
    await place.store.finish(closed(), [], [ask(f"q{number}", prefix=record) for number in range(3)], [])
    await place.rounds()
    assert "tulip" not in str([request.body for request in stub.requests])
    assert '<redacted kind="field"/>' in stub.requests[0].prefix
    assert place.metric("judge_tokens_total", model="claude-opus-4-8", kind="cache_read")


async def test_with_a_third_of_requests_turned_away_all_is_answered_and_fewer_are_asked_at_a_time(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    stub.default = now_and_then(rate_limited("1"), says(), every=3)
    place = _place(places, tmp_path, stub, concurrency=8)
    await place.store.finish(closed(), [], [ask(f"q{number}") for number in range(30)], [])
    lowest = 8.0
    for _ in range(300):
        await place.rounds()
        lowest = min(lowest, place.metric("judge_concurrency") or 8.0)
        place.clock.advance(2)
        if not await place.store.pending_questions():
            break
    assert {type(one.verdict.outcome) for one in await place.store.verdicts(closed().ref)} == {Score}
    assert lowest < 4
    assert place.metric("judge_circuit_opened_total", reason="judge_unavailable") is None


async def test_as_long_as_the_service_asks_for_a_question_is_not_asked_again(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    place = _place(places, tmp_path, stub)
    await place.store.finish(closed(), [], [ask("q")], [])
    stub.script(rate_limited("120"))
    await place.rounds()
    place.clock.advance(119)
    await place.rounds()
    assert (len(stub.requests), await place.store.pending_questions()) == (1, 1)
    place.clock.advance(5)
    await place.rounds()
    assert (len(stub.requests), await place.store.pending_questions()) == (2, 0)


async def test_an_outage_is_waited_out_and_a_refused_key_too(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    place = _place(places, tmp_path, stub)
    await place.store.finish(closed(), [], [ask(f"q{number}") for number in range(12)], [])
    over = stub.outage()
    for _ in range(60):
        await place.rounds()
        place.clock.advance(60)
    assert await place.store.pending_questions() == 12
    assert len(stub.requests) < 80
    over()
    over = stub.outage(fails(401, "authentication_error"))
    place.clock.advance(60)
    await place.rounds()
    assert "judge_not_authorised" in (place.parts.asking.problem() or "")
    over()
    place.clock.advance(60)
    await place.rounds()
    place.clock.advance(300)
    await place.rounds()
    assert await place.store.pending_questions() == 0
    assert place.parts.asking.problem() is None


async def test_a_batch_goes_out_and_comes_back_for_half_the_price(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    batches = {"enabled": True, "max_questions": 3}
    place = _place(places, tmp_path, stub, batches=batches, prices=PRICES)
    batching = place.parts.batching
    assert isinstance(batching, Batching)
    questions = [ask(f"q{number}") for number in range(3)]
    await place.store.finish(closed(), [], questions, [])
    await place.rounds()
    assert stub.requests == []
    await batching.look()
    stub.end_batches()
    await batching.look()
    verdicts = await place.store.verdicts(closed().ref)
    assert {type(one.verdict.outcome) for one in verdicts} == {Score}
    tokens = {
        kind: place.metric("judge_tokens_total", model="claude-opus-4-8", kind=kind) or 0
        for kind in ("input", "output", "cache_write", "cache_read")
    }
    dear = tokens["input"] * 5 + tokens["output"] * 25 + tokens["cache_write"] * 6.25 + tokens["cache_read"] * 0.5
    cost = place.metric("judge_cost_dollars_total", model="claude-opus-4-8", evaluator="skill_selection")
    assert cost == pytest.approx(dear / 2 / 1e6)


async def test_a_batch_of_an_earlier_configuration_is_collected_though_batches_are_switched_off(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    before = _place(places, tmp_path, stub, batches={"enabled": True, "max_questions": 3})
    assert isinstance(before.parts.batching, Batching)
    await before.store.finish(closed(), [], [ask(f"q{number}") for number in range(3)], [])
    await before.parts.batching.look()
    stub.end_batches()
    after = _place(places, tmp_path, stub)
    await after.rounds()
    assert stub.requests[1:] == [], "they are not asked a second time"
    await asyncio.wait_for(after.parts.batching.run(), 30)
    assert {type(one.verdict.outcome) for one in await after.store.verdicts(closed().ref)} == {Score}


async def test_a_batch_of_another_provider_is_let_go_and_its_questions_are_asked(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    before = _place(places, tmp_path, stub, batches={"enabled": True, "max_questions": 1})
    assert isinstance(before.parts.batching, Batching)
    await before.store.finish(closed(), [], [ask("a")], [])
    await before.parts.batching.look()
    after = _place(places, tmp_path, stub, provider="bedrock", bedrock={"region": "eu-central-1", "api_key": API_KEY})
    await asyncio.wait_for(after.parts.batching.run(), 30)
    await after.rounds()
    assert {type(one.verdict.outcome) for one in await after.store.verdicts(closed().ref)} == {Score}


async def test_a_model_that_does_not_exist_is_told_and_its_questions_wait_for_a_person(
    places: list[Place], tmp_path: Path, stub: AnthropicStub
) -> None:
    def behave(request: Request) -> Reply:
        known = request.body["model"] != "no-such-model"
        return says()(request) if known else fails(404, "not_found_error", "model: no-such-model")(request)

    stub.default = behave
    place = _place(places, tmp_path, stub)
    wrong = [ask(f"wrong{number}", model="no-such-model") for number in range(5)]
    await place.store.finish(closed(), [], [*wrong, *(ask(f"right{number}") for number in range(5))], [])
    await place.rounds()
    outcomes = [one.verdict.outcome for one in await place.store.verdicts(closed().ref)]
    assert [type(one) for one in outcomes].count(Score) == 5, "whoever has another model is answered"
    assert await place.store.pending_questions() == 5
    asked = [request.body["model"] for request in stub.requests]
    assert asked.count("no-such-model") <= 4, "those that were on their way together, and no more"
    problem = place.parts.asking.problem()
    assert problem is not None
    assert problem.startswith("judge_request_rejected: no-such-model: 404 not_found_error")
    assert (place.metric("judge_models_refused"), place.metric("judge_circuit_open")) == (1, 0)
