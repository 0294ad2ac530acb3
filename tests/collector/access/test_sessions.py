"""Cookies that say who is signed in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.access.sessions import bearer_of, session_of
from collector.access.tokens import Bearer

KEY = b"k" * 32
ANA = Bearer("ana \u00e9", None, False, b"a" * 32)
BOB = Bearer("bob", None, False, b"b" * 32)


def named(name: str) -> Sequence[Bearer]:
    return [one for one in (ANA, BOB) if one.name == name]


def test_a_session_names_its_bearer_until_its_end() -> None:
    session = session_of(ANA, 100, KEY)
    assert bearer_of(session, named, 99, KEY) == ANA
    assert bearer_of(session, named, 100, KEY) is None


def test_a_session_ends_with_its_token() -> None:
    session = session_of(BOB, 100, KEY)
    renewed = Bearer("bob", None, False, b"c" * 32)
    assert bearer_of(session, lambda _: [renewed], 1, KEY) is None
    assert bearer_of(session, lambda _: [renewed, BOB], 1, KEY) == BOB
    assert bearer_of(session, lambda _: [], 1, KEY) is None


def test_another_process_s_session_is_none() -> None:
    assert bearer_of(session_of(ANA, 100, KEY), named, 1, b"other" * 8) is None


def test_a_session_that_was_changed_anywhere_is_none() -> None:
    session = session_of(BOB, 100, KEY)
    for at, was in enumerate(session):
        changed = session[:at] + ("A" if was != "A" else "B") + session[at + 1 :]
        assert bearer_of(changed, named, 1, KEY) is None


@given(st.text())
def test_anything_else_is_none(text: str) -> None:
    assert bearer_of(text, named, 1, KEY) is None
    assert bearer_of(f"{text}.{'0' * 64}", named, 1, KEY) is None


@pytest.mark.parametrize("payload", ["W10", "WzEsMl0", "WyJib2IiLCJ4Il0", "WyJib2IiLHRydWVd", "bnVsbA", "W1tdLDFd"])
def test_a_payload_of_another_shape_is_none(payload: str) -> None:
    assert bearer_of(f"{payload}.{'0' * 64}", named, 0, KEY) is None
