"""Metrics as text for whoever asks, one at a time and beside the event loop: with as many series as are kept apart that
takes seconds, and telemetry does not wait."""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CLASSIC
from prometheus_client.exposition import generate_latest as classic
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics

_TYPE, _VERSIONS = "application/openmetrics-text", {"", "1.0.0"}


class Scraping:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._turn = asyncio.Lock()

    async def text(self, accept: str) -> tuple[bytes, str]:
        """The metrics and their content type, by the header `Accept`, whatever is in it. Only OpenMetrics carries
        exemplars."""
        encode, content_type = (openmetrics, OPENMETRICS) if takes_openmetrics(accept) else (classic, CLASSIC)
        async with self._turn:
            return await asyncio.to_thread(encode, self._registry), content_type


def takes_openmetrics(accept: str) -> bool:
    """Whether it names OpenMetrics, in the version that we write or in none. Weights beside that do not matter:
    Prometheus names first what it likes best."""
    return any(_is_openmetrics(offered) for offered in accept.split(","))


def _is_openmetrics(offered: str) -> bool:
    kind, *parameters = (part.strip().lower() for part in offered.split(";"))
    given = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
    return kind == _TYPE and given.get("version", "") in _VERSIONS and given.get("q", "1").strip("0.") != ""
