from __future__ import annotations

import pytest
from pydantic import ValidationError

from collector.page.settings import PageSettings


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert('{trace_id}')",
        "ftp://files.example/{trace_id}",
        "//tempo.example/{trace_id}",
        "https://{trace_id}.example/",
        "https://tempo.example/explore",
        "https://tempo.example/{trace}",
        "https://tempo.example/a b/{trace_id}",
    ],
)
def test_an_address_of_traces_that_leads_nowhere_safe_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        PageSettings(trace_url=url)


def test_an_address_may_have_braces_of_its_own() -> None:
    url = 'https://grafana.example/explore?left={"query":"{trace_id}"}'
    assert PageSettings(trace_url=url).trace_url == url


@pytest.mark.parametrize("url", ["https://judge.example:8443", "https://judge.example:8443/"])
def test_the_public_address_loses_its_last_slash(url: str) -> None:
    assert PageSettings(public_url=url).public_url == "https://judge.example:8443"


@pytest.mark.parametrize("rest", ["/x", "/x/", "/?a=b", "?", "#here", "//x"])
def test_a_page_below_a_path_of_another_site_is_refused(rest: str) -> None:
    with pytest.raises(ValidationError, match="a name of its own"):
        PageSettings(public_url=f"https://judge.example{rest}")


def test_a_suite_is_a_yaml_file() -> None:
    with pytest.raises(ValidationError, match="yaml"):
        PageSettings(suite_file="suites/desk.txt")  # type: ignore[arg-type]
