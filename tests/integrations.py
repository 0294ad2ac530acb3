"""Real counterparts a test needs on the machine: skipped in one clear line, or required by SPANJUDGE_REQUIRE."""

from __future__ import annotations

import os

import pytest


def require(name: str, found: bool, hint: str) -> None:
    """Go on when the counterpart was found. Else skip the test, or fail it when the environment variable
    SPANJUDGE_REQUIRE is `all` or lists `name` (separated by commas or blanks). `hint` says how to get it."""
    if found:
        return
    wanted = os.environ.get("SPANJUDGE_REQUIRE", "").replace(",", " ").split()
    if "all" in wanted or name in wanted:
        pytest.fail(f"{name} is required and was not found: {hint}", pytrace=False)
    pytest.skip(f"{name} was not found: {hint}")
