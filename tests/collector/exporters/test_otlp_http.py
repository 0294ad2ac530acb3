"""What only HTTP has: Retry-After as a date, and bodies that are no Status."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from collector.config import OtlpExport
from collector.exporters.otlp import OtlpExporter
from collector.exporting import Delivered, Later, Outcome
from tests.fakes.http import serving
from tests.fakes.verdicts import judged


async def _answered(
    status: int, body: str, headers: dict[str, str], headers_sent: dict[str, str] | None = None
) -> Outcome:
    async def answer(_: Request) -> PlainTextResponse:
        return PlainTextResponse(body, status, headers)

    app = Starlette(routes=[Route("/v1/traces", answer, methods=["POST"])])
    async with serving(app) as url:
        settings = {"endpoint": f"{url}/", "protocol": "http/protobuf", "events": False, "headers": headers_sent or {}}
        exporter = OtlpExporter(OtlpExport.model_validate(settings))
        try:
            return await exporter.send([judged()])
        finally:
            await exporter.close()


async def test_a_date_counts_from_the_answer_s_own_clock() -> None:
    long_ago = 1_000_000_000
    date, until = formatdate(long_ago, usegmt=True), formatdate(long_ago + 90, usegmt=True)
    assert await _answered(503, "busy", {"retry-after": until, "date": date}) == Later("http_503", "busy", 90)
    assert await _answered(503, "busy", {"retry-after": date, "date": until}) == Later("http_503", "busy", 0)
    assert await _answered(503, "busy", {"retry-after": until}) == Later("http_503", "busy", None)


@pytest.mark.parametrize("value", ["soon", "-3", ""])
async def test_a_pause_that_cannot_be_read_is_none(value: str) -> None:
    outcome = await _answered(503, "busy", {"retry-after": value})
    assert outcome == Later("http_503", "busy", None)


async def test_a_long_answer_of_a_proxy_is_cut() -> None:
    outcome = await _answered(503, "<html>" * 1000, {})
    assert isinstance(outcome, Later)
    assert len(outcome.detail) == 500


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_where_it_is_led_to_it_sends_nothing_and_keeps_the_verdicts(status: int) -> None:
    """With the token in hand it would be somebody else's."""
    elsewhere: list[Request] = []

    async def taken(request: Request) -> PlainTextResponse:
        elsewhere.append(request)
        return PlainTextResponse("thank you")

    async with serving(Starlette(routes=[Route("/{path:path}", taken, methods=["GET", "POST"])])) as url:
        outcome = await _answered(status, "over there", {"location": f"{url}/v1/traces"})
    assert outcome == Later(f"http_{status}", "over there", 30.0)
    assert elsewhere == []


async def test_a_web_page_is_no_delivery() -> None:
    outcome = await _answered(200, "<html>Please sign in</html>", {"content-type": "text/html; charset=utf-8"})
    assert isinstance(outcome, Later)
    assert outcome.reason == "web_page"


@pytest.mark.parametrize("before", range(450, 505, 6))
async def test_no_half_of_a_secret_is_left_where_an_answer_is_cut(before: int) -> None:
    secret = "open-sesame-0123456789"
    outcome = await _answered(503, "-" * before + secret, {}, headers_sent={"x-key": secret})
    assert isinstance(outcome, Later)
    assert "open" not in outcome.detail


async def test_a_positive_answer_without_a_readable_body_is_a_delivery() -> None:
    assert await _answered(200, "thank you", {}) == Delivered()
