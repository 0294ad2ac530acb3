"""How long a command waits for the judge."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from collector.judge_building import build_judge
from collector.judge_config import CircuitSettings, JudgeSettings
from collector.offline import Examined
from collector.offline_asking import _ended, ask, patience_of
from judge.verdict import NotJudged, Score
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, Behaviour, fails, hangs, says
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS, closed, pending


@pytest.mark.parametrize("timeout_s", [1, 120, 900])
def test_patience_is_longer_than_one_call_may_take(timeout_s: float) -> None:
    settings = JudgeSettings(timeout_seconds=timeout_s, circuit=CircuitSettings(max_seconds=30))
    assert patience_of(settings) == timeout_s + 30


async def test_what_has_no_answer_when_patience_ends_says_so() -> None:
    with AnthropicStub(hangs()) as stub:
        (found,) = await asked(stub, patience_s=0.3)
    (verdict,) = found.verdicts
    assert verdict.verdict.outcome == NotJudged("judge_unavailable", "no answer for 0.3 s")


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (fails(404, "not_found_error", "no such model"), "judge_request_rejected"),
        (fails(401, "authentication_error"), "judge_not_authorised"),
    ],
)
async def test_what_nobody_will_answer_is_not_waited_for(trouble: Behaviour, reason: str) -> None:
    with AnthropicStub(trouble) as stub:
        async with asyncio.timeout(60):
            (found,) = await asked(stub, patience_s=3_600)
    outcome = found.verdicts[0].verdict.outcome
    assert isinstance(outcome, NotJudged)
    assert outcome.reason == reason


async def test_answers_are_told_as_they_come() -> None:
    told: list[tuple[int, int]] = []
    with AnthropicStub(says()) as stub:
        (found,) = await asked(stub, told=told)
        assert len(stub.requests) == 1
    assert isinstance(found.verdicts[0].verdict.outcome, Score)
    assert told[-1] == (1, 1)


async def test_a_run_ends_also_when_a_cancellation_gets_lost() -> None:
    begun = asyncio.Event()

    async def deaf_once() -> None:
        with suppress(asyncio.CancelledError):
            begun.set()
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    task = asyncio.create_task(deaf_once())
    await begun.wait()
    await _ended(task)
    assert task.cancelled()


async def asked(
    stub: AnthropicStub, patience_s: float | None = None, told: list[tuple[int, int]] | None = None
) -> list[Examined]:
    settings = JudgeSettings.model_validate({"api_key": API_KEY, "base_url": stub.url})
    judge = build_judge(settings)
    assert judge is not None
    notes: list[tuple[int, int]] = [] if told is None else told
    try:
        return await ask(
            [Examined(closed(), (), (pending(),), ())],
            settings,
            judge,
            FakeClock(NOW_NS),
            lambda done, total: notes.append((done, total)),
            patience_s=patience_s,
        )
    finally:
        await judge.aclose()
