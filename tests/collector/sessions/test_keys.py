"""Which session attributes name, and which sessions are in the sample."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from collector.sessions.keys import Kind, Owner, is_set, kept, named_by, text_of

_OWNERS = st.builds(Owner, st.sampled_from(Kind), st.text(max_size=5), st.text(max_size=5))


def _value(**value: object) -> bytes:
    return AnyValue(**value).SerializeToString()  # type: ignore[arg-type]


@given(_OWNERS, _OWNERS)
def test_different_owners_have_different_digests(one: Owner, two: Owner) -> None:
    assert (one.digest == two.digest) == (one == two)


def test_tenant_and_name_are_not_run_together() -> None:
    assert Owner(Kind.SESSION, "b", "a").digest != Owner(Kind.SESSION, "", "ab").digest


@given(_OWNERS, st.floats(0, 1), st.floats(0, 1))
def test_a_session_kept_at_a_rate_is_kept_at_every_higher_one(owner: Owner, one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert kept(owner.digest, high) >= kept(owner.digest, low)


@given(_OWNERS)
def test_rate_one_keeps_everything_and_rate_zero_nothing(owner: Owner) -> None:
    assert kept(owner.digest, 1.0)
    assert not kept(owner.digest, 0.0)


def test_about_a_tenth_is_kept_at_rate_one_tenth() -> None:
    found = sum(kept(Owner(Kind.SESSION, f"chat-{number}").digest, 0.1) for number in range(5000))
    assert 400 < found < 600


@pytest.mark.parametrize(
    "value", [b"", _value(string_value=""), _value(int_value=7), _value(bool_value=True), b"\x0a\x7f"]
)
def test_what_is_no_text_names_nothing(value: bytes) -> None:
    assert text_of(value) is None
    assert named_by({"session.id": value, "conversation.id": _value(string_value="ann")}, ["session.id"]) is None
    assert named_by({"session.id": value, "alias": _value(string_value="ann")}, ["session.id", "alias"]) == ("ann", 1)


def test_the_strongest_name_wins() -> None:
    attributes = {"alias": _value(string_value="bob"), "session.id": _value(string_value="ann")}
    assert named_by(attributes, ["session.id", "alias"]) == ("ann", 0)


def test_text_that_is_not_unicode_still_names_a_session() -> None:
    assert text_of(b"\x0a\x02a\xff") == "a\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (_value(bool_value=True), True),
        (_value(bool_value=False), False),
        (_value(string_value="done"), True),
        (_value(int_value=0), True),
        (b"", False),
        (b"\x0a\x7f", False),
    ],
)
def test_a_marker_is_set_by_anything_but_false_and_nothing(value: bytes, expected: bool) -> None:
    assert is_set(value) is expected
