"""A stored question as it may leave the process: without secrets, with what it may cost, and with the key under which
its answer is kept for the same question asked again. Pure but for a memory of redacted texts."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache

from collector.judge_queue.terms import Terms
from judge.budget import Amount
from judge.prices import ModelPrice, Usage, nano_dollars
from judge.question import Question
from judge.transcript import BYTES_PER_TOKEN

_OVERHEAD_TOKENS = 500
"""The form of the answer and what the service adds of its own."""
_REMEMBERED = 16
"""Sessions whose redacted records are kept: their questions come one after the other."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """`most` is what one asking may use at most; `batch_most` the same in a batch."""

    question: Question
    model: str
    key: str | None
    most: Amount
    batch_most: Amount


class Preparing:
    """Takes some milliseconds for each question: run it in a thread."""

    def __init__(self, terms: Terms, default_model: str) -> None:
        self._terms = terms
        self._default_model = default_model
        self._redacted_prefix = lru_cache(_REMEMBERED)(terms.redaction.markup)

    def prepare(self, question: Question, vote: int) -> Prepared:
        terms, prompt = self._terms, question.prompt
        redacted = replace(
            prompt,
            prefix=self._redacted_prefix(prompt.prefix),
            question=terms.redaction.markup(prompt.question),
        )
        ready = replace(question, prompt=redacted)
        model = question.model or self._default_model
        price = terms.price_of(model)
        usage = _most(ready, terms.max_output_tokens)
        return Prepared(
            ready,
            model,
            self._key(ready, model, vote) if terms.answer_cache_s > 0 else None,
            _amount(usage, price, batch=False),
            _amount(usage, price, batch=True),
        )

    def _key(self, question: Question, model: str, vote: int) -> str:
        """Everything that an answer depends on. Votes are answers of their own."""
        prompt = question.prompt
        parts = (
            [model, question.effort, self._terms.manner, self._terms.max_output_tokens, question.shape, vote],
            [prompt.version, prompt.sha256, prompt.system, prompt.prefix, prompt.question],
            [list(question.scale.values.items()), question.offered],
        )
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _most(question: Question, max_output_tokens: int) -> Usage:
    """All input written to the cache, which is the dearest way to read it, and the longest answer."""
    prompt = question.prompt
    size = sum(len(text.encode("utf-8", "replace")) for text in (prompt.system, prompt.prefix, prompt.question))
    return Usage(cache_write=int(size / BYTES_PER_TOKEN) + _OVERHEAD_TOKENS, output=max_output_tokens)


def _amount(usage: Usage, price: ModelPrice | None, *, batch: bool) -> Amount:
    return Amount(usage.tokens, 0 if price is None else nano_dollars(price, usage, batch=batch))
