"""Which addresses are of this machine only."""

from __future__ import annotations

import pytest

from collector.access.own_origin import is_loopback


@pytest.mark.parametrize(
    ("listen", "loopback"),
    [("127.0.0.1:9464", True), ("localhost:0", True), ("[::1]:1", True), ("0.0.0.0:1", False), ("host:1", False)],
)
def test_loopback_is_recognised(listen: str, loopback: bool) -> None:
    assert is_loopback(listen) == loopback
