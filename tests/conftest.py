"""Command line options of the test suite."""

from __future__ import annotations

import hypothesis
import pytest

# A busy machine is no fault of the code: time is measured in benchmarks only.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

pytest_plugins = ("tests.kafka.fixtures", "tests.otelcol.fixtures", "tests.postgres.fixtures")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes golden files anew; review the diff before committing it."""
    parser.addoption("--update-golden", action="store_true", help="write expected.json of every fixture anew")
