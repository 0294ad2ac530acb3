"""Measure SpanJudge beside other receivers of agents' telemetry: `python -m benchmarks.peers`.

Each peer is installed from PyPI, in the version named here, into an environment of its own on first use (about
1.5 GB in all). Every server gets the same requests from the same client, one after another in a round, in another
order in the next. A server's run ends when everything it acknowledged is stored, or nothing more has been for a
while; the CPU of its whole process tree is read then, so that work done after the answer counts. Peers run at their
defaults, on SQLite where they have a database.

They do more than take telemetry in: Phoenix and MLflow parse, index and show spans at once. SpanJudge writes what it
gets and reads it when the session closes. So the figures say what it costs to take telemetry in for evaluation, and
nothing about the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks import books, machine, targets
from benchmarks.__main__ import order, under_load, until_quiet
from benchmarks.generate import Shape, write_pool
from benchmarks.load import Outcome
from benchmarks.processes import Server, ServerFailed
from benchmarks.report import Case, Sample
from benchmarks.sessions import SPANS_PER_SESSION
from benchmarks.targets import Target, answers, free_port

ENVIRONMENTS = Path(".venv-peers")
QUIET_S = 10.0
"""A server that has stored nothing more for this long will not."""
WARM_UP_SPANS = 800
_WHOLE = 4_000  # spans that are whole sessions of every service, in whole requests
FEW_SESSIONS, FEW_SPANS = 30, 800
"""agentevals holds 100 sessions at most and refuses every request that brings another: 40 to warm up, 40 to measure."""


@dataclass(frozen=True, slots=True)
class Running:
    """A peer about to be started. `stored` counts the spans it has kept; None: it does not say."""

    target: Target
    headers: dict[str, str]
    stored: Callable[[], int] | None


@dataclass(frozen=True, slots=True)
class Peer:
    """`version` is what is installed. `few_sessions`: measured with 30 open sessions, in runs of its own."""

    package: str
    version: str
    does: str
    prepare: Callable[[Path, Path], Running]
    few_sessions: bool = False


def _phoenix(programs: Path, directory: Path) -> Running:
    port, page = free_port(), free_port()
    ports = {"PHOENIX_PORT": str(page), "PHOENIX_GRPC_PORT": str(port), "PHOENIX_HOST": "127.0.0.1"}
    env = {**ports, "PHOENIX_WORKING_DIR": str(directory), "PHOENIX_TELEMETRY_ENABLED": "false"}
    command = [str(programs / "phoenix"), "serve"]
    ready = f"http://127.0.0.1:{page}/healthz"
    server = Server(command, directory / "log", lambda _: answers(ready), env)
    target = Target("arize-phoenix", server, f"127.0.0.1:{port}")
    return Running(target, {}, lambda: _rows(directory / "phoenix.db", "spans"))


def _mlflow(programs: Path, directory: Path) -> Running:
    port, database = free_port(), directory / "mlflow.db"
    command = [str(programs / "mlflow"), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{database}"]
    command += ["--default-artifact-root", str(directory / "artifacts")]
    env = {"MLFLOW_DISABLE_TELEMETRY": "true", "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    server = Server(command, directory / "log", lambda _: answers(f"http://127.0.0.1:{port}/health"), env)
    target = Target("mlflow", server, f"http://127.0.0.1:{port}/v1/traces")
    return Running(target, {"x-mlflow-experiment-id": "0"}, lambda: _rows(database, "spans"))


def _agentevals(programs: Path, directory: Path) -> Running:
    port, page, http, api = free_port(), free_port(), free_port(), free_port()
    command = [str(programs / "agentevals"), "serve", "--dev", "--headless", "--host", "127.0.0.1"]
    command += ["--port", str(page), "--otlp-grpc-port", str(port), "--otlp-http-port", str(http)]
    command += ["--api-grpc-port", str(api)]
    ready = f"http://127.0.0.1:{page}/api/health"
    server = Server(command, directory / "log", lambda _: answers(ready))
    return Running(Target("agentevals-cli", server, f"127.0.0.1:{port}"), {}, None)


PEERS = {
    peer.package: peer
    for peer in (
        Peer(
            "arize-phoenix",
            "20.26.1",
            "acknowledges from memory, then parses, indexes and stores; shows traces, runs experiments",
            _phoenix,
        ),
        Peer(
            "mlflow",
            "3.17.2",
            "stores before it answers; shows traces, runs evaluations and a model registry",
            _mlflow,
        ),
        Peer(
            "agentevals-cli",
            "0.11.0",
            "keeps sessions in memory, at most 100; scores them against evaluation sets",
            _agentevals,
            few_sessions=True,
        ),
    )
}


def _rows(database: Path, table: str) -> int:
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@dataclass(frozen=True, slots=True)
class Pools:
    """Files of requests. The spans of the one are not those of the other: some peers keep a span id once only."""

    measured: Path
    warm_up: Path


@dataclass(frozen=True, slots=True)
class Result:
    """One server in one round. `stored` is None where the server does not say; `stored_s` is the time until then."""

    sample: Sample
    stored: int | None
    stored_s: float


def install(peer: Peer) -> Path:
    """The directory of the peer's programs; installs it when it is not there in this version. Raises
    `ServerFailed`."""
    environment = ENVIRONMENTS / f"{peer.package}-{peer.version}"
    marker = environment / ".ready"
    if not marker.exists():
        print(f"benchmarks.peers: installing {peer.package} {peer.version}", file=sys.stderr, flush=True)
        shutil.rmtree(environment, ignore_errors=True)
        uv, wanted = str(Path(sys.executable).with_name("uv")), f"{peer.package}=={peer.version}"
        for command in (
            [uv, "venv", "--quiet", "--python", sys.executable, str(environment)],
            [uv, "pip", "install", "--quiet", "--python", str(environment / "bin" / "python"), wanted],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ServerFailed(f"{peer.package} cannot be installed: {done.stderr[-2_000:]}")
        marker.touch()
    return (environment / "bin").resolve()


def prepare(name: str, directory: Path) -> Running:
    """A server of either kind, not yet started."""
    if name in PEERS:
        directory.mkdir(parents=True)
        return PEERS[name].prepare(install(PEERS[name]), directory)
    target = targets.prepare(name, directory)
    url = target.metrics_url
    if url is None:
        return Running(target, {}, None)

    def stored() -> int:
        with urllib.request.urlopen(url, timeout=10) as answer:
            kept = books.read(answer.read().decode())
        return kept.stored + kept.dropped.get("sampled_out", 0)

    return Running(target, {}, stored)


def measure(running: Running, case: Case, number: int, pool: Pools, load: tuple[int, int]) -> Result:
    """Start, warm up, load, wait until all is stored, stop."""
    target = running.target
    client = [sys.executable, "-m", "benchmarks.load", "--target", target.address, "--seconds", "600"]
    client += ["--connections", str(load[0]), "--in-flight", str(load[1]), "--headers", json.dumps(running.headers)]
    with target.server as server:
        warm_up, _ = under_load([*client, "--pool", str(pool.warm_up), "--spans", str(WARM_UP_SPANS)], server)
        before_rows = _settled(running, warm_up.acked_spans)
        until_quiet(server)
        before, began = server.cpu_s(), time.monotonic()
        outcome, peak = under_load([*client, "--pool", str(pool.measured), "--spans", str(case.spans)], server)
        stored = _settled(running, before_rows + outcome.acked_spans)
        seconds = time.monotonic() - began - (QUIET_S if stored < before_rows + outcome.acked_spans else 0.0)
        sample = Sample(
            case, number, target.name, server.cpu_s() - before, outcome, peak.resident, peak.anonymous, None
        )
    return Result(sample, None if running.stored is None else stored - before_rows, seconds)


def _settled(running: Running, wanted: int) -> int:
    """Wait until `wanted` spans are stored, or no more have been for a while; how many are."""
    if running.stored is None:
        time.sleep(1.0)
        return wanted
    stored, changed = -1, time.monotonic()
    while stored < wanted and time.monotonic() - changed < QUIET_S:
        now = running.stored()
        if now != stored:
            stored, changed = now, time.monotonic()
        time.sleep(0.2)
    return stored


def run(
    names: Sequence[str], case: Case, open_sessions: int, rounds: int, directory: Path, load: tuple[int, int]
) -> list[Result]:
    """All servers, `rounds` times."""
    pool = Pools(directory / f"pool-{open_sessions}", directory / f"warm-up-{open_sessions}")
    shape = Shape(case.profile, case.batch, case.spans, case.ids, open_sessions)
    write_pool(pool.measured, shape)
    write_pool(pool.warm_up, replace(shape, seed=shape.seed + 1))
    found = []
    for number in range(rounds):
        for name in order(names, number):
            place = directory / f"{open_sessions}-{number}-{name.replace(' ', '-').rstrip('-%')}"
            result = measure(prepare(name, place), case, number, pool, load)
            found.append(result)
            speed = f"{result.sample.spans_per_cpu_s:,.0f} spans per CPU second"
            print(f"round {number + 1}: {result.sample.server}: {speed}", file=sys.stderr, flush=True)
            shutil.rmtree(place, ignore_errors=True)
    return found


HEADINGS = ("server", "spans / CPU s", "x slowest", "spans/s stored", "stored of acked", "p50 / p99 ms", "MB", "failed")


def markdown(results: Sequence[Result]) -> str:
    """A table: each server's median over rounds, by spans per CPU second."""
    names = dict.fromkeys(result.sample.server for result in results)
    middle = [_middle([each for each in results if each.sample.server == name]) for name in names]
    middle.sort(key=lambda each: -each.sample.spans_per_cpu_s)
    slowest = min((each.sample.spans_per_cpu_s for each in middle if each.sample.outcome.acked_spans), default=1.0)
    lines = [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
    for each in middle:
        outcome: Outcome = each.sample.outcome
        kept = "-" if each.stored is None else f"{each.stored:,} of {outcome.acked_spans:,}"
        rate = "-" if each.stored is None else f"{each.stored / each.stored_s:,.0f}"
        cells = [
            each.sample.server,
            f"{each.sample.spans_per_cpu_s:,.0f}",
            f"{each.sample.spans_per_cpu_s / slowest:,.1f}",
            rate,
            kept,
            f"{_number(outcome.ack_ms.p50)} / {_number(outcome.ack_ms.p99)}",
            f"{each.sample.peak_resident / 1e6:,.0f}",
            str(sum(outcome.errors.values())),
        ]
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def _middle(results: Sequence[Result]) -> Result:
    """The one with the median speed (of two, the faster: in the peer's favour as in ours)."""
    return sorted(results, key=lambda each: each.sample.spans_per_cpu_s)[len(results) // 2]


def _number(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:,.1f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--peers", nargs="+", choices=tuple(PEERS), default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--profile", choices=("rich", "lean"), default="rich")
    parser.add_argument("--spans", type=int, default=4_000, help="spans to send per server and round")
    parser.add_argument("--data-dir", type=Path, help="where databases and journals go while it runs")
    parser.add_argument("--json", type=Path, help="write all results here")
    return parser


def main() -> None:
    chosen = arguments().parse_args()
    case = Case(chosen.profile, batch=250, spans=-(-chosen.spans // _WHOLE) * _WHOLE)
    chosen_peers = [PEERS[name] for name in chosen.peers]
    ours = [targets.NOOP, targets.NAIVE, *targets.PRODUCT_RATES]
    few_case = Case(chosen.profile, batch=100, spans=FEW_SPANS)
    loads = ((case, 400, False), (few_case, FEW_SESSIONS, True))
    with tempfile.TemporaryDirectory(prefix="spanjudge-peers-", dir=chosen.data_dir) as name:
        print("\n".join(f"- {key}: {value}" for key, value in machine.describe(Path(name)).items()))
        for peer in chosen_peers:
            print(f"- {peer.package} {peer.version}: {peer.does}")
        results = []
        for load, open_sessions, few in loads:
            names = [peer.package for peer in chosen_peers if peer.few_sessions == few]
            if not names:
                continue
            measured = replace(load, spans=max(load.spans, open_sessions * SPANS_PER_SESSION))
            try:
                found = run([*ours, *names], measured, open_sessions, chosen.rounds, Path(name), (2, 2))
            except ServerFailed as failed:
                sys.exit(f"benchmarks.peers: {failed}")
            results += found
            print(f"\n### {load.title}, {open_sessions} sessions open\n\n{markdown(found)}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")


if __name__ == "__main__":
    main()
