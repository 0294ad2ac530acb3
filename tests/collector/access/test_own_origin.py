"""Which addresses are of this machine only."""

from __future__ import annotations

import pytest

from collector.access.own_origin import is_loopback, origins_of


@pytest.mark.parametrize(
    ("listen", "loopback"),
    [("127.0.0.1:9464", True), ("localhost:0", True), ("[::1]:1", True), ("0.0.0.0:1", False), ("host:1", False)],
)
def test_loopback_is_recognised(listen: str, loopback: bool) -> None:
    assert is_loopback(listen) == loopback


@pytest.mark.parametrize(
    ("url", "origins"),
    [
        (None, set()),
        ("https://Judge.example/spans", {"https://judge.example"}),
        ("https://judge.example:443", {"https://judge.example"}),
        ("http://judge.example:8080/", {"http://judge.example:8080"}),
    ],
)
def test_an_origin_is_written_as_browsers_write_it(url: str | None, origins: set[str]) -> None:
    assert origins_of(url) == origins
