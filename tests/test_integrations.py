"""A missing counterpart is a skip on a laptop and a failure where it is required."""

from __future__ import annotations

import pytest

from tests.integrations import require


def test_what_is_found_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANJUDGE_REQUIRE", "all")
    require("promtool", True, "apt-get install prometheus")


@pytest.mark.parametrize("wanted", ["", "node", "node, java"])
def test_what_is_missing_and_not_required_is_skipped(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANJUDGE_REQUIRE", wanted)
    with pytest.raises(pytest.skip.Exception, match="promtool was not found: apt-get install prometheus"):
        require("promtool", False, "apt-get install prometheus")


@pytest.mark.parametrize("wanted", ["all", "promtool", "node,promtool", "node promtool"])
def test_what_is_missing_and_required_fails(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANJUDGE_REQUIRE", wanted)
    with pytest.raises(pytest.fail.Exception, match="promtool is required"):
        require("promtool", False, "apt-get install prometheus")
