"""On what terms questions are asked: values of the configuration, as the queue needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from judge.budget import Budget
from judge.prices import ModelPrice
from judge.redaction import NOTHING, Redaction
from judge.retry import RetryPolicy


def _no_price(_: str) -> ModelPrice | None:
    return None


@dataclass(frozen=True, slots=True)
class Terms:
    """`manner` names all settings that could change an answer and that questions do not bring themselves (effort,
    thinking). `answer_cache_s` of 0 means that every question is asked."""

    retry: RetryPolicy = field(default_factory=RetryPolicy)
    budget: Budget = field(default_factory=Budget)
    price_of: Callable[[str], ModelPrice | None] = _no_price
    redaction: Redaction = NOTHING
    manner: str = ""
    max_output_tokens: int = 4096
    max_wait_s: float = 86_400
    answer_cache_s: float = 0
