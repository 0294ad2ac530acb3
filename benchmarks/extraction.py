"""How long it takes to read a session: stored bytes to `Session` to `Trajectory`.

python -m benchmarks.extraction            # a minute
python -m benchmarks.extraction --guard    # exits with 1 above the limits
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from benchmarks import sessions
from benchmarks.hostile import LONGER, PATTERNS, exponent, hostile, size_of
from benchmarks.processes import MALLOC
from benchmarks.prose import Prose
from collector.otlp.decode import decode_session
from collector.otlp.otlp_json import Signal, to_protobuf
from extractors import registry
from extractors.spans import Session
from tests.extractors.fixtures import scenarios
from tests.extractors.fixtures import session as fixture

SESSIONS: Final = 40
ROUNDS: Final = 15
SHORT: Final = 6_000
"""Characters of the shorter hostile text."""

MOST_MS: Final = 3.0
"""Guard: of a rich session. Far above what is normally reached, since machines differ."""
MOST_EXPONENT: Final = 1.4
"""Guard: well below quadratic. Short runs are noisy."""

HOSTILE: Final = (
    "agent_framework/two-skills-two-turns",
    "claude_agent_sdk/skill-then-tools",
    "claude_code/skill-then-tools-raw-bodies",
    "claude_code/unknown-skill-detailed",
    "codex/skill-then-tool",
    "deepagents/skill-then-tool",
    "gemini_cli/skill-then-tool",
    "google_adk/schema-1",
    "google_adk/schema-2-spans",
    "langchain/skill-then-tool",
    "langchain_traceloop/two-turns",
    "openai_agents/skill-then-tool",
    "openhands/skill-then-tools",
    "pydantic_ai/two-turns",
    "smolagents/skill-then-tool",
    "strands/two-turns",
    "genai/log-events-per-message",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of session. Times in milliseconds, medians."""

    what: str
    items: float
    kilobytes: float
    decode_ms: float
    extract_ms: float

    @property
    def total_ms(self) -> float:
        return self.decode_ms + self.extract_ms


@dataclass(frozen=True, slots=True)
class Growth:
    """How reading a session of one harness grows with the length of one hostile text."""

    harness: str
    pattern: str
    exponent: float
    nanoseconds_a_character: float


def rich_session(number: int) -> list[bytes]:
    """20 rich spans, as the journal holds them: one row for each trace."""
    chance = Random(number)
    who = sessions.identity(number, "all", [b"%08d" % number] * sessions.SPANS_PER_SESSION)
    spans = sessions.build(who, "rich", chance, Prose(chance))
    rows = []
    for start in range(0, len(spans), len(sessions.TURN)):
        row = TracesData()
        group = row.resource_spans.add(resource=sessions.resource(who.service))
        inner = group.scope_spans.add(scope=sessions.scope())
        inner.spans.extend(spans[start : start + len(sessions.TURN)])
        rows.append(row.SerializeToString())
    return rows


def seconds(run: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """What each of so many runs took."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return took


def measured(what: str, stored: Sequence[tuple[Sequence[bytes], Sequence[bytes]]], rounds: int = ROUNDS) -> Row:
    """Medians over all sessions and rounds. `stored` are rows of traces and rows of logs."""
    decoding, extracting, items = [], [], 0
    for traces, logs in stored:
        session = decode_session("s", traces, logs)
        registry.extract(session)
        items += len(session.spans) + len(session.records)
        decoding += seconds(partial(decode_session, "s", traces, logs), rounds)
        extracting += seconds(partial(registry.extract, session), rounds)
    size = sum(len(row) for traces, logs in stored for row in (*traces, *logs))
    return Row(what, items / len(stored), size / len(stored) / 1e3, median(decoding) * 1e3, median(extracting) * 1e3)


def by_harness(rounds: int = ROUNDS) -> Iterator[Row]:
    """The fixtures of each harness."""
    groups: dict[str, list[tuple[Sequence[bytes], Sequence[bytes]]]] = {}
    for scenario in scenarios():
        stored = (_rows(scenario.glob("traces-*.json"), "traces"), _rows(scenario.glob("logs-*.json"), "logs"))
        groups.setdefault(registry.extract(decode_session("s", *stored)).harness, []).append(stored)
    return (measured(harness, stored, rounds) for harness, stored in sorted(groups.items()))


def _rows(files: Iterable[Path], signal: Signal) -> list[bytes]:
    return [to_protobuf(file.read_bytes(), signal).payload for file in sorted(files)]


def growths(names: Iterable[str] = HOSTILE) -> Iterator[Growth]:
    """Every pattern in a session of every harness. What seems to grow too fast is measured again: other work on the
    machine looks the same once, and rarely twice."""
    for name in names:
        for pattern in PATTERNS:
            found = _growth(name, pattern)
            again = _growth(name, pattern) if found.exponent > MOST_EXPONENT else found
            yield min(found, again, key=lambda one: one.exponent)


def _growth(name: str, pattern: str) -> Growth:
    source, text = fixture(name), PATTERNS[pattern]
    short, long = (_reading(hostile(source, text(size))) for size in (SHORT, LONGER * SHORT))
    return Growth(name.partition("/")[0], pattern, exponent(short, long), long[1] / long[0] * 1e9)


def _reading(session: Session) -> tuple[int, float]:
    return size_of(session), min(seconds(lambda: registry.extract(session), 5))


def table(rows: Iterable[Row]) -> str:
    """Markdown."""
    lines = ["| session | spans and records | KB | decode ms | extract ms | together ms |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.items:.0f} | {row.kilobytes:.0f} | {row.decode_ms:.2f} | {row.extract_ms:.2f} "
        f"| {row.total_ms:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)


def growth_table(found: Sequence[Growth]) -> str:
    """Markdown: of each pattern the harness with which time grows fastest, and the slowest of all."""
    lines = ["| pattern | worst exponent | with | slowest ns a character |", "|---|---|---|---|"]
    for pattern in dict.fromkeys(one.pattern for one in found):
        own = [one for one in found if one.pattern == pattern]
        worst = max(own, key=lambda one: one.exponent)
        slowest = max(one.nanoseconds_a_character for one in own)
        lines.append(f"| {pattern} | {worst.exponent:.2f} | {worst.harness} | {slowest:.0f} |")
    return "\n".join(lines)


def main() -> int:
    """Print both tables; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.extraction", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--guard", action="store_true", help="exit with 1 above the limits")
    guard = parser.parse_args().guard
    if os.environ.items() >= MALLOC.items() or sys.platform != "linux":
        gc.collect()
        gc.freeze()  # as the product does once it has started
    else:  # the allocator reads its settings, which are the product's, only when a process starts
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.extraction", *sys.argv[1:]], os.environ | MALLOC)
    rich = measured("rich", [(rich_session(number), ()) for number in range(SESSIONS)])
    print(table([rich, *by_harness()]), flush=True)
    grown = list(growths())
    print(f"\n{growth_table(grown)}")
    over = [one for one in grown if one.exponent > MOST_EXPONENT]
    for one in over:
        print(f"grows with the power {one.exponent:.2f}: {one.pattern} with {one.harness}", file=sys.stderr)
    if rich.total_ms > MOST_MS:
        print(f"a rich session takes {rich.total_ms:.2f} ms, more than {MOST_MS}", file=sys.stderr)
    return int(guard and bool(over or rich.total_ms > MOST_MS))


if __name__ == "__main__":
    sys.exit(main())
