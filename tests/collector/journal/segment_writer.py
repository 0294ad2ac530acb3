"""Owns a journal directory in a process of its own, and does to it what lines on standard input say: `start ROW`,
`append ROW BEFORE`, `drop ROW`. Answers each with a line."""

from __future__ import annotations

import sys
from pathlib import Path

from collector.journal.segments import Segments
from tests.collector.journal.rows import row


def main(directory: Path) -> None:
    segments = Segments(directory, 1024**2)
    for line in sys.stdin:
        what, *numbers = line.split()
        match what, [int(number) for number in numbers]:
            case "start", [first]:
                segments.start(first, now_ms=0)
            case "append", [number, before]:
                segments.append([row(number, before)])
            case "drop", [number]:
                segments.drop_before(number)
            case _:
                raise ValueError(line)
        print("done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
