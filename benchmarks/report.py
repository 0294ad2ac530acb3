"""Samples of one run to a table and to a pass or a fail. Pure.

Machines differ and one machine differs from hour to hour, so ratios are taken between servers within one round,
minutes apart, and the median over rounds is reported with its spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.load import Outcome
from benchmarks.sessions import Ids, Profile
from benchmarks.targets import NAIVE, NOOP


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of load. `rate` is spans a second offered, None for as fast as answers come."""

    profile: Profile
    batch: int = 500
    gzip: bool = False
    ids: Ids = "all"
    rate: float | None = None
    spans: int = 48_000

    @property
    def title(self) -> str:
        parts = [self.profile, f"batch {self.batch}"]
        parts += ["gzip"] if self.gzip else []
        parts += [f"session id: {self.ids}"] if self.ids != "all" else []
        parts += [f"{self.rate:,.0f} spans/s offered"] if self.rate is not None else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Sample:
    """One server under one case in one round. Memory in bytes; `disk_bytes` None where nothing is kept."""

    case: Case
    round: int
    server: str
    cpu_s: float
    outcome: Outcome
    peak_resident: int
    peak_anonymous: int
    disk_bytes: int | None = None
    problems: tuple[str, ...] = ()

    @property
    def spans_per_cpu_s(self) -> float:
        return self.outcome.acked_spans / self.cpu_s


@dataclass(frozen=True, slots=True)
class Row:
    """One server under one case, medians over rounds. Ratios are None where the other server did not run."""

    case: Case
    server: str
    rounds: int
    spans_per_cpu_s: float
    spread: float
    """(largest - smallest) / median of spans per CPU second"""
    times_naive: float | None
    share_of_noop: float | None
    spans_per_s: float
    mb_per_s: float
    cores: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    peak_resident_mb: float
    peak_anonymous_mb: float
    disk_mb: float | None
    errors: int
    retries: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """What a continuous-integration run holds us to, well below what is normally reached."""

    profile: Profile
    server: str
    times_naive: float


LIMITS = (Limit("rich", "spanjudge 10 %", 2.0), Limit("lean", "spanjudge 10 %", 2.5))


def rows(samples: Sequence[Sample]) -> list[Row]:
    """One row per case and server, in the order in which they first appear."""
    keys = dict.fromkeys((sample.case, sample.server) for sample in samples)
    return [_row([each for each in samples if (each.case, each.server) == key], samples) for key in keys]


def _row(own: Sequence[Sample], everything: Sequence[Sample]) -> Row:
    speeds = [sample.spans_per_cpu_s for sample in own]
    return Row(
        case=own[0].case,
        server=own[0].server,
        rounds=len(own),
        spans_per_cpu_s=median(speeds),
        spread=(max(speeds) - min(speeds)) / median(speeds) if median(speeds) else 0.0,
        times_naive=_ratio(own, everything, NAIVE),
        share_of_noop=_ratio(own, everything, NOOP),
        spans_per_s=median(sample.outcome.acked_spans / sample.outcome.seconds for sample in own),
        mb_per_s=median(sample.outcome.acked_bytes / sample.outcome.seconds / 1e6 for sample in own),
        cores=median(sample.cpu_s / sample.outcome.seconds for sample in own),
        p50_ms=_median(sample.outcome.ack_ms.p50 for sample in own),
        p99_ms=_median(sample.outcome.ack_ms.p99 for sample in own),
        max_ms=_median(sample.outcome.ack_ms.max for sample in own),
        peak_resident_mb=median(sample.peak_resident for sample in own) / 1e6,
        peak_anonymous_mb=median(sample.peak_anonymous for sample in own) / 1e6,
        disk_mb=None if own[0].disk_bytes is None else median(sample.disk_bytes or 0 for sample in own) / 1e6,
        errors=sum(sum(sample.outcome.errors.values()) for sample in own),
        retries=sum(sample.outcome.retries for sample in own),
        problems=tuple(problem for sample in own for problem in sample.problems),
    )


def _ratio(own: Sequence[Sample], everything: Sequence[Sample], other: str) -> float | None:
    others = {
        each.round: each.spans_per_cpu_s for each in everything if each.case == own[0].case and each.server == other
    }
    ratios = [sample.spans_per_cpu_s / others[sample.round] for sample in own if others.get(sample.round)]
    return median(ratios) if ratios else None


def _median(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return median(known) if known else float("nan")


HEADINGS = (
    "server",
    "spans / CPU s",
    "x naive",
    "of noop",
    "spread",
    "spans/s",
    "MB/s",
    "cores",
    "ack p50 / p99 ms",
    "peak MB (anonymous)",
    "errors",
)


def markdown(table: Sequence[Row]) -> str:
    """A heading and a table per case."""
    parts = []
    for case in dict.fromkeys(row.case for row in table):
        lines = [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
        lines += [_line(_cells(row)) for row in table if row.case == case]
        parts.append(f"### {case.title[0].upper() + case.title[1:]}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(row: Row) -> list[str]:
    return [
        row.server,
        f"{row.spans_per_cpu_s:,.0f}",
        "-" if row.times_naive is None else f"{row.times_naive:.1f}",
        "-" if row.share_of_noop is None else f"{row.share_of_noop:.0%}",
        f"{row.spread:.0%}",
        f"{row.spans_per_s:,.0f}",
        f"{row.mb_per_s:,.0f}",
        f"{row.cores:.2f}",
        f"{row.p50_ms:.1f} / {row.p99_ms:.1f}",
        f"{row.peak_resident_mb:,.0f} ({row.peak_anonymous_mb:,.0f})",
        str(row.errors),
    ]


def failures(table: Sequence[Row], limits: Sequence[Limit] = LIMITS) -> list[str]:
    """What is wrong with a run, for a guard: errors, books that do not balance, ratios below a limit, and limits
    that nothing was measured against."""
    found = [f"{row.case.title}: {row.server}: {row.errors} failed requests" for row in table if row.errors]
    found += [f"{row.case.title}: {row.server}: {problem}" for row in table for problem in row.problems]
    for limit in limits:
        measured = [row for row in table if (row.case.profile, row.server) == (limit.profile, limit.server)]
        ratios = [(row, row.times_naive) for row in measured if row.times_naive is not None]
        if not ratios:
            found.append(f"{limit.profile}: {limit.server} was not measured beside {NAIVE}")
        found += [
            f"{row.case.title}: {row.server} took {ratio:.1f} times as many spans as {NAIVE}, not {limit.times_naive:g}"
            for row, ratio in ratios
            if ratio < limit.times_naive
        ]
    return found
