"""What the access section takes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from collector.access.settings import AccessSettings


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"proxy": {"trusted_proxies": ["0.0.0.0/0"]}}, "everybody"),
        ({"proxy": {"trusted_proxies": ["::/0"]}}, "everybody"),
        ({"proxy": {"trusted_proxies": ["proxy.example"]}}, "no address or network"),
        ({"proxy": {"trusted_proxies": []}}, "trusted_proxies"),
        ({"proxy": {"trusted_proxies": ["10.0.0.1"], "header": "a header"}}, "name of a header"),
        ({"proxy": {"trusted_proxies": ["10.0.0.1"], "header": None, "tenants_header": "X-T"}}, "of no use"),
        ({"metrics": "token"}, "needs tokens_file"),
        ({"origins": ["https://judge.example/sessions"]}, "scheme://name:port"),
        ({"origins": ["judge.example"]}, "scheme://name:port"),
        ({"session_hours": 0}, "session_hours"),
    ],
)
def test_what_would_not_work_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        AccessSettings.model_validate(given)


def test_a_proxy_that_names_nobody_signs_nobody_in() -> None:
    only_addresses = {"trusted_proxies": ["10.0.0.0/8"], "header": None}
    assert not AccessSettings.model_validate({"proxy": only_addresses}).configured
    assert AccessSettings.model_validate({"proxy": {"trusted_proxies": ["10.0.0.1"]}}).configured
