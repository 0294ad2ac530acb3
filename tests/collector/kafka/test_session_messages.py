"""A message names its session by key and headers, and one that does not is told apart from one of a later version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kafka.session_messages import (
    SIGNAL,
    VERSION,
    NoSession,
    UnknownVersion,
    about,
    session_headers,
    session_key,
)
from collector.sessions.keys import Kind, Owner

_NAMES = st.text(min_size=1, max_size=40)


@given(name=_NAMES, tenant=st.text(max_size=40))
def test_a_session_is_read_as_it_was_written(name: str, tenant: str) -> None:
    owner = Owner(Kind.SESSION, name, tenant)
    told = about(session_key(owner), session_headers(owner, "logs"))
    assert (told.owner, told.signal) == (owner, "logs")


def test_a_session_that_is_called_like_a_trace_is_another_than_the_trace() -> None:
    name = "0" * 31 + "1"
    trace, session = Owner(Kind.TRACE, name, "acme"), Owner(Kind.SESSION, name, "acme")
    assert session_key(trace) != session_key(session)
    assert about(session_key(trace), session_headers(trace, "traces")).owner == trace


def test_tenants_keep_sessions_of_one_name_apart() -> None:
    keys = {session_key(Owner(Kind.SESSION, "s", tenant)) for tenant in ("", "a", "b")}
    assert len(keys) == 3


def test_a_message_of_another_version_is_told_apart_from_a_broken_one() -> None:
    owner = Owner(Kind.SESSION, "s")
    with pytest.raises(UnknownVersion, match="9"):
        about(session_key(owner), [*session_headers(owner, "traces")[:2], (VERSION, b"9")])
    with pytest.raises(UnknownVersion):
        about(session_key(owner), [])


@pytest.mark.parametrize(
    "key", [None, b"", b"no letter", b"\0", b"\0s", b"\0x1", b"\0tnothex", b"\xff\0s1", b"\0s" + b"x" * 2000]
)
def test_a_key_that_names_no_session_is_told(key: bytes | None) -> None:
    with pytest.raises(NoSession):
        about(key, session_headers(Owner(Kind.SESSION, "s"), "traces"))


def test_a_message_of_no_signal_is_told() -> None:
    owner = Owner(Kind.SESSION, "s")
    with pytest.raises(NoSession, match="neither"):
        about(session_key(owner), [(SIGNAL, b"metrics"), (VERSION, b"1")])
