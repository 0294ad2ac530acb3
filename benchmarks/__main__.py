"""Measure SpanJudge beside a no-op and a naive receiver: `python -m benchmarks`. See `docs/performance.md`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

from benchmarks import books, machine, report, targets
from benchmarks.generate import Shape, write_pool
from benchmarks.load import Latency, Outcome
from benchmarks.processes import Memory, Server, ServerFailed
from benchmarks.report import Case, Sample
from benchmarks.sessions import Ids, Profile
from benchmarks.targets import Target

QUICK = (Case("rich", spans=24_000), Case("lean", spans=48_000))
FULL = (
    Case("rich", 100),
    Case("rich", 500),
    Case("rich", 2_000),
    Case("lean", 10, spans=24_000),
    Case("lean", 100, spans=96_000),
    Case("lean", 500, spans=96_000),
    Case("lean", 2_000, spans=96_000),
    Case("rich", 500, gzip=True, spans=18_000),
    Case("rich", 500, ids="root"),
    Case("rich", 500, ids="conversation"),
    Case("rich", 500, ids="mixed"),
    Case("rich", 250, rate=25_000, spans=150_000),
)
MATRIX = tuple(
    Case(profile, batch, gzip, ids, spans=24_000 if batch == 10 or gzip else 48_000)
    for profile in get_args(Profile)
    for batch in (10, 100, 500, 2_000)
    for gzip in (False, True)
    for ids in get_args(Ids)
)
"""Every combination; hours."""
POOL_SPANS = 12_000
WARM_UP_SPANS = 6_000
WARM_UP_PASS, MEASURED_PASS = 1, 1_000
SETTLE_S = 0.3
"""Work that follows the last answer belongs to it; it has this long to end before the CPU is read."""
QUIET_CPU_S, QUIET_WITHIN_S = 0.02, 20.0
WATCH_S = 0.05


def measure(target: Target, case: Case, number: int, pool: Path, connections: int, in_flight: int) -> Sample:
    """Start the server, warm it up, load it, and stop it."""
    client = [sys.executable, "-m", "benchmarks.load", "--pool", str(pool), "--target", target.address]
    client += ["--connections", str(connections), "--in-flight", str(in_flight)]
    client += ["--gzip"] if case.gzip else []
    with target.server as server:
        warm_up, _ = under_load([*client, "--spans", str(WARM_UP_SPANS), "--first-pass", str(WARM_UP_PASS)], server)
        client += ["--rate", str(case.rate)] if case.rate is not None else []
        until_quiet(server)
        before = server.cpu_s()
        outcome, peak = under_load([*client, "--spans", str(case.spans), "--first-pass", str(MEASURED_PASS)], server)
        time.sleep(SETTLE_S)
        return Sample(
            case=case,
            round=number,
            server=target.name,
            cpu_s=server.cpu_s() - before,
            outcome=outcome,
            peak_resident=peak.resident,
            peak_anonymous=peak.anonymous,
            disk_bytes=None if target.data_dir is None else _size(target.data_dir),
            problems=(
                *_refusals(warm_up, outcome),
                *_problems(target, case, warm_up.acked_spans + outcome.acked_spans),
            ),
        )


def until_quiet(server: Server) -> None:
    """A server may serve while its helper processes still start; that is no cost of what it serves."""
    until = time.monotonic() + QUIET_WITHIN_S
    used = server.cpu_s()
    while time.monotonic() < until:
        time.sleep(SETTLE_S)
        used, before = server.cpu_s(), used
        if used - before < QUIET_CPU_S:
            return


def under_load(command: Sequence[str], server: Server) -> tuple[Outcome, Memory]:
    """Run the client to its end; what came of it, and the most memory that the server was seen to use meanwhile."""
    seen = [server.memory()]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        while client.poll() is None:
            time.sleep(WATCH_S)
            seen.append(server.memory())
        answer = client.communicate()[0]
    finally:
        client.kill()
        client.wait()
    if client.returncode != 0:
        raise ServerFailed(server.failure(f"could not be loaded: the client ended with {client.returncode}"))
    fields = json.loads(answer)
    outcome = Outcome(**{**fields, "ack_ms": Latency(**fields["ack_ms"])})
    return outcome, Memory(max(each.resident for each in seen), max(each.anonymous for each in seen))


def _refusals(warm_up: Outcome, outcome: Outcome) -> list[str]:
    found = [f"{sum(warm_up.errors.values())} requests of the warm-up failed"] if warm_up.errors else []
    first = warm_up.first_refusal or outcome.first_refusal
    failed = warm_up.errors or outcome.errors
    return [*found, f"the first refusal: {first}"] if failed else found


def _problems(target: Target, case: Case, acked: int) -> list[str]:
    if target.metrics_url is None:
        return []
    with urllib.request.urlopen(target.metrics_url, timeout=10) as answer:
        kept = books.read(answer.read().decode())
    named = case.ids in {"all", "conversation"}
    return books.problems(kept, acked, targets.PRODUCT_RATES[target.name], named_by_every_span=named)


def _size(directory: Path) -> int:
    """Bytes on disk; a sparse file counts what it holds."""
    return sum(file.stat().st_blocks * 512 for file in directory.rglob("*") if file.is_file())


def order(servers: Sequence[str], number: int) -> list[str]:
    """Each round starts with another server and every second goes the other way, so that no server always
    follows the same one."""
    turned = [*servers[number % len(servers) :], *servers[: number % len(servers)]]
    return turned[::-1] if number % 2 else turned


def pool_spans(batch: int) -> int:
    """The smallest pool that holds enough sessions and whole requests of `batch`."""
    spans = POOL_SPANS
    while True:
        try:
            return Shape(batch=batch, spans=spans).spans
        except ValueError:
            spans += 4_000
            if spans > 50 * POOL_SPANS:
                raise


def run(
    cases: Sequence[Case], servers: Sequence[str], rounds: int, directory: Path, load: tuple[int, int]
) -> list[Sample]:
    samples = []
    for place, case in enumerate(cases):
        pool = directory / "pool"
        write_pool(pool, Shape(case.profile, case.batch, pool_spans(case.batch), case.ids))
        for number in range(rounds):
            for name in order(servers, number):
                target = targets.prepare(name, directory / f"{place}-{number}-{name.replace(' ', '-').rstrip('-%')}")
                samples.append(measure(target, case, number, pool, *load))
                _say(samples[-1])
                _forget(target)
    return samples


def _say(sample: Sample) -> None:
    speed = f"{sample.spans_per_cpu_s:,.0f} spans per CPU second"
    print(f"{sample.case.title}: round {sample.round + 1}: {sample.server}: {speed}", file=sys.stderr, flush=True)


def _forget(target: Target) -> None:
    """Make room: a journal of a rich run is as large as what was sent."""
    for file in target.data_dir.rglob("*") if target.data_dir else ():
        if file.is_file():
            file.unlink()


def chosen_cases(chosen: argparse.Namespace) -> list[Case]:
    """The matrix, cut down to what was asked for; one case of its own when `--batch` or `--rate` asks for more."""
    cases = list(QUICK if chosen.quick else MATRIX if chosen.matrix else FULL)
    if chosen.profile:
        cases = [case for case in cases if case.profile == chosen.profile]
    if chosen.batch or chosen.ids or chosen.gzip or chosen.rate:
        base = Case(chosen.profile or "rich", chosen.batch or 500, chosen.gzip, chosen.ids or "all", chosen.rate)
        cases = [base]
    if chosen.spans:
        cases = [replace(case, spans=chosen.spans) for case in cases]
    return cases


def chosen_servers(chosen: argparse.Namespace) -> list[str]:
    """In the order of `targets.ALL` where the user named none."""
    if chosen.servers:
        return list(chosen.servers)
    compared = {targets.NAIVE, *(limit.server for limit in report.LIMITS)} if chosen.guard else set(targets.ALL)
    return [name for name in targets.ALL if name in compared]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two cases only, about a minute and a half")
    parser.add_argument("--matrix", action="store_true", help="every profile, batch, encoding and way of naming; hours")
    parser.add_argument("--guard", action="store_true", help="exit with 1 when a ratio is below its limit")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--servers", nargs="+", choices=targets.ALL, help="default: all; with --guard those that its limits compare"
    )
    parser.add_argument("--profile", choices=get_args(Profile))
    parser.add_argument("--batch", type=int, help="measure one case with this many spans per request")
    parser.add_argument("--ids", choices=get_args(Ids), help="measure one case in which these spans name the session")
    parser.add_argument("--gzip", action="store_true", help="measure one case with compressed requests")
    parser.add_argument("--rate", type=float, help="measure one case at this many spans a second")
    parser.add_argument("--spans", type=int, help="spans to send per server and round")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--in-flight", type=int, default=2, help="requests under way on each connection")
    parser.add_argument("--data-dir", type=Path, help="where journals go while it runs; must not be a tmpfs")
    parser.add_argument("--json", type=Path, help="write all samples and rows here")
    parser.add_argument("--markdown", type=Path, help="write the tables here too")
    return parser


def main() -> None:
    chosen = arguments().parse_args()
    with tempfile.TemporaryDirectory(prefix="spanjudge-bench-", dir=chosen.data_dir) as name:
        described = machine.describe(Path(name))
        machine.touch_memory(Path(name))
        try:
            samples = run(
                chosen_cases(chosen),
                chosen_servers(chosen),
                chosen.rounds,
                Path(name),
                (chosen.connections, chosen.in_flight),
            )
        except ServerFailed as failed:
            sys.exit(f"benchmarks: {failed}")
    table = report.rows(samples)
    text = "\n".join(f"- {key}: {value}" for key, value in described.items()) + "\n\n" + report.markdown(table)
    print(text)
    if chosen.markdown:
        chosen.markdown.write_text(text)
    if chosen.json:
        content = {
            "machine": described,
            "rows": [asdict(row) for row in table],
            "samples": [asdict(s) for s in samples],
        }
        chosen.json.write_text(json.dumps(content, indent=1) + "\n")
    found = report.failures(table, report.LIMITS if chosen.guard else ())
    for problem in found:
        print(f"benchmarks: {problem}", file=sys.stderr)
    if found:
        sys.exit(1)


if __name__ == "__main__":
    main()
