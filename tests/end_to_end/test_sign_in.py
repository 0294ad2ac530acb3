"""Signing in with a real browser: what it sends with forms, and with links from other sites, nobody else can tell."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from collector.access import csrf
from collector.access.forms import form
from collector.access.settings import AccessSettings
from collector.admin import admin_app
from collector.http_serving import HttpServer
from collector.metrics import Metrics
from tests.end_to_end.chromium import chromium
from tests.fakes.access import access, token, tokens_file
from tests.fakes.http import serving

pytestmark = pytest.mark.integration("chromium")


async def _shown(request: Request) -> Response:
    return HTMLResponse(
        f'<!doctype html><title>Shown</title><h1>{request.state.person}</h1><form method="post" action="/change">'
        f'<input type="hidden" name="csrf" value="{csrf.token(request)}"><button>Change</button></form>'
        f'<form method="post" action="/sign-out"><input type="hidden" name="csrf" value="{csrf.token(request)}">'
        "<button>Sign out</button></form><script>document.title = 'Run'</script>"
    )


async def _change(request: Request) -> Response:
    csrf.require(request, (await form(request)).get("csrf", ""))
    return PlainTextResponse("changed")


@asynccontextmanager
async def browsing(directory: Path) -> AsyncIterator[tuple[Page, str]]:
    """A page of a browser, and our listener's address."""
    guard = access(AccessSettings(tokens_file=tokens_file(directory, ana={})))
    routes = [Route("/sessions", _shown), Route("/change", _change, methods=["POST"])]
    server = HttpServer(admin_app(Metrics(), {}, routes=routes, access=guard), "127.0.0.1:0", "admin.listen")
    address, task = await server.start()
    try:
        async with chromium() as browser:
            page = await browser.new_page()
            page.set_default_timeout(20_000)
            yield page, f"http://{address}"
    finally:
        server.stop()
        await task


async def _sign_in(page: Page, name: str) -> None:
    await page.get_by_label("Your token").fill(token(name))
    await page.get_by_role("button", name="Sign in").click()


async def test_a_person_signs_in_changes_something_and_signs_out(tmp_path: Path) -> None:
    async with browsing(tmp_path) as (page, url):
        violations: list[str] = []
        page.on("console", lambda said: violations.append(said.text) if "Content Security" in said.text else None)
        await page.goto(f"{url}/sessions?service=a%26b")
        background = await page.evaluate("getComputedStyle(document.querySelector('button')).backgroundColor")
        assert background == "rgb(31, 79, 182)"  # our stylesheet is let through
        assert violations == []
        await _sign_in(page, "carl")
        assert await page.get_by_role("alert").text_content() == "the token is not known here"
        await _sign_in(page, "ana")
        await page.wait_for_url(f"{url}/sessions?service=a%26b")
        assert await page.get_by_role("heading").text_content() == "ana"
        assert await page.title() == "Shown"  # a script in the page did not run
        assert len(violations) == 1
        assert await page.evaluate("document.cookie") == ""
        await page.get_by_role("button", name="Change").click()
        await page.wait_for_url(f"{url}/change")
        assert "changed" in await page.content()
        await page.goto(f"{url}/sessions")
        await page.get_by_role("button", name="Sign out").click()
        await page.wait_for_url(f"{url}/sign-in")
        await page.goto(f"{url}/sessions")
        await page.wait_for_url(f"{url}/sign-in?*")


async def test_a_link_on_another_site_finds_who_is_signed_in_and_a_form_there_does_nothing(tmp_path: Path) -> None:
    async with browsing(tmp_path) as (page, url):
        await page.goto(f"{url}/sessions")
        await _sign_in(page, "ana")
        await page.wait_for_url(f"{url}/sessions")

        async def elsewhere(_: Request) -> Response:
            return HTMLResponse(
                f'<!doctype html><a href="{url}/sessions">alert</a><form method="post" action="{url}/change">'
                "<button>Attack</button></form>"
            )

        async with serving(Starlette(routes=[Route("/", elsewhere)])) as address:
            other = address.replace("127.0.0.1", "localhost")  # another site, to a browser
            await page.goto(other)
            await page.get_by_role("link").click()
            await page.get_by_role("heading", name="ana").wait_for()
            await page.goto(other)
            await page.get_by_role("button").click()
            await page.wait_for_url(f"{url}/change")
            assert "other sites" in await page.content()
