"""What tokens cost. Prices come from the configuration: they change, and differ between providers and contracts.

Money is counted in whole billionths of a dollar, so that sums of many small amounts stay exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judge.globs import matches
from judge.question import Answer

NANO = 1_000_000_000
_NANO_PER_MILLION = NANO / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Dollars for a million tokens of one model. What the prompt cache costs is derived from `input` where it is
    None: a quarter more for what is written to it, a tenth for what is read. `batch_share` is the share of the price
    that Message Batches pay."""

    input: float
    output: float
    cache_write: float | None = None
    cache_read: float | None = None
    batch_share: float = 0.5

    @property
    def write(self) -> float:
        return self.input * 1.25 if self.cache_write is None else self.cache_write

    @property
    def read(self) -> float:
        return self.input * 0.1 if self.cache_read is None else self.cache_read


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, each counted once: `fresh` is input that was neither read from nor written to the cache."""

    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def tokens(self) -> int:
        return self.fresh + self.cache_read + self.cache_write + self.output


def usage_of(answer: Answer) -> Usage:
    """`Answer.input_tokens` has all input; here every token stands under one name only."""
    cached = answer.cache_read_tokens + answer.cache_write_tokens
    return Usage(
        max(0, answer.input_tokens - cached), answer.cache_read_tokens, answer.cache_write_tokens, answer.output_tokens
    )


def nano_dollars(price: ModelPrice, usage: Usage, *, batch: bool = False) -> int:
    """What the call cost, in billionths of a dollar."""
    dollars_per_million = (
        usage.fresh * price.input
        + usage.cache_write * price.write
        + usage.cache_read * price.read
        + usage.output * price.output
    )
    return round(dollars_per_million * _NANO_PER_MILLION * (price.batch_share if batch else 1))


def price_of(prices: Mapping[str, ModelPrice], model: str) -> ModelPrice | None:
    """The price of a model by its exact name, else by the longest pattern that fits (`claude-opus-*`); None when there
    is none."""
    if model in prices:
        return prices[model]
    fitting = [pattern for pattern in prices if matches(pattern, model)]
    return prices[max(fitting, key=len)] if fitting else None
