"""Fixtures of tests that need an OpenTelemetry Collector. Without Go they skip in one line, unless SPANJUDGE_REQUIRE
names `otelcol`. Mark them with a timeout that leaves room for the first build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.go_programs import NoGo
from tests.integrations import require
from tests.otelcol.building import collector_program


@pytest.fixture(scope="session")
def otelcol() -> Path:
    """The Collector's program."""
    try:
        return collector_program()
    except NoGo as error:
        require("otelcol", False, str(error))
        raise
