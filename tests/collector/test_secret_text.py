"""Tokens and headers that cannot be sent are found out beforehand, and not repeated."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.secret_text import header_fault, token_fault, without


@given(st.text(max_size=30))
def test_what_is_good_can_be_sent_and_what_is_not_is_not_repeated(token: str) -> None:
    fault = token_fault(token)
    if fault is None:
        httpx.Request("GET", "http://localhost", headers={"authorization": f"Bearer {token}"})
        assert token == token.strip()
    elif len(token) > 5:
        assert token not in fault


@pytest.mark.parametrize("token", ["", "two\nlines", "a blank", "gr\u00fcn", "tab\t", "null\0"])
def test_a_token_is_one_word_of_ascii(token: str) -> None:
    assert token_fault(token)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "x"),
        ("a b", "x"),
        ("x:y", "x"),
        ("grpc-timeout", "1S"),
        ("X-Key-Bin", "x"),
        ("x", "a\nb"),
        ("x", "gr\u00fcn"),
    ],
)
def test_headers_that_a_transport_cannot_send_are_told(name: str, value: str) -> None:
    fault = header_fault(name, value)
    assert fault is not None
    assert "gr\u00fcn" not in fault


@pytest.mark.parametrize(("name", "value"), [("Authorization", "Bearer abc"), ("x-scope.org_id", ""), ("x", "a, b")])
def test_usual_headers_are_good(name: str, value: str) -> None:
    assert header_fault(name, value) is None


def test_known_secrets_are_masked_the_longest_first() -> None:
    secrets = ["open-sesame", "open-sesame-and-more", "short"]
    assert without("key open-sesame-and-more, open-sesame; short", secrets) == "key ***, ***; short"


@given(st.text(max_size=50), st.lists(st.text(min_size=8, max_size=12), max_size=4))
def test_no_known_secret_is_left(text: str, secrets: list[str]) -> None:
    masked = without(text.join(secrets), secrets)
    assert not any(secret in masked for secret in secrets if "*" not in secret)
