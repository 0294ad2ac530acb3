"""What tokens cost, to the billionth of a dollar."""

from __future__ import annotations

import pytest

from judge.prices import ModelPrice, Usage, nano_dollars, price_of, usage_of
from judge.question import Answer

PRICE = ModelPrice(input=5, output=25)


@pytest.mark.parametrize(
    ("usage", "nano"),
    [
        (Usage(fresh=1_000_000), 5_000_000_000),
        (Usage(output=1_000_000), 25_000_000_000),
        (Usage(cache_write=1_000_000), 6_250_000_000),
        (Usage(cache_read=1), 500),
        (Usage(), 0),
    ],
)
def test_every_kind_of_token_has_its_price(usage: Usage, nano: int) -> None:
    assert nano_dollars(PRICE, usage) == nano


def test_a_batch_costs_its_share() -> None:
    assert nano_dollars(PRICE, Usage(fresh=1000, output=100), batch=True) * 2 == nano_dollars(
        PRICE, Usage(fresh=1000, output=100)
    )


def test_prices_of_the_cache_may_be_given() -> None:
    dear = ModelPrice(5, 25, cache_write=10, cache_read=1)
    assert nano_dollars(dear, Usage(cache_write=1000, cache_read=1000)) == 11_000_000


def test_cached_input_is_counted_once() -> None:
    usage = usage_of(
        Answer("Yes", "", "m", input_tokens=100, output_tokens=7, cache_read_tokens=60, cache_write_tokens=30)
    )
    assert usage == Usage(fresh=10, cache_read=60, cache_write=30, output=7)
    assert usage.tokens == 107


def test_an_endpoint_that_counts_cached_input_apart_gives_no_negative_number() -> None:
    assert usage_of(Answer("Yes", "", "m", input_tokens=10, cache_read_tokens=60)).fresh == 0


def test_the_exact_name_goes_before_patterns_and_the_longer_pattern_before_the_shorter() -> None:
    prices = {"*": ModelPrice(1, 1), "big-*": ModelPrice(2, 2), "big-one": ModelPrice(3, 3)}
    assert [price_of(prices, model) for model in ("small", "big-two", "big-one")] == [
        ModelPrice(1, 1),
        ModelPrice(2, 2),
        ModelPrice(3, 3),
    ]
    assert price_of({"big-*": ModelPrice(2, 2)}, "small") is None
