"""Judges without a network: they answer as told, and remember what they were asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TypeAlias

from judge.errors import JudgeError, JudgeMisconfigured, JudgeUnavailable
from judge.question import Answer, Question

Outcome: TypeAlias = Answer | Exception
Says: TypeAlias = Callable[[Question], Outcome]


def yes(question: Question) -> Outcome:
    """The best label, for 1,000 tokens in and 100 out."""
    return Answer(question.scale.labels[0], "It fits.", "judge-a", 1_000, 100)


def down(_: Question) -> Outcome:
    return JudgeUnavailable("judge_unavailable", "529 overloaded")


def no_key(_: Question) -> Outcome:
    return JudgeMisconfigured("judge_not_authorised", "401 invalid key", "account")


class ScriptedJudge:
    """A `judge.question.Judge`. `says` may be replaced at any time; `hold` keeps answers back until `release`."""

    model = "judge-a"

    def __init__(self, says: Says = yes) -> None:
        self.says = says
        self.asked: list[Question] = []
        self.on_its_way = 0
        self._began = asyncio.Event()
        self._released = asyncio.Event()
        self._released.set()

    def hold(self) -> None:
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    async def until_on_their_way(self, count: int) -> None:
        """Wait until so many questions are being asked."""
        while self.on_its_way < count:
            self._began.clear()
            await asyncio.wait_for(self._began.wait(), 30)

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        self.on_its_way += 1
        self._began.set()
        try:
            await self._released.wait()
            await asyncio.sleep(0)
            outcome = self.says(question)
        finally:
            self.on_its_way -= 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class ScriptedBatches:
    """A `collector.judge_queue.batching.BatchJudge`. Batches end when told; `trouble` is raised by every method."""

    def __init__(self, says: Says = yes) -> None:
        self.says = says
        self.sent: dict[str, Mapping[str, Question]] = {}
        self.over: set[str] = set()
        self.lost: set[str] = set()
        self.trouble: JudgeError | None = None

    async def send(self, questions: Mapping[str, Question]) -> str:
        if self.trouble:
            raise self.trouble
        name = f"batch-{len(self.sent) + 1}"
        self.sent[name] = dict(questions)
        return name

    async def ended(self, batch_id: str) -> bool:
        if self.trouble:
            raise self.trouble
        return batch_id in self.over

    async def results(
        self, batch_id: str, questions: Mapping[str, Question]
    ) -> AsyncIterator[tuple[str, Answer | JudgeError]]:
        for name in reversed(list(self.sent[batch_id])):
            if name not in self.lost and name in questions:
                outcome = self.says(questions[name])
                assert isinstance(outcome, (Answer, JudgeError))
                yield name, outcome

    def end(self) -> None:
        self.over.update(self.sent)
