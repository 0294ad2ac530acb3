"""A full disk: nothing is acknowledged that is not kept, everybody is told, and it heals by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.end_to_end.agents import conversation, request, tool_span
from tests.end_to_end.server import Server, wait_for
from tests.integrations import require


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mounted = os.geteuid() == 0 and _run("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(directory))
    require("tmpfs", mounted, "run as root where file systems may be mounted")
    yield directory
    _run("umount", "-l", str(directory))


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        try:
            while True:
                file.write(bytes(65_536))
                file.flush()
        except OSError:
            return ballast


def _large(session: str, trace: int) -> bytes:
    spans = [tool_span(session, trace, trace * 100 + number) for number in range(20)]
    for span in spans:
        span.attributes.add(key="text").value.string_value = "x" * 100_000
    return request(spans)


def test_a_full_disk_refuses_is_shown_and_heals(small_disk: Path) -> None:
    with Server(small_disk / "server") as server:
        server.send(conversation("chat-1"))
        server.judged("chat-1")
        ballast = _fill(small_disk)
        code, details = server.refusal(_large("chat-2", 2))
        assert code == grpc.StatusCode.UNAVAILABLE
        assert "journal" in details
        wait_for(lambda: server.readyz() == 503, "not ready")
        assert "journal" in server.not_ready_because()["ingest"]
        ballast.unlink()
        wait_for(lambda: server.readyz() == 200, "ready again")
        server.send(_large("chat-2", 2))
        assert server.judged("chat-2").spans == 20
        assert server.metric("dropped_total", signal="traces", reason="refused") == 20


def test_a_full_disk_ends_nothing_where_the_journal_has_to_begin_a_file(small_disk: Path) -> None:
    """Other programs filled it: our own bound leaves room for what closings write."""
    settings = {"journal": {"segment_bytes": 1024**2}, "sessions": {"idle_seconds": 5}}
    with Server(small_disk / "server", **settings) as server:
        server.send(_large("chat-1", 1))  # a file is full
        ballast = _fill(small_disk)  # before it closes, which would begin the next one
        code, details = server.refusal(conversation("chat-2", trace=2))
        assert (code, "journal" in details) == (grpc.StatusCode.UNAVAILABLE, True)
        assert server.process.poll() is None
        ballast.unlink()
        wait_for(lambda: server.readyz() == 200, "ready again")
        server.send(conversation("chat-2", trace=2))
        assert (server.judged("chat-1").spans, server.judged("chat-2").spans) == (20, 2)


def test_too_little_room_refuses_before_the_disk_is_full(small_disk: Path) -> None:
    with Server(small_disk / "server", journal={"min_free_bytes": 4_000_000}) as server:
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(22 * 1024**2))
        wait_for(lambda: server.readyz() == 503, "not ready")
        code, details = server.refusal(conversation("chat-1"))
        assert (code, "MiB free" in details) == (grpc.StatusCode.UNAVAILABLE, True)
        ballast.unlink()
        wait_for(lambda: server.readyz() == 200, "ready again")
        server.send(conversation("chat-1"))
        server.judged("chat-1")


def test_a_journal_deleted_under_the_server_acknowledges_nothing_and_begins_anew(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.send(conversation("chat-1"))
        server.judged("chat-1")
        shutil.rmtree(tmp_path / "data" / "journal")
        code, details = server.refusal(conversation("chat-2", trace=2))
        assert code == grpc.StatusCode.UNAVAILABLE
        assert "journal" in details
        wait_for(lambda: server.readyz() == 503 or (tmp_path / "data" / "journal").exists(), "noticed")
        wait_for(lambda: server.readyz() == 200, "ready again")
        server.send(conversation("chat-3", trace=3))
        assert server.judged("chat-3").spans == 2
        server.kill()
        server.start()
        server.send(conversation("chat-4", trace=4))
        server.judged("chat-4")
        assert [closed.spans for closed in server.closings("chat-3")] == [2]
