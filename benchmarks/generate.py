"""Export requests of made-up agent sessions, serialised once, so that the load client costs little.

The requests form a ring: 400 sessions are open at any place, and those still open at its end go on at its start.
A pass over the ring stamps its own number over `NOW`, and the number of the pass before over `BEFORE`, in every
session id and trace id. So each pass brings new sessions and none is ever cut short but at the very ends.

`python -m benchmarks.generate --profile rich --batch 500 --out FILE` writes a pool for `benchmarks.load`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import get_args

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from benchmarks import sessions
from benchmarks.prose import Prose
from benchmarks.sessions import SERVICES, SPANS_PER_SESSION, Ids, Profile

NOW, BEFORE = b"@@now@@@", b"@@before"
SMALLEST_COLLECTOR_BATCH = 100
"""A smaller batch comes from one SDK and holds one service; a larger one from a collector, and mixes all."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What to make. Raises ValueError when `spans` does not divide into whole sessions and whole batches."""

    profile: Profile = "rich"
    batch: int = 500
    spans: int = 12_000
    ids: Ids = "all"
    open_sessions: int = 400
    seed: int = 1

    def __post_init__(self) -> None:
        streams = 1 if self.mixes_services else len(SERVICES)
        if self.spans % (SPANS_PER_SESSION * len(SERVICES)) or self.spans % (self.batch * streams):
            raise ValueError(
                f"{self.spans} spans are not whole sessions of {SPANS_PER_SESSION} spans for {len(SERVICES)} services"
                f" in whole requests of {self.batch}"
            )
        if self.spans < SPANS_PER_SESSION * self.open_sessions:
            raise ValueError(f"{self.spans} spans are too few to keep {self.open_sessions} sessions open")

    @property
    def mixes_services(self) -> bool:
        return self.batch >= SMALLEST_COLLECTOR_BATCH


@dataclass(frozen=True, slots=True)
class _Sent:
    """One span and its place in the ring."""

    place: float
    service: str
    span: Span


def requests(shape: Shape) -> Iterator[bytes]:
    """`shape.spans / shape.batch` serialised `ExportTraceServiceRequest`s, the same for the same shape."""
    for batch in _batches(_ring(shape), shape):
        yield _request(batch).SerializeToString(deterministic=True)


def _ring(shape: Shape) -> list[_Sent]:
    chance = Random(shape.seed)
    prose = Prose(chance)
    sent = []
    for number in range(shape.spans // SPANS_PER_SESSION):
        places = [
            number * SPANS_PER_SESSION + index * shape.open_sessions + chance.random() * shape.open_sessions * 0.75
            for index in range(SPANS_PER_SESSION)
        ]
        who = sessions.identity(number, shape.ids, [NOW if place < shape.spans else BEFORE for place in places])
        spans = sessions.build(who, shape.profile, chance, prose)
        sent += [_Sent(place % shape.spans, who.service, span) for place, span in zip(places, spans, strict=True)]
    return sorted(sent, key=lambda each: each.place)


def _batches(ring: list[_Sent], shape: Shape) -> list[list[_Sent]]:
    if shape.mixes_services:
        return _cut(ring, shape.batch)
    streams = [[each for each in ring if each.service == service] for service in SERVICES]
    batches = [batch for stream in streams for batch in _cut(stream, shape.batch)]
    return sorted(batches, key=lambda batch: batch[-1].place)


def _cut(stream: list[_Sent], size: int) -> list[list[_Sent]]:
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def _request(batch: list[_Sent]) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    by_service: dict[str, ScopeSpans] = {}
    for each in batch:
        if each.service not in by_service:
            group = request.resource_spans.add(resource=sessions.resource(each.service))
            by_service[each.service] = group.scope_spans.add(scope=sessions.scope())
        by_service[each.service].spans.append(each.span)
    return request


@dataclass(frozen=True, slots=True)
class Pool:
    """Requests as read back from a file."""

    shape: Shape
    requests: tuple[bytes, ...]


def write_pool(path: Path, shape: Shape) -> None:
    """One line of JSON, the shape, then each request after its length in 8 bytes, big-endian."""
    with path.open("wb") as file:
        file.write(json.dumps(asdict(shape)).encode() + b"\n")
        for request in requests(shape):
            file.write(len(request).to_bytes(8, "big"))
            file.write(request)


def read_pool(path: Path) -> Pool:
    """The inverse of `write_pool`. Raises ValueError when the file was cut short."""
    with path.open("rb") as file:
        shape = Shape(**json.loads(file.readline()))
        read: list[bytes] = []
        while length := file.read(8):
            request = file.read(int.from_bytes(length, "big"))
            if len(length) < 8 or len(request) < int.from_bytes(length, "big"):
                raise ValueError(f"{path} ends in the middle of request {len(read)}")
            read.append(request)
    return Pool(shape, tuple(read))


class Stamper:
    """One request of a pool, made into that of any pass. Keeps its own copy of the bytes."""

    def __init__(self, request: bytes) -> None:
        self._buffer = bytearray(request)
        self._now = _offsets(request, NOW)
        self._before = _offsets(request, BEFORE)

    def stamped(self, number: int) -> bytes:
        """The request of pass `number`, 1 or more."""
        for tag, offsets in ((b"%08x" % number, self._now), (b"%08x" % (number - 1), self._before)):
            for start in offsets:
                self._buffer[start : start + 8] = tag
        return bytes(self._buffer)


def _offsets(request: bytes, tag: bytes) -> list[int]:
    found, start = [], request.find(tag)
    while start >= 0:
        found.append(start)
        start = request.find(tag, start + len(tag))
    return found


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--profile", choices=get_args(Profile), default="rich")
    parser.add_argument("--batch", type=int, default=500, help="spans per request")
    parser.add_argument("--spans", type=int, default=12_000, help="spans in the pool")
    parser.add_argument("--ids", choices=get_args(Ids), default="all", help="which spans name their session")
    parser.add_argument("--open-sessions", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    return parser


def main() -> None:
    chosen = arguments().parse_args()
    try:
        shape = Shape(chosen.profile, chosen.batch, chosen.spans, chosen.ids, chosen.open_sessions, chosen.seed)
    except ValueError as problem:
        sys.exit(f"benchmarks.generate: {problem}")
    write_pool(chosen.out, shape)
    print(f"{chosen.out}: {shape.spans} {shape.profile} spans, {chosen.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
