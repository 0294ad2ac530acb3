"""A forbidden event is seen in the metrics of the process that judged it, and of the one after that; and so is what
nobody could judge of a case of high risk."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.agents import conversation
from tests.end_to_end.server import Server, wait_for
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, refuses

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


RISKY = """\
name: desk
version: "1"
cases:
  - id: refund
    match: {service: shop}
    risk: high
    expected_skill: none
"""


def test_a_case_of_high_risk_of_which_the_judge_says_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(RISKY)
    with AnthropicStub(refuses()) as stub:
        judge = {"api_key": API_KEY, "base_url": stub.url}
        with Server(tmp_path, suites=["desk.yaml"], judge=judge) as server:
            server.send(conversation("chat-1"))
            labels = {"case": "desk/refund", "evaluator": "composite", "service": "shop", "reason": "judge_refused"}
            wait_for(lambda: server.metric("high_risk_undecided_total", **labels) == 1, "it is told")
            assert server.metric("questions_oldest_high_risk_seconds") == 0
            assert server.metric("gate_failures_total") == 0
