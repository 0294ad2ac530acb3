"""The page on a real store, behind the real access middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from collector.access.access import Access
from collector.access.settings import AccessSettings
from collector.access.turns import Turns
from collector.admin import admin_app
from collector.clock import Clock
from collector.metrics import Metrics
from collector.page.means import Means
from collector.page.rendering import Rendering
from collector.page.routes import page_routes
from collector.page.settings import PageSettings
from collector.reading import Rules
from collector.sessions.keys import SessionNames
from collector.store.sqlite import SqliteStore
from judge.catalog import build
from judge.redaction import NOTHING, Redaction
from judge.scales import scales
from tests.fakes.clock import FakeClock
from tests.fakes.http import serving
from tests.fakes.verdicts import NOW_NS

RULES = Rules(build(), (), SessionNames(("session.id",), {}))


def page_of(
    store: SqliteStore,
    *,
    settings: PageSettings | None = None,
    redaction: Redaction = NOTHING,
    access: AccessSettings | None = None,
    clock: Clock | None = None,
    listen: str = "127.0.0.1:9464",
    turns: Turns | None = None,
) -> Any:
    """The ASGI application: admin pages and this one, behind access."""
    clock, metrics = clock or FakeClock(NOW_NS + 60 * 10**9), Metrics()
    means = Means(
        store, clock, scales(), lambda: RULES, settings or PageSettings(), redaction, Rendering(), turns or Turns()
    )
    guard = Access(access or AccessSettings(), listen, clock, metrics.access)
    return admin_app(metrics, {}, routes=page_routes(means), access=guard)


@asynccontextmanager
async def page(store: SqliteStore, **options: Any) -> AsyncIterator[str]:
    """Served while the block runs; its base URL."""
    async with serving(page_of(store, **options)) as url:
        yield url
