"""Somebody holds all connections that the process may have: it lives, fills no log, and goes on when they let go."""

from __future__ import annotations

import contextlib
import resource
import socket
from pathlib import Path

from tests.end_to_end.agents import conversation
from tests.end_to_end.server import Server, wait_for

LINES = 50


def test_connections_without_end_neither_end_it_nor_fill_its_log(tmp_path: Path) -> None:
    with Server(tmp_path) as server, contextlib.ExitStack() as held:
        pid, before = server.process.pid, len(server.output().splitlines())
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        in_use = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (in_use + 20, limits[1]))
        host, _, port = server.http.removeprefix("http://").rpartition(":")
        for _ in range(200):
            held.enter_context(socket.create_connection((host, int(port)), timeout=20))
        wait_for(lambda: "connections_not_taken" in server.output(), "it is told")
        held.close()
        wait_for(lambda: server.readyz() == 200, "it takes connections again")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        server.send(conversation("afterwards"))
        server.judged("afterwards")
        assert len(server.output().splitlines()) - before < LINES
