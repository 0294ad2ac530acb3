"""Scaled out as users run it: a receiver, routers and workers on a real Kafka, with one PostgreSQL for all of them.

Processes and the broker are killed while telemetry comes in. In the end every session has one set of verdicts for each
of its closings, all its telemetry is in the newest, and the books balance over all processes.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sqlalchemy import URL

from collector.store.postgres import PostgresStore
from collector.store.store import ClosedSession
from tests.end_to_end.installation import WITHIN_S, Installation, total
from tests.end_to_end.server import Server, wait_for
from tests.end_to_end.traffic import Fleet, Talk, requests, talk
from tests.kafka.broker import Broker
from tests.kafka.desk import Desk, Message

pytestmark = [pytest.mark.integration("kafka"), pytest.mark.integration("postgres"), pytest.mark.timeout(480)]

_TALKS = 450  # sessions of each part of the test


@dataclass(slots=True)
class _Told:
    """What the topic of verdicts says of one session."""

    closings: dict[int, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))
    """By revision: time, and the last offset read."""
    verdicts: dict[int, set[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(set))
    """By revision that is judged: ids, in order."""


def _told(messages: Iterable[Message]) -> dict[str, _Told]:
    found: dict[str, _Told] = defaultdict(_Told)
    for message in messages:
        record = json.loads(message.value or b"")
        told = found[record["session"]]
        for each in record["closings"]:
            told.closings[each["revision"]].add((each["closed_ms"], each["last_offset"]))
        if record["judged"] and record["verdicts"]:
            told.verdicts[record["revision"]].add(tuple(sorted(verdict["id"] for verdict in record["verdicts"])))
    return found


def _spans(messages: Iterable[Message]) -> Counter[bytes]:
    """How often each span is in a topic, by its id."""
    return Counter(
        span.span_id
        for message in messages
        for group in ExportTraceServiceRequest.FromString(message.value or b"").resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    )


def _records(messages: Iterable[Message]) -> Counter[int]:
    """How often each log record is in a topic, by its time, which is its alone."""
    return Counter(
        record.time_unix_nano
        for message in messages
        for group in ExportLogsServiceRequest.FromString(message.value or b"").resource_logs
        for scope in group.scope_logs
        for record in scope.log_records
    )


async def _closings(database: URL, names: Sequence[str]) -> dict[str, list[ClosedSession]]:
    """Of the store, newest first."""
    store = PostgresStore.open(database, holder="the test", read_only=True)
    try:
        return {name: await store.session(name) for name in names}
    finally:
        await store.close()


async def _verdict_ids(database: URL, closings: Iterable[ClosedSession]) -> dict[tuple[str, int], list[str]]:
    """Of the store, by session and revision, in order."""
    store = PostgresStore.open(database, holder="the test", read_only=True)
    try:
        return {
            (one.ref.session_id, one.ref.revision): sorted(judged.id for judged in await store.verdicts(one.ref))
            for one in closings
        }
    finally:
        await store.close()


def _complete(database: URL, talks: Sequence[Talk]) -> dict[str, list[ClosedSession]]:
    """Wait until the newest closing of each has all its telemetry."""
    waiting = {one.name: one for one in talks}
    found: dict[str, list[ClosedSession]] = {}

    def look() -> bool:
        for name, closings in asyncio.run(_closings(database, list(waiting))).items():
            if closings and _calls(closings[0]) == waiting[name].calls and closings[0].records >= waiting[name].records:
                del waiting[name]
        return not waiting

    try:
        wait_for(look, "every session is complete", WITHIN_S)
    except AssertionError as error:
        error.add_note(f"{len(waiting)} are not, such as {list(waiting)[:5]}")
        raise
    found = asyncio.run(_closings(database, [one.name for one in talks]))
    for one in talks:
        newest = found[one.name][0]
        assert (newest.spans, newest.records, _calls(newest)) == (one.spans, one.records, one.calls), one.name
    return found


def _calls(closed: ClosedSession) -> set[str | None]:
    return {call.call_id for call in closed.trajectory.tool_calls} if closed.trajectory else set()


def _assert_judged_once(
    database: URL, found: Mapping[str, list[ClosedSession]], told: Mapping[str, _Told]
) -> Counter[str]:
    """Every closing has one set of verdicts, the same in the store and in the topic. How many a session has."""
    ids = asyncio.run(_verdict_ids(database, [one for closings in found.values() for one in closings]))
    for name, closings in found.items():
        revisions = [one.ref.revision for one in closings]
        assert revisions == list(range(len(closings), 0, -1)), name
        assert told[name].closings.keys() == set(revisions), name
        for revision in revisions:
            assert len(told[name].closings[revision]) == 1, name  # whoever judged it closed it at the same place
            assert told[name].verdicts[revision] == {tuple(ids[name, revision])}, name
    every = [each for some in ids.values() for each in some]
    assert len(every) == len(set(every))
    counts: Counter[str] = Counter()
    for (name, _), some in ids.items():
        counts[name] += len(some)
    return counts


def test_every_session_is_judged_once_whatever_is_killed(tmp_path: Path, own_kafka: Broker, database: URL) -> None:
    parts = [[talk(part * _TALKS + number) for number in range(1, _TALKS + 1)] for part in range(5)]
    bodies = _bodies(parts)
    with Installation(tmp_path, own_kafka.bootstrap, database) as all_of_it:
        fleet = Fleet(all_of_it.receiver)
        _send_while_all_falls(fleet, bodies[:4], all_of_it, own_kafka)
        _complete(database, [one for part in parts[:4] for one in part])
        all_of_it.settled()
        before = all_of_it.books()
        with fleet.sending(bodies[4]):
            pass
        every = [one for part in parts for one in part]
        found = _complete(database, every)
        all_of_it.settled()
        after = all_of_it.books()
        assert set(fleet.refusals) <= {grpc.StatusCode.UNAVAILABLE}  # and nothing that a sender would give up on
        desk = Desk(own_kafka.bootstrap)
        _assert_routed_once(desk, every, fleet)
        verdicts = _assert_judged_once(database, found, _told(asyncio.run(desk.read("spanjudge_verdicts"))))
        _assert_balanced({name: int(after[name] - before[name]) for name in after}, parts[4], found, verdicts)
        assert [server.stop() for server in all_of_it.all] == [0] * len(all_of_it.all)


def _bodies(parts: Sequence[Sequence[Talk]]) -> list[list[tuple[str, bytes]]]:
    """Requests of each part. In the first three every fourth session goes on in the next one, over what is killed
    meanwhile."""
    later = [part[::4] if number < 3 else [] for number, part in enumerate(parts)]
    return [
        requests(
            [one.first for one in part],
            [one.then for one in part if one not in later[number]],
            [one.then for one in (later[number - 1] if number else [])],
        )
        for number, part in enumerate(parts)
    ]


def _send_while_all_falls(
    fleet: Fleet, bodies: Sequence[list[tuple[str, bytes]]], all_of_it: Installation, broker: Broker
) -> None:
    """Half of a part is sent, something is killed and started again, and the other half comes meanwhile."""
    falling: tuple[Server | Broker, ...] = (all_of_it.workers[0], all_of_it.routers[0], broker)
    with fleet.sending(bodies[0]):
        pass
    wait_for(lambda: total(all_of_it.workers, "sessions_closed_total") > _TALKS / 4, "some are judged", WITHIN_S)
    for part, one in zip(bodies[1:], falling, strict=True):
        with fleet.sending(part):
            fleet.wait_for(len(part) // 2)
            one.kill()
            one.start()


def _assert_balanced(
    books: Mapping[str, int],
    talks: Sequence[Talk],
    found: Mapping[str, list[ClosedSession]],
    verdicts: Mapping[str, int],
) -> None:
    """Of what was sent while nothing was killed: a killed process takes its counters with it."""
    for items, sent in (("spans", sum(one.spans for one in talks)), ("records", sum(one.records for one in talks))):
        assert books[f"{items} received"] == books[f"{items} stored"] == books[f"{items} read"] == sent, books
        assert books[f"{items} routed"] + books[f"{items} parked"] == sent, books
        assert books[f"{items} parked"] == books[f"{items} unparked"], books
        assert books[f"{items} filed"] == sent, books
    assert books["closed"] == sum(len(found[one.name]) for one in talks), books
    assert books["verdicts"] == sum(verdicts[one.name] for one in talks), books


def _assert_routed_once(desk: Desk, talks: Sequence[Talk], fleet: Fleet) -> None:
    """Everything acknowledged is in the topic of sessions, as often as receivers wrote it: a request that the broker's
    end left unanswered is sent again."""
    spans, logs, sessions = (
        asyncio.run(desk.read(topic)) for topic in ("otlp_spans", "otlp_logs", "spanjudge_sessions")
    )
    routed = {
        signal: [each for each in sessions if each.headers["spanjudge.signal"] == signal.encode()]
        for signal in ("traces", "logs")
    }
    written = _spans(spans)
    assert len(written) == sum(one.spans for one in talks)
    assert _spans(routed["traces"]) == written
    noted = _records(logs)
    assert len(noted) == sum(one.records for one in talks)
    assert _records(routed["logs"]) == noted
    if not fleet.refusals:
        assert set(written.values()) == {1}
