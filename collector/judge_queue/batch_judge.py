"""What batching needs of a service, and the rules of batching."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from judge.errors import JudgeError
from judge.question import Answer, Question


class BatchJudge(Protocol):
    """Implemented by `judge.clients.anthropic_batches.AnthropicBatches`. Every method raises `JudgeError`."""

    async def send(self, questions: Mapping[str, Question]) -> str: ...

    async def ended(self, batch_id: str) -> bool: ...

    def results(
        self, batch_id: str, questions: Mapping[str, Question]
    ) -> AsyncIterator[tuple[str, Answer | JudgeError]]: ...


@dataclass(frozen=True, slots=True)
class BatchRules:
    """Without `sends`, batches of an earlier configuration are collected and no new ones sent."""

    max_wait_s: float = 300
    max_questions: int = 500
    max_open: int = 4
    poll_s: float = 60
    sends: bool = True
