"""A forbidden event is seen in the metrics of the process that judged it, and of the one after that."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.agents import conversation
from tests.end_to_end.server import Server, wait_for

SUITE = """\
name: desk
version: "1"
cases:
  - id: never-look-up
    match: {service: shop}
    forbidden_events:
      - tool: look_up
"""


def test_what_failed_a_gate_is_told_after_a_kill_and_a_restart_too(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(SUITE)
    with Server(tmp_path, suites=["desk.yaml"], evaluation={"processes": 1}) as server:

        def told() -> float:
            return server.metric("gate_last_failure_timestamp_seconds", gate="forbidden_events")

        assert told() == 0
        server.send(conversation("chat-1"))
        first = wait_for(told, "the failure is told")
        assert server.metric("gate_failures_total", gate="forbidden_events") == 1
        server.kill()
        server.start()
        assert wait_for(told, "it is told again") == first
        assert server.metric("gate_failures_total", gate="forbidden_events") == 0, "it is not counted again"
