"""Command line options of the test suite."""

from __future__ import annotations

import pytest

pytest_plugins = ("tests.kafka.fixtures", "tests.otelcol.fixtures", "tests.postgres.fixtures")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes golden files anew; review the diff before committing it."""
    parser.addoption("--update-golden", action="store_true", help="write expected.json of every fixture anew")
