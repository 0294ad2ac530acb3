"""Did the product keep what it acknowledged? Its counters against what the client saw. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

RECEIVED, STORED, DROPPED = "spanjudge_spans_received_total", "spanjudge_spans_stored_total", "spanjudge_dropped_total"


@dataclass(frozen=True, slots=True)
class Books:
    """Spans, as the product counted them. `dropped` is by reason."""

    received: int
    stored: int
    dropped: Mapping[str, int]


def read(exposition: str) -> Books:
    """The counters of spans in a Prometheus text. Raises ValueError when one is missing."""
    single: dict[str, int] = {}
    dropped: dict[str, int] = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            if sample.name in {RECEIVED, STORED}:
                single[sample.name] = int(sample.value)
            elif sample.name == DROPPED and sample.labels.get("signal") == "traces":
                dropped[sample.labels["reason"]] = int(sample.value)
    if missing := {RECEIVED, STORED} - single.keys():
        raise ValueError(f"the product's metrics lack {', '.join(sorted(missing))}")
    return Books(single[RECEIVED], single[STORED], dropped)


def problems(books: Books, acked: int, rate: float, *, named_by_every_span: bool) -> list[str]:
    """What does not add up after `acked` acknowledged spans at sampling rate `rate`; empty when all does.

    Spans whose session is not yet known are stored whatever the rate, so the share that is stored says something
    only where every span names its session.
    """
    found = []
    sampled_out = books.dropped.get("sampled_out", 0)
    if books.received != books.stored + sum(books.dropped.values()):
        found.append(f"received {books.received} spans, stored {books.stored} and dropped {dict(books.dropped)}")
    if books.stored + sampled_out != acked:
        found.append(f"acknowledged {acked} spans, stored {books.stored} and sampled out {sampled_out}")
    share = books.stored / acked if acked else 0.0
    if named_by_every_span and abs(share - rate) > rate * (1 - rate) / 2:
        found.append(f"stored {share:.1%} of the spans at a sampling rate of {rate:.0%}")
    return found
