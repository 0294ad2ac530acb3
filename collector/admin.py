"""The admin pages: /metrics for Prometheus, /livez and /readyz for whoever restarts and routes, / to find them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from typing import TypeAlias

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from collector.access.access import Access
from collector.access.middleware import AccessMiddleware
from collector.access.rejected import broken, not_served
from collector.access.sign_in import sign_in_routes
from collector.metrics import Metrics
from collector.scraping import Scraping

Check: TypeAlias = Callable[[], Awaitable[str | None]]
"""Why this part cannot work just now, None when it can."""

CHECK_SECONDS = 2.0
"""A check that has not answered by then counts as failed: the prober would give up soon after."""

_PAGES = {
    "/metrics": "metrics, for Prometheus",
    "/livez": "does the process answer?",
    "/readyz": "can it take telemetry, and if not, why?",
}

_log = structlog.get_logger(__name__)


async def _nothing() -> None:
    return


def admin_app(
    metrics: Metrics,
    checks: Mapping[str, Check],
    refresh: Callable[[], Awaitable[None]] = _nothing,
    pages: Mapping[str, str] | None = None,
    notices: Mapping[str, Check] | None = None,
    routes: Sequence[BaseRoute] = (),
    check_s: float = CHECK_SECONDS,
    access: Access | None = None,
) -> Starlette:
    """The ASGI application. `checks` by name decide readiness; `notices` are shown beside them and decide nothing
    (telemetry can be taken while the judge is away); `refresh` runs before each scrape, to set gauges;
    `routes` are served beside ours; `pages` (path → what it is) are listed at /; `access` stands before all of them.
    What `checks` and `refresh` raise is reported, not passed on."""
    listed = {**_PAGES, **(pages or {})}
    scraping = Scraping(metrics.registry)

    async def scrape(request: Request) -> Response:
        try:
            await refresh()
        except Exception:  # a scrape with older gauges is worth more than none  # noqa: BLE001
            _log.exception("gauges_not_refreshed")
        text, content_type = await scraping.text(request.headers.get("accept", ""))
        return Response(text, headers={"content-type": content_type})

    async def live(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        reasons, told = await asyncio.gather(_reasons(checks, check_s), _reasons(notices or {}, check_s))
        failing = any(reasons.values())
        body = {"ready": not failing, "checks": _shown(reasons), "notices": _shown(told)}
        return JSONResponse(body, status_code=503 if failing else 200)

    async def index(_: Request) -> Response:
        links = "".join(
            f'<li><a href="{escape(path)}">{escape(path)}</a> &ndash; {escape(purpose)}</li>'
            for path, purpose in listed.items()
        )
        return HTMLResponse(f"<!doctype html><title>SpanJudge</title><h1>SpanJudge</h1><ul>{links}</ul>")

    return Starlette(
        routes=[
            Route("/", index),
            Route("/metrics", scrape),
            Route("/livez", live),
            Route("/readyz", ready),
            *routes,
            *([] if access is None else sign_in_routes(access)),
        ],
        middleware=[] if access is None else [Middleware(AccessMiddleware, access=access)],
        exception_handlers={HTTPException: not_served, Exception: broken},
    )


async def _reasons(checks: Mapping[str, Check], within_s: float) -> dict[str, str | None]:
    found = await asyncio.gather(*(_reason(check, within_s) for check in checks.values()))
    return dict(zip(checks, found, strict=True))


def _shown(reasons: Mapping[str, str | None]) -> dict[str, dict[str, object]]:
    return {name: {"ok": reason is None, "reason": reason} for name, reason in reasons.items()}


async def _reason(check: Check, within_s: float) -> str | None:
    try:
        async with asyncio.timeout(within_s):
            reason = await check()
    except TimeoutError:
        return f"no answer within {within_s:g} s"
    except Exception as error:  # noqa: BLE001 - a check that breaks is a part that does not work
        return f"{type(error).__name__}: {error}"
    # An empty reason would read as none.
    return None if reason is None else reason or "no reason given"
