from __future__ import annotations

import pytest

from collector.page.addresses import session_url
from collector.page.links import trace_link
from extractors.anchors import Anchor
from judge.verdict import SessionRef

TEMPLATE = "https://jaeger.example/trace/{trace_id}?uiFind={span_id}"


def test_a_step_leads_to_its_span() -> None:
    anchor = Anchor("span", "ab" * 16, "cd" * 8)
    assert trace_link(TEMPLATE, anchor) == f"https://jaeger.example/trace/{'ab' * 16}?uiFind={'cd' * 8}"


def test_a_record_without_a_span_leads_to_its_trace() -> None:
    assert (
        trace_link(TEMPLATE, Anchor("record", "ab" * 16, None, 3))
        == f"https://jaeger.example/trace/{'ab' * 16}?uiFind="
    )


@pytest.mark.parametrize("trace", [None, "", "../../admin", "ab" * 16 + '"onclick="'])
def test_what_is_no_id_becomes_part_of_no_address(trace: str | None) -> None:
    assert trace_link(TEMPLATE, Anchor("span", trace, None)) is None
    assert trace_link(None, Anchor("span", "ab" * 16, None)) is None


@pytest.mark.parametrize(
    ("session_id", "path"), [("a/b?c#d", "a%2Fb%3Fc%23d"), ("ä", "%C3%A4"), ("half \ud83d", "half%20%3F")]
)
def test_any_session_has_an_address(session_id: str, path: str) -> None:
    assert session_url(SessionRef(session_id, 1, "north"), 2) == f"/sessions/{path}?tenant=north&revision=2"


def test_a_browser_takes_an_id_of_dots_for_no_other_place() -> None:
    assert session_url(SessionRef("..")) == "/sessions/?session=.."
