"""How much does one router bring to its sessions, for each CPU second? `python -m benchmarks.kafka_router`.

Telemetry of made-up sessions is split by trace as receivers do, and put into topics of a real broker. Then a router is
started, and its CPU time read when all of it is committed. The broker is another process, and is not counted.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import structlog

from benchmarks import kafka_bench
from benchmarks.kafka_bench import Case, Written
from collector.kafka.clients import KafkaClients
from collector.kafka.topics import ROUTER, ensure_topics
from collector.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Result:
    """What went in, the messages that came out, and what it took."""

    read: Written
    written: int
    wall_s: float
    cpu_s: float

    def row(self, case: Case) -> str:
        mb = self.read.size / 1e6
        return (
            f"| {case} | {self.read.messages / self.cpu_s:,.0f} | {self.read.spans / self.cpu_s:,.0f} "
            f"| {mb / self.cpu_s:.1f} | {mb / self.wall_s:.1f} | {self.read.messages} | {self.written} |"
        )


async def measure(bootstrap: str, case: Case, passes: int, partitions: int) -> Result:
    clients = KafkaClients(kafka_bench.settings(bootstrap, partitions))
    layout = await ensure_topics(clients, ROUTER)
    read = await kafka_bench.fill(clients, layout, kafka_bench.portions(case, passes))
    metrics = Metrics("benchmark")
    cpu, began = time.process_time(), time.monotonic()
    async with kafka_bench.routing(clients, layout, case.rate, metrics):
        await kafka_bench.routed(metrics, read.messages)
        cpu_s, wall_s = time.process_time() - cpu, time.monotonic() - began
    return Result(read, await kafka_bench.end_offsets(clients, layout), wall_s, cpu_s)


def main() -> None:
    given = kafka_bench.arguments(__doc__).parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    print("| case | messages/CPU s | spans/CPU s | MB/CPU s | MB/s | messages in | offsets out |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with kafka_bench.broker(given.bootstrap) as bootstrap:
        for case in kafka_bench.chosen(given):
            result = asyncio.run(measure(bootstrap, case, given.passes, given.partitions))
            print(result.row(case), flush=True)


if __name__ == "__main__":
    main()
