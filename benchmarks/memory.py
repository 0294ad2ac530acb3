"""What does an open session cost in memory? `python -m benchmarks.memory`.

A million short sessions are sent over gRPC to the product as users run it, and stay open. Memory is that of its whole
process tree: resident, and anonymous, which leaves out the mapped pages of the journal, for those the kernel takes back
when it likes. What the process takes with a few sessions is subtracted, and the rest divided by the sessions.

`--traces 2` gives each session two traces; `--ids root` names the session on roots only, which come behind their
children, so that each trace has parked telemetry. `--book` measures the book of sessions alone, in a process of its own
without gRPC and journal.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from benchmarks import machine, open_product, sessions
from benchmarks.generate import NOW, Shape, Stamper
from benchmarks.processes import Memory, ServerFailed
from benchmarks.sessions import put
from collector.sessions.book import Policy, SessionBook
from collector.sessions.routing import Marks, Router

Ids: TypeAlias = Literal["all", "root"]
BATCH = 500
REQUESTS = 24  # of one pass; each pass brings other sessions
_FEW = 2  # passes before the base is read
_STARTED_NS = 1_790_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Result:
    """Bytes a session above the base. The latter and `resident` are None for the book alone."""

    sessions: int
    traces: int
    ids: Ids
    base: Memory | None
    resident_per_session: float | None
    anonymous_per_session: float


def requests(traces: int, ids: Ids) -> list[bytes]:
    """Requests of a pass, with `NOW` where its number goes: spans of sessions that appear in it and nowhere else."""
    made = []
    per_request = BATCH // (traces * (2 if ids == "root" else 1))
    for request in range(REQUESTS):
        export = ExportTraceServiceRequest()
        group = export.resource_spans.add(resource=sessions.resource(sessions.SERVICES[request % 8]))
        inner = group.scope_spans.add(scope=sessions.scope())
        for place in range(per_request):
            number = request * per_request + place
            for trace in range(traces):
                inner.spans.extend(_spans(number, trace, ids))
        made.append(export.SerializeToString(deterministic=True))
    return made


def _spans(number: int, trace: int, ids: Ids) -> list[Span]:
    """One span that names its session; before it, where only roots do, a child that does not."""
    name = f"chat-{NOW.decode()}-{number:08x}-4d1e-9a"
    trace_id = NOW + (number * 8 + trace).to_bytes(8, "big")
    root = Span(trace_id=trace_id, span_id=(number * 16 + 1).to_bytes(8, "big"), name="invoke_agent")
    put(root, "session.id", name)
    made = [root]
    if ids == "root":
        child = Span(trace_id=trace_id, span_id=(number * 16 + 2).to_bytes(8, "big"), name="chat")
        child.parent_span_id = root.span_id
        made.insert(0, child)
    for span in made:
        span.start_time_unix_nano, span.end_time_unix_nano = _STARTED_NS, _STARTED_NS + 5_000_000
        put(span, "gen_ai.operation.name", span.name)
        put(span, "gen_ai.request.model", "pine-large-3")
    return made


def per_pass(traces: int, ids: Ids) -> int:
    """Sessions."""
    return REQUESTS * (BATCH // (traces * (2 if ids == "root" else 1)))


def of_the_process(count: int, traces: int, ids: Ids, directory: Path) -> Result:
    pool = directory / "pool"
    _write_pool(pool, requests(traces, ids))
    product = open_product.prepare(directory)
    passes = -(-count // per_pass(traces, ids))
    with product.server as server:
        load(pool, product.address, _FEW * REQUESTS * BATCH)
        time.sleep(2)
        base = server.memory()
        load(pool, product.address, passes * REQUESTS * BATCH, first=1 + _FEW)
        time.sleep(2)
        full = server.memory()
    sent = passes * per_pass(traces, ids)
    return Result(
        sent, traces, ids, base, (full.resident - base.resident) / sent, (full.anonymous - base.anonymous) / sent
    )


def _write_pool(path: Path, made: list[bytes]) -> None:
    """As `generate.write_pool` writes it; of the shape only the batch means anything here."""
    with path.open("wb") as file:
        file.write(json.dumps(asdict(Shape("lean", BATCH))).encode() + b"\n")
        for request in made:
            file.write(len(request).to_bytes(8, "big") + request)


def load(pool: Path, address: str, spans: int, first: int = 1) -> None:
    """Raises `ServerFailed` unless everything is acknowledged."""
    command = [sys.executable, "-m", "benchmarks.load", "--pool", str(pool), "--target", address]
    command += ["--spans", str(spans), "--first-pass", str(first), "--seconds", "3600"]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if answer["errors"] or answer["rejected_spans"] or answer["unsent_spans"]:
        raise ServerFailed(f"not everything was taken: {answer}")


def of_the_book(count: int, traces: int, ids: Ids) -> Result:
    """In this process, which should have done nothing else."""
    now_ms = _STARTED_NS // 1_000_000
    router = Router(book := SessionBook(Policy(), now_ms), Marks())
    stampers = [Stamper(request) for request in requests(traces, ids)]
    passes = -(-count // per_pass(traces, ids))

    def send(number: int) -> None:
        for place, stamper in enumerate(stampers):
            router.route("traces", stamper.stamped(number), "", now_ms + number * 100 + place)

    send(1)
    gc.collect()
    base = _anonymous()
    for number in range(2, 2 + passes):
        send(number)
    gc.collect()
    sent = passes * per_pass(traces, ids)
    assert book.open_sessions() == sent + per_pass(traces, ids)
    return Result(sent, traces, ids, None, None, (_anonymous() - base) / sent)


def _anonymous() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous:"))


def _say(result: Result, what: str) -> None:
    named = "on every span" if result.ids == "all" else "on roots only"
    print(f"{what}: {result.sessions:,} sessions of {result.traces} trace(s), named {named}")
    if result.base is not None and result.resident_per_session is not None:
        resident, anonymous = result.base.resident / 1e6, result.base.anonymous / 1e6
        print(f"  with few sessions:   {resident:.0f} MB resident, {anonymous:.0f} anonymous")
        print(f"  resident a session:  {result.resident_per_session:.0f} bytes")
    print(f"  anonymous a session: {result.anonymous_per_session:.0f} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--traces", type=int, default=1, choices=(1, 2))
    parser.add_argument("--ids", choices=get_args(Ids), default="all")
    parser.add_argument("--book", action="store_true", help="the book of sessions alone")
    parser.add_argument("--data-dir", type=Path, help="where the journal goes while it runs")
    chosen = parser.parse_args()
    if chosen.book:
        _say(of_the_book(chosen.sessions, chosen.traces, chosen.ids), "the book alone")
        return
    with tempfile.TemporaryDirectory(prefix="spanjudge-memory-", dir=chosen.data_dir) as name:
        for key, value in machine.describe(Path(name)).items():
            print(f"- {key}: {value}")
        try:
            result = of_the_process(chosen.sessions, chosen.traces, chosen.ids, Path(name))
        except ServerFailed as failed:
            sys.exit(f"benchmarks.memory: {failed}")
    _say(result, "the process")


if __name__ == "__main__":
    main()
