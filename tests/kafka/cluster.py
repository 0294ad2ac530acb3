"""Several brokers that replicate each other, for what happens when the leader of a partition goes away."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType

from tests.eventually import eventually
from tests.kafka.broker import Broker
from tests.kafka.desk import Desk
from tests.kafka.ports import free_ports

OFFSETS, TRANSACTIONS = KAFKAS_OWN = ("__consumer_offsets", "__transaction_state")


class Cluster:
    """Nodes 1 to `nodes`, each broker and controller: with three, one may be away."""

    def __init__(self, directory: Path, jars: Path, nodes: int = 3) -> None:
        ports = free_ports(2 * nodes)
        plain, control = ports[:nodes], ports[nodes:]
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(control, 1))
        replicas = str(min(3, nodes))
        shared = {
            "controller.quorum.voters": voters,
            "default.replication.factor": replicas,
            "min.insync.replicas": "1" if nodes < 3 else "2",
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": "1",
            "replica.lag.time.max.ms": "5000",
        }
        self.brokers = tuple(
            Broker(
                directory / f"node-{number}",
                jars,
                {
                    **shared,
                    "node.id": str(number),
                    "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
                    "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
                },
            )
            for number, (port, controller) in enumerate(zip(plain, control, strict=True), 1)
        )

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def node(self, number: int) -> Broker:
        """By its node id, as metadata name it."""
        return self.brokers[number - 1]

    async def lose_leader(self, desk: Desk, topic: str, partition: int = 0) -> Broker:
        """Kill the broker that leads this partition, and wait until another one does; the one that is gone."""
        first = (await desk.leaders(topic))[partition]
        gone = self.node(first)
        await asyncio.to_thread(gone.kill)

        async def another_leads() -> bool:
            return (await desk.leaders(topic)).get(partition, first) != first

        await eventually(another_leads, "another leader")
        return gone

    def __enter__(self) -> Cluster:
        try:
            for broker in self.brokers:
                broker.begin()  # together: they elect a controller before any of them answers
            for broker in self.brokers:
                broker.wait_until_it_answers()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def kill(self) -> None:
        for broker in self.brokers:
            broker.kill()


def coordinating(group: str, transactional_id: str) -> tuple[tuple[str, int], tuple[str, int]]:
    """The places, topic and partition, whose leaders coordinate this group and these transactions."""
    return (OFFSETS, _kept_in(group)), (TRANSACTIONS, _kept_in(transactional_id))


def _kept_in(name: str) -> int:
    """By Java's hash of the name, modulo the number of partitions of Kafka's own topics."""
    hashed = 0
    for letter in name.encode():
        hashed = (31 * hashed + letter) % 2**32
    return min(hashed, 2**32 - hashed) % 4  # the absolute value of a signed number; 4 as in `broker.USUAL`
