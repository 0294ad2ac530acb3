"""What dashboards are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["timeseries", "stat", "table", "heatmap"]
Color: TypeAlias = Literal["green", "yellow", "orange", "red", "blue", "text"]


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL. `exemplars` only where the metric has them; `dashed` for the ends of an interval. `name` heads the column
    of a table, `unit` is that column's."""

    expr: str
    legend: str = ""
    exemplars: bool = False
    dashed: bool = False
    name: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    title: str
    url: str


Thresholds: TypeAlias = Sequence[tuple[float | None, Color]]
"""(from this value on, color), ascending; the first value is None."""


@dataclass(frozen=True, slots=True)
class Panel:
    """`description` says what it means and what to do. `no_value` is shown where the query finds nothing."""

    title: str
    description: str
    queries: Sequence[Query]
    unit: str = "short"
    kind: Kind = "timeseries"
    width: int = 8
    height: int = 8
    thresholds: Thresholds = ()
    links: Sequence[Link] = ()
    stacked: bool = False
    most: float | None = None
    least: float | None = 0
    decimals: int | None = None
    no_value: str = "no data"


def stat(
    title: str,
    description: str,
    expr: str,
    *,
    width: int,
    unit: str = "short",
    thresholds: Thresholds = (),
    links: Sequence[Link] = (),
    decimals: int | None = None,
) -> Panel:
    """One number."""
    return Panel(
        title,
        description,
        [Query(expr)],
        unit=unit,
        kind="stat",
        width=width,
        height=4,
        thresholds=thresholds,
        links=links,
        decimals=decimals,
    )


@dataclass(frozen=True, slots=True)
class Row:
    """`folded` rows show their panels when opened; they cost no queries before."""

    title: str
    panels: Sequence[Panel]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice above the dashboard, of the values that a label has. `any_value` lets "All" stand for every value, also
    the empty one, without listing them."""

    name: str
    label: str
    metric: str
    description: str
    any_value: bool = True


@dataclass(frozen=True, slots=True)
class Mark:
    """An annotation: a moment to see in every graph. `title` and `text` may name labels, `{{like_this}}`. With
    `at_value` the moment is the value itself, in milliseconds."""

    name: str
    expr: str
    title: str
    text: str
    color: Color
    at_value: bool = False


@dataclass(frozen=True, slots=True)
class Dashboard:
    uid: str
    title: str
    description: str
    variables: Sequence[Variable]
    rows: Sequence[Row]
    marks: Sequence[Mark]
    since: str = "now-6h"
