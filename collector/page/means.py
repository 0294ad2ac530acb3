"""What the pages work with, and what they know of who asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request

from collector.access.turns import Turns
from collector.clock import Clock
from collector.page.rendering import Rendering
from collector.page.settings import PageSettings
from collector.reading import Rules
from collector.store.listing import Tenants
from collector.store.store import Store
from judge.question import Scale
from judge.redaction import Redaction


@dataclass(frozen=True, slots=True)
class Means:
    """`scales` by evaluator are those whose labels are all known; `rules` gives those in force; `redaction` masks what
    is shown of sessions; `turns` are shared with the API."""

    store: Store
    clock: Clock
    scales: Mapping[str, Scale]
    rules: Callable[[], Rules]
    settings: PageSettings
    redaction: Redaction
    rendering: Rendering
    turns: Turns = field(default_factory=Turns)


def tenants_of(request: Request) -> Tenants:
    """Those whose sessions may be seen; None: all."""
    tenants: Tenants = request.state.tenants
    return tenants


def person_of(request: Request) -> str | None:
    """Who is signed in; None where nobody has to be."""
    person: str | None = request.state.person
    return person
