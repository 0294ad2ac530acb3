"""Shares over time as a drawing: places and words, which a template turns into SVG (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from collector.page.moments import utc

WIDTH, HEIGHT = 480, 120
LEFT, RIGHT, _TOP, _BOTTOM = 54, 10, 10, 22
MANY = 12
"""From so many on, one piece of time says something by itself; below, its dot is small."""


@dataclass(frozen=True, slots=True)
class Share:
    """`passed` of `of`; there is no share of nothing."""

    passed: int = 0
    of: int = 0

    @property
    def percent(self) -> float | None:
        return 100 * self.passed / self.of if self.of else None

    def and_(self, passed: int, of: int) -> Share:
        return Share(self.passed + passed, self.of + of)


@dataclass(frozen=True, slots=True)
class Series:
    """One share in each piece of time. `style` (0, 1, ...) tells lines apart by more than their colour."""

    name: str
    shares: Sequence[Share]
    style: int = 0


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Line:
    """`paths` are broken where there is no share."""

    name: str
    style: int
    paths: tuple[str, ...]
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Row:
    """`cells` are (share or "", count) for each series."""

    start: str
    cells: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """`words` say what can be seen; `rows` are all of it, without pieces of which there is nothing."""

    lines: tuple[Line, ...]
    levels: tuple[Tick, ...]
    moments: tuple[Tick, ...]
    words: str
    names: tuple[str, ...]
    rows: tuple[Row, ...]


def plot(series: Sequence[Series], since_ns: int, piece_ns: int) -> Plot:
    """All series have as many pieces. The height is always from 0 to 100 %: a drop looks as large as it is."""
    pieces = len(series[0].shares)
    starts = [utc(since_ns + at * piece_ns)[:16] for at in range(pieces)]
    rows = [
        Row(start, tuple((_percent(one.shares[at]), one.shares[at].of) for one in series))
        for at, start in enumerate(starts)
        if any(one.shares[at].of for one in series)
    ]
    moments = (Tick(_x(0, pieces), starts[0][5:]), Tick(_x(pieces - 1, pieces), starts[-1][5:]))
    return Plot(
        tuple(_line(one, pieces) for one in series),
        tuple(Tick(_y(level), f"{level:g} %") for level in (0, 50, 100)),
        moments,
        "; ".join(_words(one, starts) for one in series),
        tuple(one.name for one in series),
        tuple(rows),
    )


def _words(series: Series, starts: Sequence[str]) -> str:
    known = [(share, start) for share, start in zip(series.shares, starts, strict=True) if share.of]
    if not known:
        return f"{series.name}: nothing to show"
    lowest, at = min(known, key=lambda one: one[0].passed / one[0].of)
    last, end = known[-1]
    ending = f"{_percent(last)} of {last.of} at the end ({end})"
    return f"{series.name}: {ending}, lowest {_percent(lowest)} of {lowest.of} ({at})"


def _percent(share: Share) -> str:
    return "" if share.percent is None else f"{share.percent:.0f} %"


def _line(series: Series, pieces: int) -> Line:
    paths: list[list[str]] = [[]]
    dots: list[Dot] = []
    for at, share in enumerate(series.shares):
        if share.percent is None:
            paths.append([])
            continue
        x, y = _x(at, pieces), _y(share.percent)
        paths[-1].append(f"{x:g},{y:g}")
        dots.append(Dot(x, y, 3 if share.of >= MANY else 1.8))
    return Line(series.name, series.style, tuple(" ".join(path) for path in paths if len(path) > 1), tuple(dots))


def _x(at: int, pieces: int) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * (at + 0.5) / pieces, 1)


def _y(percent: float) -> float:
    return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - percent / 100), 1)
