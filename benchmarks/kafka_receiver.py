"""How much does one receiver bring to Kafka, for each CPU second? `python -m benchmarks.kafka_receiver`.

A receiver as users run it takes requests over gRPC from this process, and acknowledges what a real broker has. The CPU
time of the receiver alone is counted; `on disk` is what the broker keeps of a span, compressed by the receiver.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.generate import Pool, Shape, requests
from benchmarks.load import Outcome, Plan, run
from benchmarks.processes import Server
from tests.kafka.broker import Broker
from tests.kafka.jars import kafka_jars
from tests.kafka.ports import free_ports

CASES: Sequence[Shape] = (Shape("rich", 500), Shape("rich", 50), Shape("lean", 500), Shape("lean", 50))
_WARM_SPANS = 2_000


class Unbalanced(Exception):
    """The run is worth nothing: not everything that was sent was taken."""


@dataclass(frozen=True, slots=True)
class Result:
    """`disk` are bytes of the topic of spans; both counts are of what came after the warm-up."""

    outcome: Outcome
    cpu_s: float
    disk: int

    def row(self, shape: Shape) -> str:
        spans, size = self.outcome.acked_spans, self.outcome.acked_bytes
        return (
            f"| {shape.profile}, {shape.batch} spans a request | {spans / self.cpu_s:,.0f} "
            f"| {size / self.cpu_s / 1e6:.0f} | {size / spans:,.0f} | {self.disk / spans:,.0f} "
            f"| {self.outcome.ack_ms.p50} | {self.outcome.ack_ms.p99} |"
        )


def measure(directory: Path, broker: Broker, data: Path, shape: Shape, spans: int) -> Result:
    """Raises `Unbalanced`."""
    grpc, http, admin = (f"127.0.0.1:{port}" for port in free_ports(3))
    topics = {purpose: f"{purpose}-{shape.profile}-{shape.batch}" for purpose in ("spans", "logs", "dead_letters")}
    file = directory / f"{shape.profile}-{shape.batch}.yaml"
    config = {
        "role": "receiver",
        "receivers": {"grpc": {"listen": grpc}, "http": {"listen": http}},
        "admin": {"listen": admin},
        "kafka": {"bootstrap_servers": broker.bootstrap, "topics": topics, "create": {"replicas": 1, "partitions": 6}},
    }
    file.write_text(json.dumps(config))
    pool = Pool(shape, tuple(requests(shape)))
    command = [sys.executable, "-m", "collector", "run", "-c", str(file)]
    with Server(command, file.with_suffix(".log"), lambda _: _ready(admin)) as receiver:
        asyncio.run(run(Plan(grpc, _WARM_SPANS), pool))
        cpu_s, disk = receiver.cpu_s(), _disk(data, topics["spans"])
        outcome = asyncio.run(run(Plan(grpc, spans, first_pass=1_000), pool))
        cpu_s = receiver.cpu_s() - cpu_s
    if outcome.errors or outcome.retries or outcome.acked_spans < spans:
        raise Unbalanced(f"{outcome.acked_spans} of {spans} spans taken: {outcome.errors or outcome.first_refusal}")
    return Result(outcome, cpu_s, _disk(data, topics["spans"]) - disk)


def _ready(admin: str) -> bool:
    try:
        return httpx.get(f"http://{admin}/readyz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _disk(data: Path, topic: str) -> int:
    return sum(file.stat().st_size for part in data.glob(f"{topic}-*") for file in part.glob("*.log"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=36_000)
    given = parser.parse_args()
    print("| telemetry | spans/CPU s | MB/CPU s | bytes a span | on disk | ack p50, ms | p99 |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name, Broker(Path(name) / "kafka", kafka_jars()) as broker:
        for shape in CASES:
            result = measure(Path(name), broker, Path(name) / "kafka" / "data", shape, given.spans)
            print(result.row(shape), flush=True)


if __name__ == "__main__":
    main()
