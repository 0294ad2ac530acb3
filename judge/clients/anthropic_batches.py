"""Questions in Message Batches: half the price, an answer within a day. Only the Anthropic API itself has them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import anthropic
from anthropic.types.messages import MessageBatchIndividualResponse

from judge.clients.anthropic import AnthropicJudge
from judge.clients.messages import Asker, answer_of, message_params
from judge.clients.translation import translated, translated_type
from judge.errors import JudgeError, JudgeUnavailable
from judge.question import Answer, Question

NO_BATCH = "the endpoint answered with something that is no batch"
TIMEOUT_S = 600.0
"""A batch of a hundred megabytes takes a while to send, and its results to fetch."""


class AnthropicBatches:
    """Uses the judge's client and manner of asking. Every method raises `JudgeError`."""

    def __init__(self, judge: AnthropicJudge, timeout_s: float = TIMEOUT_S) -> None:
        self._asker = judge.asker
        self._client = judge.client
        self._timeout_s = timeout_s

    async def send(self, questions: Mapping[str, Question]) -> str:
        """The service's id of the new batch. Keys name the questions in the results: letters, digits, `_` and `-`, at
        most 64."""
        requests = [
            {"custom_id": name, "params": message_params(question, self._asker)} for name, question in questions.items()
        ]
        try:
            async with asyncio.timeout(self._timeout_s):
                created = await self._batches().create(requests=requests, timeout=self._timeout_s)  # type: ignore[arg-type]
        except Exception as error:
            raise self._known(error) from error
        if not isinstance(getattr(created, "id", None), str):
            raise JudgeUnavailable("judge_unavailable", NO_BATCH, perhaps_billed=True)
        return created.id

    async def ended(self, batch_id: str) -> bool:
        """Whether its results can be had. Also True for a batch that the service does not know any more."""
        try:
            async with asyncio.timeout(self._timeout_s):
                batch = await self._batches().retrieve(batch_id, timeout=self._timeout_s)
        except anthropic.NotFoundError:
            return True
        except Exception as error:
            raise self._known(error) from error
        return getattr(batch, "processing_status", None) == "ended"

    async def results(
        self, batch_id: str, questions: Mapping[str, Question]
    ) -> AsyncIterator[tuple[str, Answer | JudgeError]]:
        """Name and outcome of each question of a batch that ended, in any order. Names that are not in `questions` are
        left out; a batch that is gone, or whose results were deleted, has none."""
        try:
            batch = await self._batches().retrieve(batch_id, timeout=self._timeout_s)
            if not batch.results_url:
                return
            async for line in await self._batches().results(batch_id, timeout=self._timeout_s):
                question = questions.get(getattr(line, "custom_id", ""))
                if question is not None:
                    yield line.custom_id, _outcome(line, question, self._asker)
        except anthropic.NotFoundError:
            return
        except Exception as error:
            raise self._known(error) from error

    def _batches(self) -> anthropic.resources.messages.AsyncBatches:
        return self._client.messages.batches

    def _known(self, error: Exception) -> Exception:
        return translated(error, self._timeout_s) or error


def _outcome(line: MessageBatchIndividualResponse, question: Question, asker: Asker) -> Answer | JudgeError:
    result = line.result
    try:
        match getattr(result, "type", None):
            case "succeeded":
                return answer_of(getattr(result, "message", None), question, asker)
            case "errored":
                error = getattr(getattr(result, "error", None), "error", None)
                return translated_type(str(getattr(error, "type", "")), str(getattr(error, "message", "")))
            case kind:
                return JudgeUnavailable("judge_unavailable", f"the batch ended before the question was asked: {kind}")
    except JudgeError as error:
        return error
