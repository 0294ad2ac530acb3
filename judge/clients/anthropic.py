"""A judge over the Anthropic Messages API: direct, through an endpoint that speaks it, on Bedrock or on Vertex AI."""

from __future__ import annotations

import asyncio

from judge.clients.connections import AnthropicApi, Client, connect
from judge.clients.messages import Asker, Effort, answer_of, message_params
from judge.clients.translation import translated
from judge.question import Answer, Question


class AnthropicJudge:
    """Implements `judge.question.Judge`. A question's own model and effort go before the judge's.

    `client` takes the place of one built from key and address (see `connections.connect`). `thinking=False` and
    `effort=None` are for models that know neither.
    """

    def __init__(
        self,
        model: str,
        effort: Effort | None,
        max_output_tokens: int,
        timeout_s: float,
        api_key: str = "",
        base_url: str | None = None,
        *,
        thinking: bool = True,
        client: Client | None = None,
    ) -> None:
        self.model = model
        self.client = client or connect(AnthropicApi(api_key, base_url))
        self.asker = Asker(model, effort, max_output_tokens, thinking)
        self._timeout_s = timeout_s

    async def ask(self, question: Question) -> Answer:
        """Raises `JudgeUnavailable`, `JudgeDeclined` or `JudgeMisconfigured`."""
        try:
            # The SDK's timeout is for each read; a server that drips bytes must not hold us longer than agreed.
            async with asyncio.timeout(self._timeout_s):
                message: object = await self.client.messages.create(
                    **message_params(question, self.asker), timeout=self._timeout_s
                )
        except Exception as error:
            if known := translated(error, self._timeout_s):
                raise known from error
            raise
        return answer_of(message, question, self.asker)

    async def aclose(self) -> None:
        """Close the connections. May be called twice."""
        await self.client.close()
