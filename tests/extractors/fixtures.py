"""Recorded sessions under `tests/fixtures/<harness>/<scenario>/` as `Session`s."""

from __future__ import annotations

from pathlib import Path

from collector.otlp.decode import decode_session
from collector.otlp.otlp_json import Signal, to_protobuf
from extractors.spans import Session

FIXTURES = Path(__file__).parents[1] / "fixtures"


def scenarios() -> list[Path]:
    """Every scenario directory: those that hold telemetry."""
    files = [*FIXTURES.glob("*/*/traces-*.json"), *FIXTURES.glob("*/*/logs-*.json")]
    return sorted({file.parent for file in files})


def name_of(scenario: Path) -> str:
    """`<harness>/<scenario>`."""
    return f"{scenario.parent.name}/{scenario.name}"


def session_in(scenario: Path) -> Session:
    """The session of a scenario, decoded as the collector decodes it."""
    return decode_session(name_of(scenario), _requests(scenario, "traces"), _requests(scenario, "logs"))


def session(name: str) -> Session:
    """The session of `<harness>/<scenario>`."""
    return session_in(FIXTURES / name)


def _requests(scenario: Path, signal: Signal) -> list[bytes]:
    converted = [to_protobuf(file.read_bytes(), signal) for file in sorted(scenario.glob(f"{signal}-*.json"))]
    assert all(one.rejected == 0 for one in converted), f"{name_of(scenario)}: {[one.cause for one in converted]}"
    return [one.payload for one in converted]
