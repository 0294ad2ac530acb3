"""The Collector's program, built once and kept between runs of the tests. The first build takes minutes."""

from __future__ import annotations

from pathlib import Path

from tests.go_programs import go_program


def collector_program() -> Path:
    """Raises `NoGo`."""
    return go_program("collector", Path(__file__).parent)


if __name__ == "__main__":
    collector_program()  # in front of the tests, whose time is measured
