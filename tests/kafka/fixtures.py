"""Fixtures of tests that need an Apache Kafka. Without Java and Maven they skip in one line, unless SPANJUDGE_REQUIRE
names `kafka`; SPANJUDGE_TEST_KAFKA (host:port, ...) names a broker that runs already."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates import Authority
from tests.integrations import require
from tests.kafka.broker import Broker
from tests.kafka.cluster import Cluster
from tests.kafka.desk import Desk
from tests.kafka.jars import NoKafka, kafka_jars
from tests.kafka.secured import secured_broker


@pytest.fixture(scope="session")
def jars() -> Path:
    """The broker's jars, for tests that start their own."""
    try:
        return kafka_jars()
    except NoKafka as error:
        require("kafka", False, str(error))
        raise


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A broker that all tests share, so its topics have names of their own (`Desk.name`) and nobody stops it."""
    given = os.environ.get("SPANJUDGE_TEST_KAFKA")
    if given:
        yield Desk(given)
        return
    with Broker(tmp_path_factory.mktemp("kafka"), request.getfixturevalue("jars")) as broker:
        yield Desk(broker.bootstrap)


@pytest.fixture
def own_kafka(tmp_path: Path, jars: Path) -> Iterator[Broker]:
    """A broker that this test may stop, kill and start again."""
    with Broker(tmp_path / "kafka", jars) as broker:
        yield broker


@pytest.fixture
def kafka_cluster(tmp_path: Path, jars: Path) -> Iterator[Cluster]:
    """Three brokers, of which one may go away."""
    with Cluster(tmp_path / "cluster", jars) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def secured_kafka(tmp_path_factory: pytest.TempPathFactory, jars: Path, authority: Authority) -> Iterator[Broker]:
    """A broker with the listeners of `tests.kafka.secured`; shared."""
    with secured_broker(tmp_path_factory.mktemp("secured"), jars, authority) as broker:
        yield broker
