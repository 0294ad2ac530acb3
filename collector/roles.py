"""Which process does the work of a role."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from collector.app import Addresses, App
from collector.in_force import InForce
from collector.stopping import Stopping


class Process(Protocol):
    """`start`, then wait for `failed` or a signal, then `stop`; `reload` when the configuration may have changed."""

    failed: asyncio.Future[None]

    async def start(self) -> Addresses: ...

    def reload(self) -> None: ...

    async def stop(self, stopping: Stopping) -> None: ...


def process_for(now: InForce, read: Callable[[], InForce] | None) -> Process:
    """`read` reads the configuration again."""
    config = now.config
    if config.kafka is not None and config.role == "receiver":
        from collector.kafka.receiver_app import ReceiverApp  # with a library that others do without

        return ReceiverApp(config, config.kafka)
    if config.kafka is not None and config.role == "router":
        from collector.kafka.router_app import RouterApp

        return RouterApp(config, config.kafka)
    return App(now, read)
