"""Templates to HTML. What is put into them is escaped, always: nothing here or in them says otherwise."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from collector.access import csrf
from collector.access.access import SIGN_OUT
from collector.access.visitors import COOKIE
from collector.page.moments import ago, duration, machine, utc
from collector.visible import visible

_HERE = Path(__file__).parent
_STATIC = {
    "style.css": "text/css; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_KEPT = "public, max-age=31536000, immutable"


class Rendering:
    """Reads its files when it is made."""

    def __init__(self) -> None:
        self._files = {name: (_HERE / "static" / name).read_bytes() for name in _STATIC}
        self._environment = Environment(
            # All of them now: another version of the program may be installed over this one while it runs.
            loader=DictLoader({one.name: one.read_text("utf-8") for one in (_HERE / "templates").glob("*.html")}),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {"utc": utc, "machine": machine, "duration": duration, "seen": visible}
        # A new file has a new address, so browsers may keep the old one for ever.
        self._environment.globals |= {
            "sign_out_path": SIGN_OUT,
            "ago": ago,
            "assets": {
                name: f"/page/{hashlib.sha256(text).hexdigest()[:12]}/{name}" for name, text in self._files.items()
            },
        }

    async def page(self, request: Request, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        whose = {
            "person": getattr(request.state, "person", None),
            "may_write": may_write(request),
            # Whom a proxy signed in, only the proxy can sign out.
            "sign_out": csrf.token(request) if COOKIE in request.cookies else "",
        }
        whole = {**whose, "path": request.url.path, **values}
        # In a thread: the event loop has telemetry to take.
        text = await asyncio.to_thread(self._environment.get_template(template).render, whole)
        return HTMLResponse(text, status_code=status, headers={"cache-control": "no-store"})

    def routes(self) -> list[BaseRoute]:
        return [Route("/page/{version}/{name}", self._file, methods=["GET"])]

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._files:
            return Response("not found\n", status_code=404, media_type="text/plain")
        return Response(self._files[name], media_type=_STATIC[name], headers={"cache-control": _KEPT})


def may_write(request: Request) -> bool:
    return bool(getattr(request.state, "may_write", True))
