"""What does it take to close and judge a session, and how long do verdicts take? `python -m benchmarks.closing`.

Three measurements, each of sessions of 20 spans (rich: 128 KB a session; lean: 16 KB), with every evaluator on and no
judge, so that what a judge would be asked is rendered, and kept as not judged:

- *cost*: CPU time of one closing in one thread, stage by stage, the least of several rounds. `keep` is the transaction
  of a group of 64.
- *throughput*: sessions are sent to the product as users run it and stay open; it is started again with an idle time
  of a second, so that all of them close at once. Closings a second from the first to the last, with nothing else to do.
- *lag*: spans come at a steady rate (open loop) such that so many sessions close each second, and verdicts go nowhere,
  or to an OTLP receiver that answers at once. From the product's own histograms: the share of closings whose verdicts
  were durable (`kept`), and of verdicts that were delivered (`published`), within a second; the time that 50 % and 99 %
  of them took is the upper bound of the bucket they fall into. Client, receiver and product share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar, get_args

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from benchmarks import machine, sessions, targets
from benchmarks.generate import Shape, write_pool
from benchmarks.processes import Server, ServerFailed
from benchmarks.prose import Prose
from benchmarks.sessions import SPANS_PER_SESSION, Profile
from collector.building import NO_JUDGE
from collector.clock import SystemClock
from collector.concluding import conclude
from collector.config import Config
from collector.evaluation.tally import counted
from collector.journal.journal import Journal, JournalSettings
from collector.journal.rows import RowKey
from collector.judging import GROUP
from collector.reading import Reader, Reading, Rules
from collector.rules import load_rules, session_names
from collector.sessions.assembly import assemble
from collector.sessions.book import Claim, Policy, SessionBook
from collector.sessions.routing import Marks, Router
from collector.store.finishing import Finishing, finishing
from collector.store.sqlite import SqliteStore
from collector.store.store import ClosedSession
from extractors.registry import extract
from judge.catalog import plan_all
from judge.suites import expectations_for

ROUNDS = 5
POOL_SPANS = 12_000
IDLE_S = 2
_SETTLE_S = 3.0
_LOOK_S = 0.2
_MOST_S = 300
_DAY_S = 86_400

_READING, _WRITING, _KEEPING = "all of these, and attribution", "conclude, count, write as JSON", "keep"

_Made = TypeVar("_Made")


# -- cost -------------------------------------------------------------------------------------------------------


async def cost(directory: Path, profile: Profile, count: int) -> dict[str, float]:
    """Stage → CPU milliseconds of one closing."""
    config, clock = Config(), SystemClock()
    rules = load_rules(config, "the defaults")
    journal = Journal(directory / "journal", JournalSettings(min_free_bytes=0), lambda: clock.steady_ns() // 1_000_000)
    journal.start()
    claims = await _closed(journal, config, profile, count)
    reader = Reader(journal, clock, NO_JUDGE)
    gc.collect()
    gc.freeze()  # as an evaluation process does
    gc.disable()
    least: dict[str, float] = {}
    for number in range(ROUNDS):
        store = SqliteStore.open(directory / f"{number}.sqlite3")
        for stage, spent_s in (await _round(journal, reader, rules, store, claims)).items():
            least[stage] = min(least.get(stage, math.inf), spent_s / len(claims) * 1e3)
        await store.close()
    await journal.stop()
    return least


async def _closed(journal: Journal, config: Config, profile: Profile, count: int) -> list[Claim]:
    now_ms = SystemClock().steady_ns() // 1_000_000
    book = SessionBook(Policy(), now_ms)
    router = Router(book, Marks(names=session_names(config)))
    for number in range(count):
        routed = router.route("traces", _request(profile, number), "", now_ms)
        await journal.append(routed.rows, routed.size)
    closings = [book.close(book.index.ref(slot), "idle", now_ms) for slot in list(book.index.slots())]
    await journal.append(*book.take_rows())
    return [one for one in closings if isinstance(one, Claim)]


def _request(profile: Profile, number: int) -> bytes:
    chance = Random(number)
    who = sessions.identity(number, "all", [b"%08x" % number] * SPANS_PER_SESSION)
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add(resource=sessions.resource(who.service))
    inner = group.scope_spans.add(scope=sessions.scope())
    inner.spans.extend(sessions.build(who, profile, chance, Prose(chance)))
    return request.SerializeToString()


async def _round(
    journal: Journal, reader: Reader, rules: Rules, store: SqliteStore, claims: Sequence[Claim]
) -> dict[str, float]:
    """CPU seconds of each stage, of all claims together."""
    spent: dict[str, float] = {}

    def timed(stage: str, run: Callable[[Claim], _Made]) -> list[_Made]:
        began = time.process_time()
        made = [run(claim) for claim in claims]
        spent[stage] = time.process_time() - began
        return made

    chains = dict(zip(claims, timed("read", lambda one: _chain(journal, one)), strict=True))
    assembled = timed("decode", lambda one: assemble(one, chains[one], [], rules.session_names))
    session_of = dict(zip(claims, assembled, strict=True))
    extracted = dict(zip(claims, timed("extract", lambda one: extract(session_of[one])), strict=True))
    timed("plan", lambda one: plan_all(extracted[one], expectations_for(extracted[one], ()), rules.evaluators))
    readings = dict(zip(claims, timed(_READING, lambda one: reader.read(one, rules)), strict=True))
    rows = timed(_WRITING, lambda one: _rows(one, readings[one]))
    began = time.process_time()
    for start in range(0, len(rows), GROUP):
        await store.finish_all(rows[start : start + GROUP], ["otlp"])
    spent[_KEEPING] = time.process_time() - began
    spent["in all"] = sum(spent[stage] for stage in (_READING, _WRITING, _KEEPING))
    return spent


def _chain(journal: Journal, claim: Claim) -> list[tuple[RowKey, bytes]]:
    return [row for head in claim.heads for row in journal.chain(head)]


def _rows(claim: Claim, reading: Reading) -> Finishing:
    closed = ClosedSession(
        reading.ref,
        claim.closed_ms * 1_000_000,
        claim.reason,
        1.0,
        reading.trajectory,
        len(reading.session.spans),
        len(reading.session.records),
    )
    verdicts = (*reading.verdicts, *conclude(reading.verdicts))
    counted(verdicts)
    return finishing(closed, verdicts, reading.questions, next_only=True)


# -- the product ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Product:
    server: Server
    address: str
    admin: str

    def samples(self) -> list[Sample]:
        with urllib.request.urlopen(f"{self.admin}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def product(directory: Path, *, processes: int, idle_s: float, sink: str | None = None) -> Product:
    """May be started where another one with other settings has stopped."""
    port, admin = targets.free_port(), targets.free_port()
    config = {
        "data_dir": str(directory / "data"),
        "receivers": {"grpc": {"listen": f"127.0.0.1:{port}"}, "http": {"listen": "127.0.0.1:0", "enabled": False}},
        "admin": {"listen": f"127.0.0.1:{admin}"},
        "sessions": {"idle_seconds": idle_s, "max_age_seconds": _DAY_S},
        "evaluation": {"processes": processes},
        "export": {"otlp": {"endpoint": f"http://{sink}"}} if sink else {},
    }
    file = directory / "spanjudge.yaml"
    file.write_text(json.dumps(config))  # JSON is YAML
    url = f"http://127.0.0.1:{admin}"
    server = Server(
        [str(targets.PRODUCT), "run", "--config", str(file)],
        directory / "log",
        lambda _: targets.answers(f"{url}/readyz"),
    )
    return Product(server, f"127.0.0.1:{port}", url)


def total(samples: Sequence[Sample], name: str) -> float:
    """The sum of all series of a metric."""
    return sum(sample.value for sample in samples if sample.name == f"spanjudge_{name}")


def _load(pool: Path, address: str, spans: int, rate: float | None = None) -> None:
    command = [sys.executable, "-m", "benchmarks.load", "--pool", str(pool), "--target", address]
    command += ["--spans", str(spans)] + ([] if rate is None else ["--rate", str(rate)])
    outcome = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if outcome["acked_spans"] < spans:
        raise ServerFailed(f"{outcome['acked_spans']:,} of {spans:,} spans were taken: {outcome}")


@dataclass(frozen=True, slots=True)
class Backlog:
    """Closings a second, and a second of CPU of all the product's processes: the latter says more on a busy machine."""

    per_second: float
    per_cpu_second: float


def throughput(directory: Path, pool: Path, *, closings: int, processes: int) -> Backlog:
    """Of sessions that wait for it."""
    before = product(directory, processes=0, idle_s=_DAY_S)
    with before.server:
        _load(pool, before.address, closings * SPANS_PER_SESSION)
    after = product(directory, processes=processes, idle_s=1)
    seen: list[tuple[float, float, float]] = []
    with after.server as server:
        ends = time.perf_counter() + _MOST_S
        while not seen or seen[-1][2] < closings:
            if time.perf_counter() > ends:
                raise ServerFailed(server.failure(f"did not close all of {closings} sessions; seen: {seen[-1:]}"))
            if closed := total(after.samples(), "sessions_closed_total"):
                seen.append((time.perf_counter(), server.cpu_s(), closed))
            time.sleep(_LOOK_S)
    (began, cpu_began, first), (ended, cpu_ended, last) = seen[0], seen[-1]
    return Backlog((last - first) / (ended - began), (last - first) / (cpu_ended - cpu_began))


@dataclass(frozen=True, slots=True)
class Lag:
    """Seconds in which half of them, and 99 %, were there at the latest; and the share that was there in a second."""

    count: int
    half_s: float
    most_s: float
    within_a_second: float


@dataclass(frozen=True, slots=True)
class Steady:
    """`closed` a second while spans came. `cpu` are cores used by the whole process tree."""

    closed: float
    cpu: float
    waiting: int
    kept: Lag
    published: Lag | None


def steady(directory: Path, pool: Path, *, rate: float, seconds: float, processes: int, export: bool) -> Steady:
    """So many closings a second."""
    spans_rate = rate * SPANS_PER_SESSION
    sink_port = targets.free_port()
    sink = Server(
        [sys.executable, "-m", "benchmarks.servers.noop", "--port", str(sink_port)],
        directory / "sink",
        lambda log: "READY" in log,
    )
    address = f"127.0.0.1:{sink_port}" if export else None
    under_test = product(directory, processes=processes, idle_s=IDLE_S, sink=address)
    with sink, under_test.server as server:
        time.sleep(_SETTLE_S)  # the processes start
        cpu, began = server.cpu_s(), time.perf_counter()
        _load(pool, under_test.address, round(spans_rate * seconds), spans_rate)
        took = time.perf_counter() - began
        samples = under_test.samples()
        return Steady(
            total(samples, "sessions_closed_total") / (took - IDLE_S),
            (server.cpu_s() - cpu) / took,
            round(total(samples, "evaluation_waiting")),
            lag(samples, "verdict_lag_seconds"),
            lag(samples, "export_lag_seconds") if export else None,
        )


def lag(samples: Sequence[Sample], name: str) -> Lag:
    """From a histogram of Prometheus."""
    buckets = sorted(
        (float(sample.labels["le"]), sample.value) for sample in samples if sample.name == f"spanjudge_{name}_bucket"
    )
    count = buckets[-1][1] if buckets else 0
    if not count:
        return Lag(0, math.inf, math.inf, 0.0)

    def within(share: float) -> float:
        return next(bound for bound, below in buckets if below >= share * count)

    return Lag(round(count), within(0.5), within(0.99), dict(buckets)[1.0] / count)


# -- all of it --------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.closing", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--profile", choices=get_args(Profile), help="one of them only")
    parser.add_argument("--processes", type=int, nargs="+", default=[0, 1, 2], help="evaluation processes")
    parser.add_argument("--rates", type=float, nargs="+", default=[100, 250, 500], help="closings a second")
    parser.add_argument("--seconds", type=float, default=15, help="of a steady rate")
    parser.add_argument("--closings", type=int, default=3_000, help="that wait, for the throughput")
    parser.add_argument("--only", choices=("cost", "throughput", "lag"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spanjudge-closing-") as name:
        for key, value in machine.describe(Path(name)).items():
            print(f"- {key}: {value}")
        try:
            for profile in [chosen.profile] if chosen.profile else get_args(Profile):
                _measure(Path(name) / profile, profile, chosen)
        except ServerFailed as failed:
            sys.exit(f"benchmarks.closing: {failed}")


def _measure(directory: Path, profile: Profile, chosen: argparse.Namespace) -> None:
    directory.mkdir()
    pool = directory / "pool"
    write_pool(pool, Shape(profile, spans=POOL_SPANS))
    if chosen.only in (None, "cost"):
        (directory / "cost").mkdir()
        for stage, spent_ms in asyncio.run(cost(directory / "cost", profile, count=128)).items():
            print(f"{profile}: {stage}: {spent_ms:.2f} ms of CPU a closing")
    for processes in chosen.processes if chosen.only in (None, "throughput") else ():
        with tempfile.TemporaryDirectory(dir=directory) as name:
            found = throughput(Path(name), pool, closings=chosen.closings, processes=processes)
        print(
            f"{profile}: {processes} processes: from a backlog {found.per_second:.0f} closings a second, "
            f"{found.per_cpu_second:.0f} a second of CPU"
        )
    for rate in chosen.rates if chosen.only in (None, "lag") else ():
        for processes in chosen.processes:
            for export in (False, True):
                with tempfile.TemporaryDirectory(dir=directory) as name:
                    _tell(
                        profile,
                        rate,
                        processes,
                        steady(Path(name), pool, rate=rate, seconds=chosen.seconds, processes=processes, export=export),
                    )


def _tell(profile: Profile, rate: float, processes: int, found: Steady) -> None:
    lags = [("kept", found.kept), *([("published", found.published)] if found.published else [])]
    told = "; ".join(
        f"{what} within 1 s {one.within_a_second:.1%}, 50 % in {one.half_s:g} s, 99 % in {one.most_s:g} s"
        for what, one in lags
    )
    print(
        f"{profile}: {rate:g}/s, {processes} processes: {found.closed:.0f} closed a second with {found.cpu:.2f} cores, "
        f"{found.waiting} waiting at the end; {told}"
    )


if __name__ == "__main__":
    main()
