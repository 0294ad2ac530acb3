"""Through a real broker: every span and record reaches the sessions that it belongs to, once."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from collector.kafka.clients import KafkaClients
from collector.kafka.dead_letters import CAUSE, DETAIL, OFFSET, TOPIC
from collector.kafka.headers import ENCODING, TENANT, telemetry_headers
from collector.kafka.session_topic import MOVED_TO, session_headers
from collector.kafka.topics import ROUTER, ensure_topics
from collector.kafka.traces import Patience
from collector.otlp.otlp_json import to_json
from tests.collector.kafka.router_process import router_process
from tests.collector.kafka.routers import Bench, Given, Running, contents, routing
from tests.collector.sessions.telemetry import log_request, record, span, trace_request
from tests.eventually import eventually
from tests.kafka.broker import Broker
from tests.kafka.cluster import KAFKAS_OWN, Cluster, coordinating
from tests.kafka.desk import Desk

pytestmark = pytest.mark.integration("kafka")

_IMPATIENT = Patience(name_ms=500)


def _trace(number: int) -> str:
    return f"trace:{number:032x}"


async def test_a_name_that_comes_late_takes_the_whole_trace_along(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench) as running:
        await bench.spans(1, trace_request([span(1, 2, 1)]), trace_request([span(1, 3, 1)]))
        await bench.caught_up()
        assert await bench.given() == {}
        assert running.value("router_items_total", signal="traces", outcome="parked") == 2
        await bench.spans(1, trace_request([span(1, 1, session__id="ann")]), trace_request([span(1, 4, 1)]))
        given = await bench.until(ann={1, 2, 3, 4})
        assert given["ann"].spans.total() == 4
        assert running.value("router_unparked_total", signal="traces", outcome="session") == 2
        assert running.router.problem() is None


async def test_logs_and_spans_of_a_trace_meet(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench):
        await bench.spans(1, trace_request([span(1, 1)]))
        await bench.put(bench.topics.logs, 1, log_request([record(1, "said", session__id="ann")]))
        await bench.put(bench.topics.logs, None, log_request([record(None, "alone", session__id="ann")]))
        await bench.until(ann={1})
        await bench.caught_up()
        assert (await bench.given())["ann"] == Given(Counter([1]), Counter(["said", "alone"]))


async def test_a_trace_that_nobody_names_is_a_session_until_somebody_does(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench, _IMPATIENT):
        await bench.spans(1, trace_request([span(1, 2, 1)]))
        given = await bench.until(**{_trace(1): {2}})
        assert given[_trace(1)].spans.total() == 1
        await bench.spans(1, trace_request([span(1, 1, session__id="ann")]))
        given = await bench.until(ann={1, 2})
        assert given["ann"].spans.total() == 2
        moved = [message for message in await bench.sessions() if MOVED_TO in message.headers]
        assert [(message.key, message.headers[MOVED_TO]) for message in moved] == [(b"\0" + _trace(1).encode(), b"ann")]


async def test_tenants_and_both_encodings_are_understood(kafka: Desk) -> None:
    bench = Bench(kafka, encoding="otlp_json")
    async with routing(bench):
        document = to_json(trace_request([span(1, 1, session__id="ann")]), "traces")
        await bench.spans(1, orjson.dumps(document))
        receivers = trace_request([span(2, 2, session__id="ann")])
        await bench.put(bench.topics.spans, 2, receivers, headers=telemetry_headers("acme"))
        await bench.until(**{"ann": {1}, "acme/ann": {2}})


async def test_one_session_stands_in_one_partition(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench):
        for trace in range(1, 9):
            await bench.spans(trace, trace_request([span(trace, trace, session__id=f"s{trace % 3}")]))
        await bench.until(s0={3, 6}, s1={1, 4, 7}, s2={2, 5, 8})
        partitions = {(message.key, message.partition) for message in await bench.sessions()}
        assert len(partitions) == 3


async def test_what_nobody_can_read_is_put_aside_with_the_cause(kafka: Desk) -> None:
    bench = Bench(kafka)
    bad = span(1, 2)
    bad.trace_id = b"short"
    async with routing(bench) as running:
        await bench.spans(1, b"no otlp at all", trace_request([span(1, 1, session__id="ann"), bad]))
        given = await bench.until(ann={1})
        await bench.caught_up()
        assert given["ann"].spans.total() == 1
        letters = await kafka.read(bench.topics.dead_letters)
        assert [letter.headers[CAUSE] for letter in letters] == [b"undecodable", b"malformed"]
        assert [letter.headers[OFFSET] for letter in letters] == [b"0", b"1"]
        assert letters[0].value == b"no otlp at all"
        assert letters[0].headers[TOPIC] == bench.topics.spans.encode()
        assert b"1 items rejected, the first because a span has a trace id of 5 bytes" in letters[1].headers[DETAIL]
        assert running.value("dead_letters_total", cause="undecodable") == 1


async def test_what_strangers_write_is_put_aside_and_holds_up_nothing(kafka: Desk) -> None:
    bench = Bench(kafka, max_message_bytes=100_000, batch_bytes=50_000)
    spans = await kafka.create(bench.topics.spans, 2, max_message_bytes="2000000")
    good = trace_request([span(1, 1, session__id="ann")])
    async with routing(bench):
        await kafka.send(spans, b"k", good, [(TENANT, None), (ENCODING, None)])
        await kafka.send(spans, b"k", good, [(ENCODING, b"avro")])
        await kafka.send(spans, b"k" * 300_000, b"no otlp", [("note", b"x" * 300_000), (TENANT, b"acme")])
        await kafka.send(spans, b"k" * 300_000, good, [(TENANT, b"t" * 300_000)])
        await kafka.send_unreadable(spans, b"k", good)
        await kafka.send(spans, b"k", trace_request([span(1, 2, session__id="ann")]))
        given = await bench.until(ann={1, 2})
        await bench.caught_up()
        assert given["ann"].spans == {1: 2, 2: 1}
        letters = await kafka.read(bench.topics.dead_letters)
        assert [letter.headers[CAUSE] for letter in letters] == [b"undecodable"] * 5


async def test_what_does_not_fit_into_a_message_is_put_aside_and_the_rest_is_split(kafka: Desk) -> None:
    bench = Bench(kafka)
    await kafka.create(bench.topics.sessions, 3, max_message_bytes="100000")
    spans = [span(1, number, session__id="ann", note="x" * 30_000) for number in range(1, 8)]
    large = span(1, 99, session__id="ann", note="x" * 200_000)
    async with routing(bench):
        await bench.spans(1, trace_request([*spans, large]))
        given = await bench.until(ann=set(range(1, 8)))
        assert given["ann"].spans.total() == 7
        (letter,) = await kafka.read(bench.topics.dead_letters)
        assert (letter.key, letter.headers[CAUSE]) == (b"\0ann", b"oversized")


async def test_what_waits_need_not_be_in_memory(kafka: Desk) -> None:
    bench = Bench(kafka, router={"parked_bytes": 0})
    async with routing(bench) as running:
        for trace in range(1, 6):
            await bench.spans(trace, trace_request([span(trace, trace)]))
        await bench.caught_up()
        assert running.value("router_parked_bytes") == 0
        for trace in range(1, 6):
            await bench.spans(trace, trace_request([span(trace, 10 + trace, session__id=f"s{trace}")]))
        given = await bench.until(**{f"s{trace}": {trace, 10 + trace} for trace in range(1, 6)})
        assert all(given[f"s{trace}"].spans.total() == 2 for trace in range(1, 6))
        assert running.value("router_read_again_total") == 5


async def test_facts_are_written_anew_and_old_ones_taken_away(kafka: Desk) -> None:
    bench = Bench(kafka, router={"renew_seconds": 0.3})
    async with routing(bench):
        await bench.spans(1, trace_request([span(1, 1)]))

        async def renewed() -> bool:
            messages = await kafka.read(bench.topics.links)
            return sum(message.value is None for message in messages) >= 2

        await eventually(renewed, "tombstones")
    async with routing(bench):
        await bench.spans(1, trace_request([span(1, 2, session__id="ann")]))
        assert (await bench.until(ann={1, 2}))["ann"].spans.total() == 2


# -- changing hands ----------------------------------------------------------------------------------------------------


async def test_another_router_knows_what_the_first_one_knew(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench):
        await bench.spans(1, trace_request([span(1, 1)]))
        await bench.spans(2, trace_request([span(2, 2, session__id="bob")]))
        await bench.until(bob={2})
        await bench.caught_up()
    async with routing(bench):
        await bench.spans(1, trace_request([span(1, 3, session__id="ann")]))
        await bench.spans(2, trace_request([span(2, 4)]))
        given = await bench.until(ann={1, 3}, bob={2, 4})
        assert {name: each.spans.total() for name, each in given.items()} == {"ann": 2, "bob": 2}


async def test_what_was_begun_and_not_ended_is_as_if_it_had_never_been(kafka: Desk) -> None:
    bench = Bench(kafka)
    await ensure_topics(KafkaClients(bench.kafka), ROUTER)
    name = f"{bench.kafka.transactional_id}-0"
    dead = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=name)
    await dead.start()
    await dead.begin_transaction()
    await dead.send_and_wait(
        bench.topics.sessions, trace_request([]), b"\0ghost", headers=session_headers("traces", "")
    )
    try:
        async with routing(bench):
            for trace in range(1, 5):
                await bench.spans(trace, trace_request([span(trace, trace, session__id="ann")]))
            given = await bench.until(ann={1, 2, 3, 4})
            assert given.keys() == {"ann"}
            assert "ghost" in contents(await kafka.read(bench.topics.sessions, committed=False))
    finally:
        await dead.client.close()  # as it would be with its process gone


async def _load(bench: Bench, first: int, last: int) -> None:
    """For each trace: unnamed spans, then one that names its session, then one more unnamed."""
    # Idempotent: what is sent again for want of an answer must not be in the topic twice.
    async with AIOKafkaProducer(
        bootstrap_servers=bench.desk.bootstrap, enable_idempotence=True, linger_ms=5
    ) as producer:
        for step in range(4):
            sent = []
            for trace in range(first, last):
                made = span(trace, trace * 10 + step, 1)
                if step == 2:
                    made.attributes.add(key="session.id").value.string_value = f"s{trace % 7}"
                value = trace_request([made])
                key = f"{trace:032x}".encode()
                sent.append(await producer.send(bench.topics.spans, value, key=key))
            await asyncio.gather(*sent)


async def _all_of(bench: Bench, last: int) -> dict[str, Given]:
    """Once each session has everything of its traces, and nothing is left that could come twice."""
    wanted: dict[str, set[int]] = {}
    for trace in range(1, last):
        wanted.setdefault(f"s{trace % 7}", set()).update(trace * 10 + step for step in range(4))
    await bench.until(**wanted)
    await bench.caught_up()
    return await bench.given()


def _once(given: dict[str, Given]) -> bool:
    return all(set(each.spans.values()) == {1} for each in given.values())


async def test_kill_9_in_the_middle_loses_and_doubles_nothing(kafka: Desk, tmp_path: Path) -> None:
    bench = Bench(kafka)
    await ensure_topics(KafkaClients(bench.kafka), ROUTER)
    for number in range(3):
        with router_process(bench, tmp_path) as router:
            loading = asyncio.create_task(_load(bench, number * 200 + 1, number * 200 + 201))

            async def more_than_before(before: int = number * 200) -> bool:
                return sum(each.spans.total() for each in (await bench.given()).values()) > before

            await eventually(more_than_before, "some telemetry")
            router.kill()
            await loading
    async with routing(bench):
        given = await _all_of(bench, 601)
        assert _once(given)


async def test_a_router_that_was_taken_for_dead_writes_nothing_any_more(kafka: Desk, tmp_path: Path) -> None:
    bench = Bench(kafka)
    await ensure_topics(KafkaClients(bench.kafka), ROUTER)
    with router_process(bench, tmp_path) as frozen:
        await _load(bench, 1, 100)

        async def begun() -> bool:
            return bool(await bench.given())

        await eventually(begun, "the first router at work")
        loading = asyncio.create_task(_load(bench, 100, 300))
        frozen.freeze()
        async with routing(bench):
            await loading
            assert _once(await _all_of(bench, 300))
            frozen.thaw()
            await _load(bench, 300, 400)
            assert _once(await _all_of(bench, 400))
            assert not frozen.ended()


async def test_partitions_change_hands_while_routers_come_and_go(kafka: Desk) -> None:
    bench = Bench(kafka, create={"replicas": 1, "partitions": 4, "session_partitions": 3})
    async with routing(bench) as first:
        loading = asyncio.create_task(_load(bench, 1, 400))
        async with routing(bench) as second:

            async def shared() -> bool:
                return first.value("router_partitions") == second.value("router_partitions") == 2

            await eventually(shared, "two partitions each")
            await loading
            await _load(bench, 400, 500)
            await bench.caught_up()
            assert first.router.problem() is None
        await _load(bench, 500, 600)
        given = await _all_of(bench, 600)
        assert _once(given)
        assert first.value("router_partitions") == 4


async def test_routers_that_go_by_different_settings_are_told_until_they_agree(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench) as first:
        async with routing(bench, rate=0.5) as second:

            async def told() -> bool:
                return first.value("router_settings_differ") + second.value("router_settings_differ") == 1

            await eventually(told, "the one that shares out says so")
            assert first.router.problem() is None  # a rollout that waits for us would never end

        async def alone() -> bool:
            return first.value("router_partitions") == 2 and not first.value("router_settings_differ")

        await eventually(alone, "the one that is left agrees with itself")


# -- Kafka's own troubles ----------------------------------------------------------------------------------------------


async def test_a_broker_that_is_killed_and_comes_back_costs_nothing(own_kafka: Broker) -> None:
    bench = Bench(Desk(own_kafka.bootstrap))
    async with routing(bench) as running:
        await _load(bench, 1, 50)
        await _all_of(bench, 50)
        await asyncio.to_thread(own_kafka.kill)
        await asyncio.to_thread(own_kafka.start)
        await _load(bench, 50, 100)
        assert _once(await _all_of(bench, 100))
        await _recovered(running)


async def test_another_leader_in_the_middle_loses_and_doubles_nothing(kafka_cluster: Cluster) -> None:
    """Of what is read, of what is written, and then of the transactions and the group."""
    desk = Desk(kafka_cluster.bootstrap)
    bench = Bench(desk, create={"replicas": 3, "partitions": 2, "session_partitions": 3})
    async with routing(bench) as running:
        await _load(bench, 1, 50)
        await _all_of(bench, 50)
        first = 50
        theirs = coordinating(bench.kafka.router_group, f"{bench.kafka.transactional_id}-0")
        for topic, partition in ((bench.topics.spans, 0), (bench.topics.sessions, 0), *theirs):
            loading = asyncio.create_task(_load(bench, first, first + 100))
            await bench.until(**{f"s{first % 7}": {first * 10}})
            gone = await kafka_cluster.lose_leader(desk, topic, partition)
            await loading
            first += 100
            assert _once(await _all_of(bench, first))
            await asyncio.to_thread(gone.start)
            await desk.in_sync_again(3, bench.topics.spans, bench.topics.sessions, bench.topics.links, *KAFKAS_OWN)
        await _recovered(running)


async def _recovered(running: Running) -> None:
    async def well() -> bool:
        return running.router.problem() is None

    await eventually(well, "no problem any more")


async def test_another_number_of_partitions_stops_the_writing(kafka: Desk) -> None:
    bench = Bench(kafka)
    async with routing(bench) as running:
        watching = asyncio.create_task(running.watch.run())
        await bench.spans(1, trace_request([span(1, 1, session__id="ann")]))
        await bench.until(ann={1})
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        await admin.start()
        await admin.create_partitions({bench.topics.sessions: NewPartitions(5)})
        await admin.close()

        async def told() -> bool:
            return "restart all receivers, routers and workers" in (running.router.problem() or "")

        await eventually(told, "the problem")
        await bench.spans(1, trace_request([span(1, 2, session__id="ann")]))
        watching.cancel()
    assert set((await bench.given())["ann"].spans) == {1}
    async with routing(bench):
        await bench.until(ann={1, 2})


async def test_messages_that_kafka_deleted_are_counted(kafka: Desk) -> None:
    bench = Bench(kafka, create={"replicas": 1, "partitions": 1, "session_partitions": 3})
    async with routing(bench):
        await bench.spans(1, trace_request([span(1, 1, session__id="ann")]))
        await bench.until(ann={1})
        await bench.caught_up()
    requests = [trace_request([span(1, number, session__id="ann")]) for number in (2, 3, 4)]
    await bench.spans(1, *requests)
    await kafka.delete_before(bench.topics.spans, 3)
    async with routing(bench) as running:
        given = await bench.until(ann={1, 4})
        assert given["ann"].spans.total() == 2
        assert running.value("router_skipped_total") == 2


async def test_a_topic_of_spans_that_is_made_anew_is_read_from_its_beginning(kafka: Desk) -> None:
    bench = Bench(kafka, router={"parked_bytes": 0}, extra={"consumer": {"metadata_max_age_ms": 500}})
    async with routing(bench) as running:
        await bench.spans(1, trace_request([span(1, 1)]), trace_request([span(1, 2)]))
        await bench.caught_up()
        for topic in (bench.topics.spans, bench.topics.logs):
            await kafka.delete(topic)
            await kafka.create(topic, 2)
        await bench.spans(1, trace_request([span(1, 3, session__id="ann")]))
        given = await bench.until(ann={3})
        assert given["ann"].spans == {3: 1}
        assert running.value("router_unparked_total", signal="traces", outcome="lost") == 2
