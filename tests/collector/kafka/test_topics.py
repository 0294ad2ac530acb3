"""Topics that are missing are made, those that do not go together are named, and both also while we run."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from collector.kafka.clients import KafkaClients
from collector.kafka.errors import TopicsUnfit
from collector.kafka.settings import KafkaSettings, KafkaTopics
from collector.kafka.topics import RECEIVER, ROOM_BYTES, ROUTER, WORKER, TopicWatch, ensure_topics, unfit
from tests.eventually import eventually
from tests.kafka.broker import Broker
from tests.kafka.desk import Desk

_TOPICS = KafkaTopics()


def _names(desk: Desk) -> dict[str, str]:
    return {purpose: desk.name(purpose) for purpose in KafkaTopics.model_fields}


def _clients(desk: Desk, names: dict[str, str], **create: Any) -> KafkaClients:
    create = {"replicas": 1, "partitions": 3, "session_partitions": 2, **create}
    settings = {"bootstrap_servers": desk.bootstrap, "topics": names, "create": create}
    return KafkaClients(KafkaSettings.model_validate(settings))


def test_topics_that_go_together_need_equal_counts() -> None:
    assert unfit(_TOPICS, {"spans": 4, "logs": 4, "links": 4, "sessions": 9}) == ()
    assert unfit(_TOPICS, {"spans": 4, "logs": 5, "links": 4}) == (
        "these topics need the same number of partitions: otlp_spans 4, otlp_logs 5, spanjudge_links 4",
    )
    (problem,) = unfit(_TOPICS, {"sessions": 1, "verdicts": 2})
    assert problem.endswith("spanjudge_sessions 1, spanjudge_verdicts 2")


def test_a_missing_topic_is_named_with_its_key() -> None:
    assert unfit(_TOPICS, {"spans": None, "logs": 4}) == ("kafka.topics.spans: there is no topic otlp_spans",)


def test_another_number_of_partitions_than_at_the_start_is_a_problem() -> None:
    (problem,) = unfit(_TOPICS, {"spans": 8, "logs": 8}, {"spans": 4, "logs": 8})
    assert problem.startswith("otlp_spans has 8 partitions and had 4 at our start")


@pytest.mark.integration("kafka")
async def test_missing_topics_are_made_to_go_together(kafka: Desk) -> None:
    names = _names(kafka)
    await kafka.create(names["logs"], 5)
    clients = _clients(kafka, names)
    assert (await ensure_topics(clients, ROUTER)).partitions == {
        "spans": 5,
        "logs": 5,
        "links": 5,
        "sessions": 2,
        "dead_letters": 1,
    }
    assert (await ensure_topics(clients, WORKER)).partitions["verdicts"] == 2
    assert (await ensure_topics(clients, RECEIVER)).partitions == {"spans": 5, "logs": 5, "dead_letters": 1}


@pytest.mark.integration("kafka")
async def test_topics_are_made_to_keep_what_they_must(kafka: Desk) -> None:
    names = _names(kafka)
    await ensure_topics(_clients(kafka, names), (*ROUTER, "verdicts"))
    assert (await kafka.config(names["links"]))["cleanup.policy"] == "compact,delete"
    assert (await kafka.config(names["verdicts"]))["cleanup.policy"] == "compact,delete"
    assert (await kafka.config(names["sessions"]))["cleanup.policy"] == "delete"
    assert int((await kafka.config(names["spans"]))["max.message.bytes"]) > 8 * 1024**2


@pytest.mark.integration("kafka")
async def test_messages_are_bounded_by_what_the_topics_take(kafka: Desk) -> None:
    names = _names(kafka)
    clients = _clients(kafka, names)
    assert 8_000_000 < (await ensure_topics(clients, RECEIVER)).most_bytes < 8 * 1024**2
    other = _names(kafka)
    await kafka.create(other["logs"], 3, max_message_bytes="100000")
    assert (await ensure_topics(_clients(kafka, other), RECEIVER)).most_bytes == 100_000 - ROOM_BYTES


@pytest.mark.integration("kafka")
async def test_topics_that_we_are_not_to_make_are_asked_for(kafka: Desk) -> None:
    names = _names(kafka)
    with pytest.raises(TopicsUnfit) as caught:
        await ensure_topics(_clients(kafka, names, enabled=False), RECEIVER)
    assert len(caught.value.problems) == 3
    assert f"kafka.topics.spans: there is no topic {names['spans']}" in str(caught.value)


@pytest.mark.integration("kafka")
async def test_more_replicas_than_brokers_is_told_with_the_key(kafka: Desk) -> None:
    with pytest.raises(TopicsUnfit, match=r"cannot be made with 99 replicas \(kafka\.create\): "):
        await ensure_topics(_clients(kafka, _names(kafka), replicas=99), RECEIVER)


@pytest.mark.integration("kafka")
async def test_topics_that_do_not_go_together_stop_the_start(kafka: Desk) -> None:
    names = _names(kafka)
    await kafka.create(names["spans"], 2)
    await kafka.create(names["logs"], 3)
    with pytest.raises(TopicsUnfit, match="need the same number of partitions"):
        await ensure_topics(_clients(kafka, names), RECEIVER)


@pytest.mark.integration("kafka")
async def test_a_topic_that_grows_or_goes_away_is_noticed(kafka: Desk) -> None:
    names = _names(kafka)
    clients = _clients(kafka, names)
    told: list[int] = []
    watch = TopicWatch(clients, (await ensure_topics(clients, RECEIVER)).partitions, told.append)

    async def problem() -> str | None:
        await watch.look()
        return watch.problem

    assert await problem() is None
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await admin.start()
    await admin.create_partitions({names["logs"]: NewPartitions(4)})
    await admin.close()
    grown = await eventually(problem, "more partitions noticed")
    assert grown is not None
    assert "need the same number of partitions" in grown
    assert f"{names['logs']} has 4 partitions and had 3 at our start" in grown
    await kafka.delete(names["logs"])

    async def gone() -> bool:
        return "there is no topic" in (await problem() or "")

    await eventually(gone, "missing topic noticed")
    assert await problem() == f"kafka.topics.logs: there is no topic {names['logs']}"
    assert told[0] == 0
    assert told[-1] == 1


@pytest.mark.integration("kafka")
async def test_a_broker_that_goes_away_is_a_problem_until_it_is_back(own_kafka: Broker) -> None:
    desk = Desk(own_kafka.bootstrap)
    clients = _clients(desk, _names(desk))
    watch = TopicWatch(clients, (await ensure_topics(clients, RECEIVER)).partitions)

    async def mended() -> bool:
        await watch.look()
        return watch.problem is None

    own_kafka.kill()
    assert not await mended()
    assert "cannot be used" in (watch.problem or "")
    own_kafka.begin()

    await eventually(mended, "the broker is back")
