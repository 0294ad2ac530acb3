"""Connections that cannot be taken are told of, and not once each."""

from __future__ import annotations

import asyncio
import resource

import pytest
from structlog.testing import capture_logs

from collector.open_files import allow_many, tell_seldom

NONE_LEFT = {"message": "socket.accept() out of system resource", "exception": OSError(24, "Too many open files")}


async def test_connections_that_are_not_taken_are_told_of_once() -> None:
    loop = asyncio.get_running_loop()
    tell_seldom(loop)
    with capture_logs() as logged:
        for _ in range(1000):
            loop.call_exception_handler(dict(NONE_LEFT))
    (told,) = logged
    assert told["event"] == "connections_not_taken"
    assert "Too many open files" in told["problem"]
    assert "LimitNOFILE" in told["problem"]


async def test_whatever_else_goes_wrong_in_the_loop_is_told_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    tell_seldom(loop)
    for _ in range(2):
        loop.call_exception_handler({"message": "something else", "exception": ValueError("odd")})
    assert [record.message for record in caplog.records if record.name == "asyncio"] == ["something else"] * 2


def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
        allow_many()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert hard == before[1]
        assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(65_536, hard))
        allow_many()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
