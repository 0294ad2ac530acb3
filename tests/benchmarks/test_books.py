import pytest
from prometheus_client import generate_latest

from benchmarks.books import Books, problems, read
from collector.metrics import Metrics


def test_counters_are_read_from_what_the_product_exposes() -> None:
    metrics = Metrics()
    metrics.received("traces", 100)
    metrics.stored("traces", 12)
    metrics.dropped("traces", "sampled_out", 88)
    metrics.dropped("logs", "sampled_out", 5)
    found = read(generate_latest(metrics.registry).decode())
    assert (found.received, found.stored, found.dropped["sampled_out"]) == (100, 12, 88)


def test_a_missing_counter_is_an_error_and_not_a_zero() -> None:
    with pytest.raises(ValueError, match="lack spanjudge_spans_received_total, spanjudge_spans_stored_total"):
        read("# nothing here\n")


def test_balanced_books_have_no_problems() -> None:
    books = Books(received=1_050, stored=110, dropped={"sampled_out": 890, "refused": 50})
    assert problems(books, 1_000, 0.1, named_by_every_span=True) == []


def test_an_acknowledged_span_that_is_nowhere_is_a_problem() -> None:
    books = Books(received=1_000, stored=990, dropped={"sampled_out": 0})
    assert problems(books, 1_000, 1.0, named_by_every_span=False) == [
        "received 1000 spans, stored 990 and dropped {'sampled_out': 0}",
        "acknowledged 1000 spans, stored 990 and sampled out 0",
    ]


def test_sampling_out_nearly_everything_is_a_problem_where_every_span_names_its_session() -> None:
    books = Books(received=1_000, stored=10, dropped={"sampled_out": 990})
    assert problems(books, 1_000, 0.1, named_by_every_span=True) == [
        "stored 1.0% of the spans at a sampling rate of 10%"
    ]
    assert problems(books, 1_000, 0.1, named_by_every_span=False) == []
