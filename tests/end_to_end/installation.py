"""SpanJudge scaled out: a receiver, routers and workers, each a process, with one Kafka and one PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import URL

from tests.end_to_end.server import Server, wait_for

PARTITIONS = 6
WITHIN_S = 120  # busy machines take their time


class Installation:
    """All processes of it, each with its directory and ports, kept over restarts."""

    def __init__(self, directory: Path, bootstrap: str, database: URL, routers: int = 2, workers: int = 3) -> None:
        self._directory = directory
        kafka = {
            "bootstrap_servers": bootstrap,
            "create": {"replicas": 1, "partitions": PARTITIONS, "session_partitions": PARTITIONS},
            "session_timeout_seconds": 6,
            "heartbeat_seconds": 1,
            "check_seconds": 1,
            "router": {"unnamed_seconds": 300},  # whatever a restart takes, every trace is named in time
        }
        self._usual: dict[str, Any] = {
            "kafka": kafka,
            "store": {"url": database.render_as_string(hide_password=False), "pool_size": 2},
            "sessions": {"idle_seconds": 3},
        }
        self.receiver = self._server("receiver")
        self.routers = [self._server("router", number) for number in range(routers)]
        self.workers = [self._server("worker", number) for number in range(workers)]

    def _server(self, role: str, number: int = 0) -> Server:
        return Server(self._directory / f"{role}-{number}", role=role, **self._usual)

    @property
    def all(self) -> list[Server]:
        return [self.receiver, *self.routers, *self.workers]

    def __enter__(self) -> Installation:
        """All of them are ready."""
        try:
            for server in self.all:
                server.begin()
            wait_for(lambda: all(server.readyz() == 200 for server in self.all), "all are ready", WITHIN_S)
        except BaseException as error:
            self._end(error)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        """At once. What they logged goes with the error."""
        for server in self.all:
            server.kill()
            if error is not None:
                error.add_note(f"{server.directory.name}:\n{server.output()[-1500:]}")

    def settled(self) -> None:
        """All partitions are worked on, and no work waits."""

        def look() -> bool:
            return (
                total(self.routers, "kafka_router_partitions") == PARTITIONS
                and total(self.workers, "kafka_partitions", state="held") == PARTITIONS
                and not total(self.routers, "kafka_router_waiting_messages")
                and not total(self.workers, "kafka_work_waiting_messages")
                and not total(self.workers, "evaluation_waiting")
                and not total(self.workers, "sessions_open")
            )

        wait_for(look, "everything is settled", WITHIN_S)

    def books(self) -> dict[str, float]:
        """Counters, summed over processes."""
        found: dict[str, float] = {}
        for signal, items in (("traces", "spans"), ("logs", "records")):
            found[f"{items} received"] = total([self.receiver], f"{items}_received_total")
            found[f"{items} stored"] = total([self.receiver], f"{items}_stored_total")
            read = {"signal": signal}
            found[f"{items} read"] = total(self.routers, "kafka_router_items_total", **read)
            found[f"{items} routed"] = total(self.routers, "kafka_router_items_total", **read, outcome="session")
            found[f"{items} parked"] = total(self.routers, "kafka_router_items_total", **read, outcome="parked")
            found[f"{items} unparked"] = total(self.routers, "kafka_router_unparked_total", **read, outcome="session")
            found[f"{items} filed"] = total(self.workers, "kafka_items_filed_total", **read, fate="kept")
        found["closed"] = total(self.workers, "sessions_closed_total")
        found["verdicts"] = total(self.workers, "verdicts_total")
        return found


def total(servers: Iterable[Server], name: str, **labels: str) -> float:
    return sum(server.metric(name, **labels) for server in servers)
