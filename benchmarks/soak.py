"""Half an hour of sessions that come and go: `python -m benchmarks.soak`. Do memory and disk stay flat?

An open loop of made-up sessions at a constant rate; sessions close, are judged, linger for the late window, and are
deleted from the store when their retention is over, all within minutes. Every few seconds: memory of the process tree
(anonymous, so without the journal's mapped pages), size of the journal and of the verdict store, open sessions,
closings that wait, and how long `/readyz` took, which shows what holds the event loop (the garbage collector, too).

The first third fills everything up. Over the rest a straight line is laid through each figure (least squares);
`drift` is its change from begin to end, as a share of its middle. The run fails when a drift is above the limit, a
request failed for good, or the books do not balance.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import linear_regression, mean

from prometheus_client.parser import text_string_to_metric_families

from benchmarks import books, machine, targets
from benchmarks.generate import Shape, write_pool
from benchmarks.processes import Server, ServerFailed

IDLE_S, LATE_S, KEEP_S = 20.0, 60.0, 240.0
MOST_DRIFT = 0.15
"""Of memory; the store's file keeps its size when rows are deleted, and the journal goes in steps of a segment."""
MOST_DISK_DRIFT = 0.35


@dataclass(frozen=True, slots=True)
class Moment:
    """What was seen `at_s` seconds after the start. Memory and disk in MB."""

    at_s: float
    anonymous_mb: float
    resident_mb: float
    journal_mb: float
    store_mb: float
    open_sessions: float
    ready_ms: float


def drift(moments: Sequence[Moment], figure: str) -> float:
    """Change of a figure over the last two thirds, as a share of its mean there; 0 where it is nothing throughout."""
    rest = moments[len(moments) // 3 :]
    values = [float(getattr(moment, figure)) for moment in rest]
    middle = mean(values)
    if middle == 0 or len(rest) < 2:
        return 0.0
    slope = linear_regression([moment.at_s for moment in rest], values).slope
    return slope * (rest[-1].at_s - rest[0].at_s) / middle


def look(server: Server, data: Path, admin: str, began: float) -> Moment:
    memory = server.memory()
    asked = time.perf_counter()
    with urllib.request.urlopen(f"{admin}/readyz", timeout=30):
        pass
    ready_ms = (time.perf_counter() - asked) * 1000
    with urllib.request.urlopen(f"{admin}/metrics", timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    opened = sum(
        sample.value for family in families for sample in family.samples if sample.name == "spanjudge_sessions_open"
    )
    return Moment(
        round(time.monotonic() - began, 1),
        memory.anonymous / 1e6,
        memory.resident / 1e6,
        _size(data / "journal") / 1e6,
        sum(file.stat().st_size for file in data.glob("verdicts.sqlite3*")) / 1e6,
        opened,
        ready_ms,
    )


def _size(directory: Path) -> int:
    """Bytes on disk. Segments go while we look."""
    total = 0
    for file in directory.rglob("*"):
        try:
            total += file.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total


def run(
    directory: Path, minutes: float, rate: float, sampling: float, every_s: float
) -> tuple[list[Moment], list[str]]:
    """The moments, and what went wrong."""
    port, admin = targets.free_port(), targets.free_port()
    settings = {
        "data_dir": str(directory / "data"),
        "receivers": {"grpc": {"listen": f"127.0.0.1:{port}"}, "http": {"listen": "127.0.0.1:0", "enabled": False}},
        "admin": {"listen": f"127.0.0.1:{admin}"},
        "sessions": {"idle_seconds": IDLE_S, "late_window_seconds": LATE_S},
        "sampling": {"rate": sampling},
        "journal": {"segment_bytes": 64 * 1024**2, "segment_seconds": 30},
        "retention": {"days": KEEP_S / 86_400},
    }
    config = directory / "spanjudge.yaml"
    config.write_text(json.dumps(settings))
    pool = directory / "pool"
    write_pool(pool, Shape("rich", batch=100, spans=16_000))
    url = f"http://127.0.0.1:{admin}"
    client = [sys.executable, "-m", "benchmarks.load", "--pool", str(pool), "--target", f"127.0.0.1:{port}"]
    client += ["--rate", str(rate), "--spans", str(int(rate * minutes * 60)), "--seconds", str(minutes * 60)]
    server = Server(
        [str(targets.PRODUCT), "run", "--config", str(config)],
        directory / "log",
        lambda _: targets.answers(f"{url}/readyz"),
    )
    moments: list[Moment] = []
    with server:
        began = time.monotonic()
        load = subprocess.Popen(client, stdout=subprocess.PIPE, text=True)
        try:
            while load.poll() is None:
                moments.append(look(server, directory / "data", url, began))
                print(", ".join(f"{each.name} {getattr(moments[-1], each.name):,.1f}" for each in fields(Moment)))
                sys.stdout.flush()
                time.sleep(every_s)
            outcome = json.loads(load.communicate()[0])
        finally:
            load.kill()
            load.wait()
        with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
            kept = books.read(answer.read().decode())
        problems = books.problems(kept, outcome["acked_spans"], sampling, named_by_every_span=True)
    return moments, [*problems, *(f"{count} requests failed: {code}" for code, count in outcome["errors"].items())]


def too_far(moments: Sequence[Moment]) -> list[str]:
    limits = {"anonymous_mb": MOST_DRIFT, "journal_mb": MOST_DISK_DRIFT, "store_mb": MOST_DISK_DRIFT}
    limits["open_sessions"] = MOST_DRIFT
    return [
        f"{figure} changed by {change:+.0%} over the last two thirds, {limit:.0%} allowed"
        for figure, limit in limits.items()
        if (change := drift(moments, figure)) > limit
    ]


def markdown(moments: Sequence[Moment]) -> str:
    lines = ["| figure | at a third | at the end | largest | drift |", "| --- | --- | --- | --- | --- |"]
    third = moments[len(moments) // 3]
    for each in fields(Moment)[1:]:
        values = [getattr(moment, each.name) for moment in moments]
        cells = [getattr(third, each.name), values[-1], max(values)]
        numbers = " | ".join(f"{value:,.1f}" for value in cells)
        lines.append(f"| {each.name} | {numbers} | {drift(moments, each.name):+.1%} |")
    return "\n".join(lines) + "\n"


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=2_000, help="rich spans a second")
    parser.add_argument("--sampling", type=float, default=0.5)
    parser.add_argument("--every", type=float, default=10, help="seconds between two looks")
    parser.add_argument("--data-dir", type=Path, help="where the journal and the verdicts go while it runs")
    parser.add_argument("--json", type=Path, help="write every moment here")
    return parser


def main() -> None:
    chosen = arguments().parse_args()
    with tempfile.TemporaryDirectory(prefix="spanjudge-soak-", dir=chosen.data_dir) as name:
        print("\n".join(f"- {key}: {value}" for key, value in machine.describe(Path(name)).items()))
        try:
            moments, problems = run(Path(name), chosen.minutes, chosen.rate, chosen.sampling, chosen.every)
        except ServerFailed as failed:
            sys.exit(f"benchmarks.soak: {failed}")
    print(f"\n{chosen.rate:,.0f} rich spans a second for {chosen.minutes:g} minutes, {chosen.sampling:.0%} sampled\n")
    print(markdown(moments))
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(moment) for moment in moments], indent=1) + "\n")
    problems += too_far(moments)
    for problem in problems:
        print(f"benchmarks.soak: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)


if __name__ == "__main__":
    main()
