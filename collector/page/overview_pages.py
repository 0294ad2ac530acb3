"""Skills, and services with their versions, over a stretch of time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from collector.page.addresses import address
from collector.page.means import Means, tenants_of
from collector.page.overviews import PIECES, services, skills
from collector.page.plots import HEIGHT, LEFT, WIDTH
from collector.page.texts import Texts
from collector.store.listing import COUNTED, Counts, Stretch
from judge.redaction import Redaction
from judge.verdict import SessionRef

_LENGTHS = {"24h": 86_400, "7d": 604_800, "30d": 2_592_000}
_USUAL = "7d"
_MOST = 1_000


class OverviewPages:
    def __init__(self, means: Means) -> None:
        self._means = means

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/skills", self._skills, methods=["GET"]),
            Route("/versions", self._versions, methods=["GET"]),
        ]

    async def _skills(self, request: Request) -> Response:
        return await self._page(request, "skills.html", skills)

    async def _versions(self, request: Request) -> Response:
        return await self._page(request, "versions.html", services)

    async def _page(
        self, request: Request, template: str, made_of: Callable[[Counts, Stretch], tuple[list[Any], int]]
    ) -> Response:
        means, tenants, query = self._means, tenants_of(request), request.query_params
        length = query.get("within", "")
        length = length if length in _LENGTHS else _USUAL
        service = query.get("service", "").strip()[:_MOST] or None
        length_ns = _LENGTHS[length] * 10**9
        stretch = Stretch(means.clock.now_ns() - length_ns, -(-length_ns // PIECES), service, tenants)
        counts, names = await asyncio.gather(means.store.listing.counts(stretch), means.store.listing.names(tenants))
        found, left_out = await asyncio.to_thread(made_of, counts, stretch)
        texts = Texts(SessionRef(""), means.redaction)
        values = {
            "found": found,
            "left_out": left_out,
            "length": length,
            "lengths": list(_LENGTHS),
            "service": service or "",
            "services": [one for one in names.services if means.redaction.text(one) == one],
            "sessions": sum(one.sessions for one in counts.sessions),
            "counted": None if counts.complete else COUNTED,
            "from_ns": counts.from_ns,
            "name": lambda text: None if text is None else texts.name(text, 100),
            "listed": lambda **filters: _listed(length, filters, means.redaction),
            "size": (WIDTH, HEIGHT, LEFT),
        }
        return await means.rendering.page(request, template, values)


def _listed(length: str, filters: Mapping[str, str | None], redaction: Redaction) -> str:
    """The list of sessions with these filters, without such as hold a secret."""
    plain = {name: one for name, one in filters.items() if one and redaction.text(one) == one}
    return address("/sessions", {**plain, "since": length})
