"""Secrets and personal data, by their shapes. All values here are made up, and put together where a scanner of this
repository would take them for real."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.sensitive import MOST_HITS, NAMES, SHAPES, USUAL, Shape, hits, iban, luhn

EXAMPLES = {
    "private_key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nAAAA\n-----END OPENSSH " + "PRIVATE KEY-----",
    "api_key": "AK" + "IA" + "Q7" * 8,
    "jwt": "ey" + "JhbGciOiJub25lIn0.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl",
    "password": "password: correct-horse-7",
    "url_password": "postgres://app:hunter22@db/orders",
    "card": "4000 0566 5566 5556",
    "iban": "DE02 1203 0000 0000 2020 51",
    "email": "mara.lind@mail.example.org",
    "phone": "+44 20 7946 0991",
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_kind_is_found_where_it_stands(kind: str) -> None:
    text = f"Here it is: {EXAMPLES[kind]} and more"
    (found,) = hits(text, (kind,))
    assert found.shape.kind == kind
    assert text[found.start : found.end] == found.value


def test_addresses_and_numbers_are_looked_for_only_when_named() -> None:
    assert set(NAMES) - set(USUAL) == {"email", "phone"}
    assert not hits(EXAMPLES["email"] + " " + EXAMPLES["phone"])


@pytest.mark.parametrize(
    "text",
    [
        "4000 0566 5566 5557",  # wrong check digit
        "0000 0000 0000 0000",
        "DE03 1203 0000 0000 2020 51",
        "order 12345678901234567",
        "password: <your password>",
        "password=${DB_PASSWORD}",
        "The password is wrong.",
        "mail@localhost",
        "a sketchy sk-1 idea",
        "build 1.2.3.4000056655665556.7",
    ],
)
def test_what_only_looks_like_it_is_not_found(text: str) -> None:
    assert not hits(text, NAMES)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.needed], ids=lambda shape: shape.title)
@given(data=st.data())
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_what_a_shape_needs_is_wherever_it_is_found(shape: Shape, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(shape.pattern, alphabet=st.characters(codec="ascii")))
    assert any(needed in text.casefold() for needed in shape.needed)


def test_what_is_allowed_is_not_found() -> None:
    text = "Write to help@shop.example or mara@mail.example.org"
    assert [hit.value for hit in hits(text, ("email",), ["*@shop.example"])] == ["mara@mail.example.org"]


def test_one_value_counts_once_though_it_has_two_shapes() -> None:
    assert len(hits(f"api_key={EXAMPLES['api_key']}")) == 1


def test_a_text_full_of_them_is_not_read_to_the_end() -> None:
    assert len(hits(f"{EXAMPLES['email']} " * 5_000, ("email",))) == MOST_HITS


@given(st.integers(10**11, 10**17))
def test_a_changed_digit_is_no_card_number(number: int) -> None:
    right = [digit for digit in range(10) if luhn(f"{number}{digit}")]
    assert len(right) == (1 if len(set(str(number))) > 1 else len(right))


def test_an_iban_has_its_countrys_length() -> None:
    assert iban("GB82 WEST 1234 5698 7654 32")
    assert not iban("GB82 WEST 1234 5698 7654 3")
    assert not iban("XX82 WEST 1234 5698 7654 32")
    assert [hit.value for hit in hits("to GB82WEST12345698765432 NOW", ("iban",))] == ["GB82WEST12345698765432 NOW"]


@given(st.text(alphabet="aA0-_.@:/+= \"'eyJsk\n", max_size=300))
def test_any_text_can_be_searched(text: str) -> None:
    for hit in hits(text, NAMES):
        assert text[hit.start : hit.end] == hit.value
