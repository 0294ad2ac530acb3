"""Workers as users run them, on a real Kafka: every session has one set of verdicts, whatever is killed."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from sqlalchemy import URL

from collector.kafka.session_topic import session_headers, session_key
from collector.kafka.settings import KafkaTopics
from collector.sessions.keys import Kind, Owner
from tests.collector.sessions.telemetry import span, trace_request
from tests.end_to_end.agents import chat_span, request, tool_span
from tests.end_to_end.server import Server, wait_for
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, Reply, Request, hangs, says
from tests.kafka.desk import Desk

pytestmark = pytest.mark.integration("kafka")

_SESSIONS = 60


class _Topics:
    """Of one test: names, and what is in them."""

    def __init__(self, desk: Desk, partitions: int) -> None:
        self._desk = desk
        self.names = {purpose: desk.name(purpose) for purpose in KafkaTopics.model_fields}
        self.config: dict[str, Any] = {
            "bootstrap_servers": desk.bootstrap,
            "topics": self.names,
            "create": {"replicas": 1, "session_partitions": partitions},
            "worker_group": desk.name("worker"),
            "session_timeout_seconds": 6,
            "heartbeat_seconds": 1,
        }

    def send(self, sessions: Sequence[str], first: int) -> None:
        """One span for each, as a router sends them."""
        spans = {session: span(number, number, session__id=session) for number, session in enumerate(sessions, first)}
        self.put({session: trace_request([one]) for session, one in spans.items()})

    def put(self, telemetry: Mapping[str, bytes]) -> None:
        """A request for each session."""
        asyncio.run(self._put(telemetry))

    async def _put(self, telemetry: Mapping[str, bytes]) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self._desk.bootstrap, acks="all") as producer:
            for session, value in telemetry.items():
                key = session_key(Owner(Kind.SESSION, session))
                headers = session_headers("traces", "")
                await producer.send(self.names["sessions"], value, key=key, headers=headers)
            await producer.flush()

    def records(self) -> dict[str, list[Mapping[str, Any]]]:
        """Of the topic of verdicts, by session, in order."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for message in asyncio.run(self._desk.read(self.names["verdicts"])):
            record = json.loads(message.value or b"")
            found.setdefault(record["session"], []).append(record)
        return found

    def judged(self) -> list[str]:
        return [session for session, records in self.records().items() if records[-1]["judged"]]

    def all_judged(self, sessions: Sequence[str]) -> None:
        def missing() -> bool:
            return set(sessions) <= set(self.judged())

        wait_for(missing, "all sessions are judged", within_s=90)


def _worker(directory: Path, topics: _Topics, **config: Any) -> Server:
    return Server(directory, role="worker", kafka=topics.config, **config)


def test_what_a_killed_worker_had_is_judged_once_by_the_others(kafka: Desk, tmp_path: Path) -> None:
    topics = _Topics(kafka, partitions=4)
    early, late = [f"e{number}" for number in range(_SESSIONS)], [f"l{number}" for number in range(_SESSIONS)]
    first = _worker(tmp_path / "first", topics, evaluation={"processes": 1})
    second = _worker(tmp_path / "second", topics)
    with first, second:
        topics.send(early, 1)
        wait_for(lambda: len(topics.judged()) >= 5, "some are judged")
        topics.send(late, 1001)
        first.kill()
        topics.all_judged([*early, *late])
        records = topics.records()
        assert records.keys() == {*early, *late}
        for session, told in records.items():
            sets = {
                (record["revision"], tuple(sorted(verdict["id"] for verdict in record["verdicts"])))
                for record in told
                if record["judged"]
            }
            assert len(sets) == 1, session
            closings = {(record["closed_ms"], record["last_offset"]) for record in told}
            assert len(closings) == 1, session  # whoever judged it closed it at the same place and time
        assert second.stop() == 0
    with second:  # after a restart there is nothing to do again
        wait_for(lambda: second.metric("kafka_partitions", state="held") == 4, "it has all partitions", within_s=60)
        assert topics.records() == records


@pytest.mark.integration("postgres")
def test_of_a_killed_workers_questions_only_those_on_their_way_are_asked_again(
    kafka: Desk, tmp_path: Path, database: URL
) -> None:
    answers = iter(range(8))

    def first_some_then_silence(question: Request) -> Reply:
        return hangs()(question) if next(answers, None) is None else says()(question)

    topics = _Topics(kafka, partitions=2)
    names = [f"chat-{number}" for number in range(1, 13)]
    with AnthropicStub(first_some_then_silence) as stub:
        config = {
            # Longer than it takes to kill it, and than an asking; the killed one's questions wait for as long.
            "judge": {"api_key": API_KEY, "base_url": stub.url, "timeout_seconds": 20},
            "store": {"url": database.render_as_string(hide_password=False), "lease_seconds": 21},
        }
        first, second = (_worker(tmp_path / name, topics, **config) for name in ("first", "second"))
        with first:
            topics.put({name: _asked(name, number) for number, name in enumerate(names, 1)})
            topics.all_judged(names)  # but for what waits for the judge
            wait_for(lambda: first.metric("judge_requests_total", outcome="answered") == 8, "eight answers are kept")
            wait_for(lambda: len(stub.requests) >= 11, "others are on their way")
            first.kill()
            on_their_way = len(stub.requests) - 8
            stub.default = says()
            with second:
                wait_for(lambda: not any(one[-1]["pending"] for one in topics.records().values()), "all answered", 120)
        asked = Counter((one.prefix, one.question) for one in stub.requests)
        again = [count for count in asked.values() if count > 1]
        assert set(again) <= {2}
        assert len(again) <= on_their_way
        assert {one[-1]["revision"] for one in topics.records().values()} == {1}


def _asked(session: str, number: int) -> bytes:
    """A session about which there are questions, unlike those about others."""
    answer = chat_span(session, number, number * 100 + 3, f"Is mug {number} in stock?", f"Yes, mug {number} is.")
    return request([tool_span(session, number, number * 100 + 2), answer])


def test_a_worker_without_its_topic_says_so(kafka: Desk, tmp_path: Path) -> None:
    topics = _Topics(kafka, partitions=1)
    with _worker(tmp_path / "one", topics) as one:
        asyncio.run(kafka.delete(topics.names["sessions"]))
        wait_for(lambda: one.readyz() == 503, "it is not ready", within_s=60)
        assert topics.names["sessions"] in one.not_ready_because()["ingest"]


def test_a_worker_that_cannot_agree_with_the_topics_does_not_start(kafka: Desk, tmp_path: Path) -> None:
    topics = _Topics(kafka, partitions=2)
    asyncio.run(kafka.create(topics.names["sessions"], 2))
    asyncio.run(kafka.create(topics.names["verdicts"], 3))
    one = _worker(tmp_path / "one", topics)
    assert one.begin().wait(60) == 1
    assert "same number of partitions" in one.output()
