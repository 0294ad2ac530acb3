"""docs/metrics.md, made of what is declared (`python -m collector.metrics` prints it)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from collector.metric_bounds import Values, values_of
from collector.metric_labels import EXEMPLAR_CHARACTERS, MAX_HISTOGRAMS, MAX_LENGTH, MAX_SERIES, MAX_VALUES, OTHER


@dataclass(frozen=True, slots=True)
class Documented:
    """One metric. `buckets` are the upper bounds of a histogram's, but for the last, which has none."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str
    buckets: tuple[float, ...] = ()


def document(documented: Iterable[Documented]) -> str:
    """docs/metrics.md as text."""
    every = list(documented)
    return "\n".join((_HEAD, *_metrics(every), _LABELS_HEAD, *_labels(every), _BUCKETS_HEAD, *_buckets(every), ""))


def _metrics(documented: Sequence[Documented]) -> Iterator[str]:
    for metric in documented:
        labels = ", ".join(f"`{name}`" for name in metric.labels) or "none"
        yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.meaning} |"


def _labels(documented: Sequence[Documented]) -> Iterator[str]:
    found: dict[tuple[str, Values], list[str]] = {}
    for metric in documented:
        for label in metric.labels:
            found.setdefault((label, values_of(metric.name, label)), []).append(metric.name)
    for (label, values), names in sorted(found.items(), key=lambda item: (item[0][0], item[1])):
        alone = sum(one == label for one, _ in found) == 1
        every = "all that have it" if alone else "all others that have it"
        yield f"| `{label}` | {every if len(names) > 3 else ', '.join(f'`{name}`' for name in names)} | {values} |"


def _buckets(documented: Iterable[Documented]) -> Iterator[str]:
    for metric in documented:
        if metric.buckets:
            yield f"| `{metric.name}` | {', '.join(f'{bound:g}' for bound in metric.buckets)} |"


_HEAD = f"""# Metrics

<!-- Written by `python -m collector.metrics > docs/metrics.md`; a test compares the two. -->

Served at `/metrics` of the admin listener, beside the usual `process_*` metrics. Ask for OpenMetrics (Prometheus
does) to see exemplars: verdicts and scores carry `trace_id` and `session_id` where both fit in
{EXEMPLAR_CHARACTERS} characters; a session id with quotation marks, backslashes or line breaks is left out. Prometheus
keeps exemplars when started with `--enable-feature=exemplar-storage`.

An empty `service`, `skill` or `agent_version` means that none was recorded or that the verdict is not about a skill.

The books balance: received = stored + dropped, for spans and for records. Requests that are not OTLP hold no
countable items; they appear in `spanjudge_request_duration_seconds_count` with outcome `malformed` or `too_large`.

What evaluation processes do is counted by the one process that serves `/metrics`, once it is in the store: a process
that ends loses no count, and what is evaluated again is counted once. Replicas count each their own; sum over them.

| metric | type | labels | meaning |
|---|---|---|---|"""

_LABELS_HEAD = f"""
## Labels

Values that come from telemetry are cleaned of control characters, also of those that turn the direction of writing or
cannot be seen, and cut at {MAX_LENGTH} characters. The first {MAX_VALUES} values of a label are kept apart; later ones
are counted under `{OTHER}` until the next restart. Of the metrics of verdicts, of gates, of skills, and of pass rates
with baselines, {MAX_SERIES:,} combinations of labels are kept apart, of `spanjudge_score` {MAX_HISTOGRAMS:,}.
`spanjudge_label_overflow_total` counts what was folded. Session ids are in no label.

| label | of | values |
|---|---|---|"""

_BUCKETS_HEAD = """
## Buckets of histograms

Upper bounds, in the unit of the name; the last bucket has none.

| metric | upper bounds |
|---|---|"""
