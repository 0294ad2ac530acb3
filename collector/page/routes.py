"""All pages, and what is shown where one cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from collector.access.rejected import Rejected
from collector.access.turns import Handler
from collector.errors import StoreUnavailable
from collector.page.addresses import address
from collector.page.case_pages import CasePages
from collector.page.label_pages import LabelPages
from collector.page.means import Means
from collector.page.overview_pages import OverviewPages
from collector.page.reading import Ambiguous
from collector.page.session_pages import SessionPages


def page_routes(means: Means) -> list[BaseRoute]:
    """To be served behind the access middleware, which says who asks."""
    groups = (SessionPages(means), LabelPages(means), OverviewPages(means), CasePages(means))
    return [*means.rendering.routes(), *_guarded(means, (route for group in groups for route in group.routes()))]


def _guarded(means: Means, routes: Iterator[BaseRoute]) -> Iterator[BaseRoute]:
    for route in routes:
        assert isinstance(route, Route)
        yield Route(route.path, _guard(means, route.endpoint), methods=list(route.methods or ()))


def _guard(means: Means, handler: Handler) -> Handler:
    async def guarded(request: Request) -> Response:
        try:
            return await means.turns.answer(request, handler)
        except Rejected as rejected:
            tenants = rejected.tenants if isinstance(rejected, Ambiguous) else ()
            answer = await _problem(means, request, rejected.status, rejected.error, rejected.problems, tenants)
            answer.headers.update(rejected.headers)
            return answer
        except StoreUnavailable as error:
            answer = await _problem(means, request, 503, "store unavailable", (("", str(error)),))
            answer.headers["retry-after"] = str(error.retry_after_s)
            return answer

    return guarded


async def _problem(
    means: Means,
    request: Request,
    status: int,
    title: str,
    problems: Sequence[tuple[str, str]],
    tenants: Sequence[str] = (),
) -> Response:
    links = [(means.redaction.text(one) or '""', address("", {"tenant": one})) for one in tenants]
    values = {"title": title, "problems": problems, "tenants": links}
    return await means.rendering.page(request, "problem.html", values, status)
