"""Kill the product again and again while it is loaded, and compare what it judged with what it had acknowledged:
`python -m benchmarks.kills`.

Senders send made-up sessions and send again what was not acknowledged, as every exporter does; each acknowledged
span is written into a manifest by session. At random moments the product gets `kill -9` and is started again. In the
end the senders stop and every session closes. Then, for every session of the manifest, the spans of its newest
revision are compared with those acknowledged: fewer means a loss. A session judged twice for the same telemetry shows
as a revision that holds no more spans than the one before it.

What is proved is the case of a killed process. Power loss rests on the flush of the disk.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks import machine, targets
from benchmarks.generate import BEFORE, NOW, Shape, Stamper, requests
from benchmarks.load import EXPORT, RPC_TIMEOUT_S
from benchmarks.processes import Server, ServerFailed
from benchmarks.sessions import Profile

IDLE_S, LATE_S = 3.0, 3_600.0
CLOSE_WITHIN_S = 180.0


@dataclass(slots=True)
class Manifest:
    """Spans by session: `sent` at least once, and `acknowledged`."""

    sent: Counter[str] = field(default_factory=Counter)
    acknowledged: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Template:
    """One request of the pool, and how many spans of which session it holds. Names carry the marks of a pass."""

    stamper: Stamper
    spans: Counter[str]

    def of_pass(self, number: int) -> tuple[bytes, Counter[str]]:
        """The request of pass `number`, and its spans by session."""
        now, before = f"{number:08x}", f"{number - 1:08x}"
        named = {
            name.replace(NOW.decode(), now).replace(BEFORE.decode(), before): count
            for name, count in self.spans.items()
        }
        return self.stamper.stamped(number), Counter(named)


def template(request: bytes) -> Template:
    spans: Counter[str] = Counter()
    for resource in ExportTraceServiceRequest.FromString(request).resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                spans[next(each.value.string_value for each in span.attributes if each.key == "session.id")] += 1
    return Template(Stamper(request), spans)


class Senders:
    """Threads that send one request after another, each until it is acknowledged. `seconds` between requests of a
    sender, so that the disk of a small machine lasts."""

    def __init__(self, address: str, templates: list[Template], threads: int, pause_s: float) -> None:
        self.manifest = Manifest()
        self._address = address
        self._templates = templates
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._turns = iter(range(10**9))
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Each finishes the request it is at: what was sent once may have been kept."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def acknowledged(self) -> int:
        with self._lock:
            return self.manifest.acknowledged.total()

    def _run(self) -> None:
        with grpc.insecure_channel(self._address, [("grpc.max_reconnect_backoff_ms", 500)]) as channel:
            export = channel.unary_unary(EXPORT, lambda body: body, lambda body: body)
            while not self._stop.is_set():
                with self._lock:
                    number, place = divmod(next(self._turns), len(self._templates))
                    request, spans = self._templates[place].of_pass(number + 1)
                    self.manifest.sent += spans
                self._send(export, request)
                with self._lock:
                    self.manifest.acknowledged += spans
                self._stop.wait(self._pause_s)

    @staticmethod
    def _send(export: grpc.UnaryUnaryMultiCallable[bytes, bytes], request: bytes) -> None:
        while True:
            try:
                export(request, timeout=RPC_TIMEOUT_S, wait_for_ready=True)
            except grpc.RpcError as error:
                if error.code() not in _AGAIN:
                    raise
            else:
                return


_AGAIN = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
"""What an OTLP exporter sends again (OTLP specification, gRPC failures)."""


@dataclass(frozen=True, slots=True)
class Compared:
    """`lost` and `invented` are spans, `unclosed` sessions; `again` are revisions that brought no new span."""

    sessions: int
    acknowledged: int
    lost: int
    invented: int
    unclosed: int
    revisions: int
    again: int


def compare(manifest: Manifest, closings: list[tuple[str, int, int]]) -> Compared:
    """`closings` are (session, revision, spans) as stored."""
    newest: dict[str, tuple[int, int]] = {}
    again = 0
    for session, revision, spans in sorted(closings):
        if session in newest and newest[session][1] == spans:
            again += 1
        newest[session] = (revision, spans)
    kept = {session: spans for session, (_, spans) in newest.items()}
    return Compared(
        sessions=len(manifest.acknowledged),
        acknowledged=manifest.acknowledged.total(),
        lost=sum(max(0, count - kept.get(session, 0)) for session, count in manifest.acknowledged.items()),
        invented=sum(max(0, spans - manifest.sent[session]) for session, spans in kept.items()),
        unclosed=sum(session not in kept for session in manifest.acknowledged),
        revisions=len(closings),
        again=again,
    )


def closings(database: Path) -> list[tuple[str, int, int]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        return list(connection.execute("SELECT session_id, revision, spans FROM sessions"))


def _starts(directory: Path, config: Path, ready: str) -> Iterator[Server]:
    number = 0
    while True:
        log = directory / f"log-{number}"
        yield Server([str(targets.PRODUCT), "run", "--config", str(config)], log, lambda _: targets.answers(ready))
        number += 1


def run(directory: Path, profile: Profile, kills: int, seed: int, most_s: float) -> tuple[Compared, float]:
    """Returns the comparison, and the seconds from the last start to its ready probe, the worst of all starts."""
    chance = random.Random(seed)
    port, admin = targets.free_port(), targets.free_port()
    config = directory / "spanjudge.yaml"
    settings = {
        "data_dir": str(directory / "data"),
        "receivers": {"grpc": {"listen": f"127.0.0.1:{port}"}, "http": {"listen": "127.0.0.1:0", "enabled": False}},
        "admin": {"listen": f"127.0.0.1:{admin}"},
        "sessions": {"idle_seconds": IDLE_S, "late_window_seconds": LATE_S},
        "journal": {"segment_bytes": 64 * 1024**2},
    }
    config.write_text(json.dumps(settings))
    ready = f"http://127.0.0.1:{admin}/readyz"
    shape = Shape(profile, batch=100, spans=8_000, open_sessions=100)
    senders = Senders(f"127.0.0.1:{port}", [template(request) for request in requests(shape)], threads=4, pause_s=0.02)
    starts = _starts(directory, config, ready)
    slowest = 0.0
    for kill in range(kills + 1):
        began = time.monotonic()
        with next(starts) as server:
            slowest = max(slowest, time.monotonic() - began)
            if kill == 0:
                senders.start()
            if kill == kills:
                senders.stop()
                _all_closed(directory / "data" / "verdicts.sqlite3", senders.manifest)
                break
            before = senders.acknowledged()
            time.sleep(chance.uniform(0.2, most_s))
            server.signal(signal.SIGKILL)
            print(f"kill {kill + 1}: {senders.acknowledged() - before} spans since the start", file=sys.stderr)
    return compare(senders.manifest, closings(directory / "data" / "verdicts.sqlite3")), slowest


def _all_closed(database: Path, manifest: Manifest) -> None:
    """Wait until what was acknowledged is in the newest revisions, or nothing has changed for some time."""
    last, changed = Compared(0, 0, 0, 0, 0, 0, 0), time.monotonic()
    while time.monotonic() - changed < max(20.0, IDLE_S * 5):
        now = compare(manifest, closings(database))
        if now != last:
            last, changed = now, time.monotonic()
        time.sleep(1.0)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--profile", choices=("rich", "lean"), default="lean")
    parser.add_argument("--seed", type=int, default=1, help="of the moments at which it is killed")
    parser.add_argument("--most-seconds", type=float, default=4.0, help="the longest time between start and kill")
    parser.add_argument("--data-dir", type=Path, help="where the journal and the verdicts go while it runs")
    return parser


def main() -> None:
    chosen = arguments().parse_args()
    with tempfile.TemporaryDirectory(prefix="spanjudge-kills-", dir=chosen.data_dir) as name:
        print("\n".join(f"- {key}: {value}" for key, value in machine.describe(Path(name)).items()))
        try:
            found, slowest = run(Path(name), chosen.profile, chosen.kills, chosen.seed, chosen.most_seconds)
        except ServerFailed as failed:
            sys.exit(f"benchmarks.kills: {failed}")
    print(f"\n{chosen.kills} kills, {found.acknowledged:,} spans of {found.sessions:,} sessions acknowledged")
    print(f"lost: {found.lost} spans; never closed: {found.unclosed} sessions; more than sent: {found.invented} spans")
    print(f"{found.revisions:,} closings, {found.again} of them without a new span")
    print(f"slowest start: {slowest:.1f} s")
    if found.lost or found.again or found.invented or found.unclosed:
        sys.exit(1)


if __name__ == "__main__":
    main()
