"""Fixtures of tests that need an OpenTelemetry Collector. Without Go they skip in one line, unless SPANJUDGE_REQUIRE
names `otelcol`. Mark them with a timeout that leaves room for the first build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations import require
from tests.otelcol.building import NoCollector, collector_program


@pytest.fixture(scope="session")
def otelcol() -> Path:
    """The Collector's program."""
    try:
        return collector_program()
    except NoCollector as error:
        require("otelcol", False, str(error))
        raise
