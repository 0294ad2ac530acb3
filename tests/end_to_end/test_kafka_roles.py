"""Every role as users run it, in processes of their own or in one: OTLP in, verdicts out, by way of Kafka."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector.kafka.settings import KafkaTopics
from collector.store.postgres_url import postgres_url
from tests.collector.sessions.telemetry import span, trace_request
from tests.end_to_end.server import Server, wait_for
from tests.kafka.desk import Desk
from tests.postgres.server import Server as PostgresServer

pytestmark = pytest.mark.integration("kafka")


def _kafka(desk: Desk) -> dict[str, Any]:
    return {
        "bootstrap_servers": desk.bootstrap,
        "topics": {purpose: desk.name(purpose) for purpose in KafkaTopics.model_fields},
        "create": {"replicas": 1, "partitions": 2, "session_partitions": 2},
        "router_group": desk.name("router"),
        "worker_group": desk.name("worker"),
        "transactional_id": desk.name("router"),
        "router": {"unnamed_seconds": 1, "root_seconds": 1},
    }


def _send(server: Server, *sessions: str, first: int = 1) -> None:
    """Of each session a root that names it, and before it a child that does not. `first` is the number of the first
    trace."""
    for number, session in enumerate(sessions, first):
        server.send(trace_request([span(number, 2, 1)]))
        server.send(trace_request([span(number, 1, session__id=session)]))


def test_three_roles_in_three_processes_judge_what_the_first_is_sent(kafka: Desk, tmp_path: Path) -> None:
    settings = _kafka(kafka)
    receiver, router, worker = (
        Server(tmp_path / role, role=role, kafka=settings) for role in ("receiver", "router", "worker")
    )
    with receiver, router, worker:
        _send(receiver, "one", "two")
        for session in ("one", "two"):
            assert worker.judged(session, within_s=60).spans == 2
        for server in (receiver, router, worker):
            assert server.stop() == 0


def test_all_roles_in_one_process_do_the_same(kafka: Desk, tmp_path: Path) -> None:
    with Server(tmp_path, kafka=_kafka(kafka)) as server:
        _send(server, "one", "two")
        for session in ("one", "two"):
            assert server.judged(session, within_s=60).spans == 2
        assert server.stop() == 0


def test_topics_that_are_grown_as_described_take_nothing_along_and_lose_nothing(kafka: Desk, tmp_path: Path) -> None:
    settings = _kafka(kafka)
    sessions = {"idle_seconds": 1, "settle_seconds": 0, "late_window_seconds": 1}
    receiver, router, worker = everyone = [
        Server(tmp_path / role, role=role, kafka=settings, sessions=sessions)
        for role in ("receiver", "router", "worker")
    ]
    with receiver, router, worker:
        _send(receiver, "one", "two")
        for session in ("one", "two"):
            assert worker.judged(session, within_s=60).spans == 2
        wait_for(lambda: not router.metric("kafka_router_waiting_messages"), "routers have read all")
        wait_for(lambda: not worker.metric("kafka_open_offsets_behind"), "no session is open or late", within_s=60)
        for server in everyone:
            assert server.stop() == 0
        asyncio.run(_grow(kafka, [settings["topics"][purpose] for purpose in ("spans", "logs", "links")], 3))
        asyncio.run(_grow(kafka, [settings["topics"][purpose] for purpose in ("sessions", "verdicts")], 5))
        for server in everyone:
            server.start()
        wait_for(lambda: worker.metric("kafka_partitions", state="held") == 5, "all partitions are worked on")
        assert router.metric("kafka_router_partitions") == 3
        more = [f"session-{number}" for number in range(8)]
        _send(receiver, *more, first=3)
        for session in more:
            assert worker.judged(session, within_s=60).spans == 2
        for session in ("one", "two", *more):
            assert len(worker.closings(session)) == 1


async def _grow(desk: Desk, topics: list[str], partitions: int) -> None:
    for topic in topics:
        await desk.grow(topic, partitions)


@pytest.mark.integration("postgres")
def test_a_database_that_goes_away_holds_verdicts_up_and_loses_none(
    kafka: Desk, own_postgres: PostgresServer, tmp_path: Path
) -> None:
    store = {"url": postgres_url(own_postgres.url).render_as_string(hide_password=False)}
    with Server(tmp_path, kafka=_kafka(kafka), store=store) as server:
        _send(server, "before")
        wait_for(lambda: server.metric("sessions_closed_total") == 1, "it is judged", within_s=60)
        own_postgres.stop()
        wait_for(lambda: server.readyz() == 503, "not ready")
        _send(server, "away-1", "away-2", first=2)
        wait_for(lambda: server.metric("kafka_work_waiting_messages") == 2, "closings wait", within_s=60)
        own_postgres.start()
        wait_for(lambda: server.metric("sessions_closed_total") == 3, "all are judged", within_s=60)
        wait_for(lambda: server.readyz() == 200, "ready again")
        found = httpx.get(f"{server.admin}/api/v1/sessions", trust_env=False).json()["sessions"]
        revisions = {one["ref"]["session_id"]: one["ref"]["revision"] for one in found}
        assert revisions == {"before": 1, "away-1": 1, "away-2": 1}
        assert server.metric("kafka_shares_lost_total") == 0
        assert server.stop() == 0
