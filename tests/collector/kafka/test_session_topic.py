"""The key of a session says whose a message is, the same for everybody, and never for two."""

from __future__ import annotations

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from collector.kafka.headers import TENANT
from collector.kafka.session_topic import (
    MOVED_TO,
    SIGNAL,
    VERSION,
    SessionMessage,
    UnknownVersion,
    followed_headers,
    owner_of,
    read_message,
    session_headers,
    session_key,
    session_partition,
)
from collector.sessions.keys import Kind, Owner

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["trace:", "session:", "session:trace:1", "\\", "\\0", "\0", "a\\\0b"]
)
traces = st.binary(min_size=16, max_size=16).map(bytes.hex)
sessions = st.builds(Owner, st.just(Kind.SESSION), texts.filter(bool), texts)
owners = sessions | st.builds(Owner, st.just(Kind.TRACE), traces, texts)


def test_keys_are_what_the_documentation_says() -> None:
    assert session_key(Owner(Kind.SESSION, "s-1", "acme")) == b"acme\0s-1"
    assert session_key(Owner(Kind.TRACE, "0a" * 16)) == b"\0trace:" + b"0a" * 16


@given(owner=owners)
def test_a_key_tells_its_owner(owner: Owner) -> None:
    assert owner_of(session_key(owner)) == owner


@given(one=owners, other=owners)
def test_two_owners_never_share_a_key(one: Owner, other: Owner) -> None:
    assert (session_key(one) == session_key(other)) == (one == other)


@given(owner=owners, partitions=st.integers(1, 64))
def test_a_session_stands_where_the_usual_partitioner_puts_its_key(owner: Owner, partitions: int) -> None:
    key = session_key(owner)
    numbers = list(range(partitions))
    assert session_partition(key, partitions) == DefaultPartitioner()(key, numbers, numbers)


@given(owner=owners, moved_to=st.none() | texts)
def test_a_message_is_read_as_it_was_written(owner: Owner, moved_to: str | None) -> None:
    moved_to = moved_to if owner.kind is Kind.TRACE else None
    read = read_message(session_key(owner), session_headers("logs", owner.tenant, moved_to))
    assert read == SessionMessage(owner, "logs", moved_to)


@given(owner=sessions)
def test_a_message_may_say_that_another_session_goes_on_from_this_one(owner: Owner) -> None:
    assert read_message(session_key(owner), followed_headers(owner.tenant)) == SessionMessage(
        owner, "logs", followed=True
    )


def test_what_no_router_has_written_is_told() -> None:
    key, headers = session_key(Owner(Kind.SESSION, "s", "acme")), session_headers("traces", "acme")
    with pytest.raises(UnknownVersion, match=r"version \(none\)"):
        read_message(key, [])
    with pytest.raises(UnknownVersion, match="version 9"):
        read_message(key, [(VERSION, b"9")])
    with pytest.raises(ValueError, match="without a key"):
        read_message(None, headers)
    with pytest.raises(ValueError, match="different tenants"):
        read_message(session_key(Owner(Kind.SESSION, "s", "other")), headers)
    with pytest.raises(ValueError, match="neither of traces nor of logs"):
        read_message(key, [*headers[1:]])
    for broken in (b"", b"no tenant", b"tenant\0", b"\xff\0s"):
        with pytest.raises(ValueError, match=r"NUL and a name|decode"):
            owner_of(broken)


@pytest.mark.parametrize(
    ("key", "more", "told"),
    [
        (b"\0trace:" + b"0A" * 16, [], "32 lowercase hex digits"),
        (b"\0trace:0a", [], "32 lowercase hex digits"),
        (b"\0session:s", [], "not written as ours"),
        (b"\0" + b"s" * 2000, [], "at most 1024"),
        (b"\0s", [(MOVED_TO, b"t")], "only a trace moves"),
        (b"\0trace:" + b"0a" * 16, [(MOVED_TO, b"t" * 2000)], "at most 1024"),
    ],
    ids=["uppercase", "short", "another spelling", "long", "a session that moves", "a long session to move to"],
)
def test_what_a_stranger_has_written_is_told(key: bytes, more: list[tuple[str, bytes]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_message(key, [*session_headers("traces", ""), *more])


def test_headers_without_a_value_say_nothing() -> None:
    key, headers = session_key(Owner(Kind.SESSION, "s")), session_headers("traces", "")
    assert read_message(key, [*headers, (TENANT, None), (MOVED_TO, None)]).owner.tenant == ""
    with pytest.raises(UnknownVersion):
        read_message(key, [*headers, (VERSION, None)])
    with pytest.raises(ValueError, match="neither of traces nor of logs"):
        read_message(key, [*headers, (SIGNAL, None)])
