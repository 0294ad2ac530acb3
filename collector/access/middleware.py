"""Stands before every route of the admin listener: who may come in, and what browsers may do with what goes out."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collector.access.access import SIGN_IN, Access
from collector.access.headers import protect
from collector.access.rejected import API, Rejected, refused
from collector.access.sign_in import again_from_here


class AccessMiddleware:
    """Tells routes, in `request.state`, of who asks: `person` (None: nobody has to say), `tenants` (None: all),
    `may_write`, and `csrf` for `collector.access.csrf`. A `Rejected` that a route raises is answered too."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        secure = self._access.visitors.is_secure(request)
        started = False

        async def protected(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                protect(MutableHeaders(scope=message), secure=secure)
            await send(message)

        try:
            visitor = self._access.admit(request)
            if visitor is not None:
                told = {"person": visitor.person, "tenants": visitor.tenants, "may_write": visitor.may_write}
                scope.setdefault("state", {}).update(told, csrf=self._access.csrf(visitor))
            await self._app(scope, receive, protected)
        except Rejected as rejected:
            if started:
                raise
            await self._answer(request, rejected)(scope, receive, protected)

    def _answer(self, request: Request, rejected: Rejected) -> Response:
        api = request.scope["path"].startswith(API)
        by_browser = not api and request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if rejected.status == 401 and by_browser and self._access.visitors.may_sign_in:
            if request.headers.get("sec-fetch-site") == "cross-site":
                return again_from_here()
            query = request.scope["query_string"].decode("ascii", "replace")
            here = quote(request.scope["path"]) + (f"?{query}" if query else "")
            return RedirectResponse(f"{SIGN_IN}?{urlencode({'next': here})}", status_code=303)
        return refused(request, rejected)
