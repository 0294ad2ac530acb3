from dataclasses import replace

import pytest

from benchmarks.load import Latency, Outcome
from benchmarks.report import Case, Limit, Sample, failures, markdown, rows

RICH = Case("rich")
LIMIT = Limit("rich", "product", 2.0)


def sample(server: str, cpu_s: float, number: int = 0, case: Case = RICH, errors: int = 0) -> Sample:
    outcome = Outcome(
        acked_spans=1_000,
        acked_bytes=6_000_000,
        rejected_spans=0,
        unsent_spans=0,
        seconds=2.0,
        ack_ms=Latency(4.0, 9.0, 12.0),
        errors={"UNAVAILABLE": errors} if errors else {},
        retries=0,
        client_cpu_s=0.1,
    )
    return Sample(case, number, server, cpu_s, outcome, peak_resident=90_000_000, peak_anonymous=60_000_000)


def test_ratios_are_taken_within_a_round_so_that_a_slow_hour_changes_nothing() -> None:
    slow_hour = [sample("noop", 1, 1), sample("naive", 10, 1), sample("product", 2.5, 1)]
    table = rows([sample("noop", 0.1), sample("naive", 1.0), sample("product", 0.25), *slow_hour])
    product = table[2]
    assert product.times_naive == pytest.approx(4.0)
    assert product.share_of_noop == pytest.approx(0.4)


def test_a_ratio_is_unknown_when_the_other_server_did_not_run() -> None:
    (row,) = rows([sample("product", 0.25)])
    assert row.times_naive is None
    assert "| - | - |" in markdown([row])


def test_cases_do_not_mix() -> None:
    lean = Case("lean")
    table = rows([sample("naive", 1.0), sample("product", 0.5), sample("naive", 4.0, case=lean)])
    assert [(row.case, row.server, row.rounds) for row in table] == [
        (RICH, "naive", 1),
        (RICH, "product", 1),
        (lean, "naive", 1),
    ]
    assert table[1].times_naive == pytest.approx(2.0)


def test_throughput_is_that_of_acknowledged_spans() -> None:
    (row,) = rows([sample("product", 0.25)])
    assert (row.spans_per_cpu_s, row.spans_per_s, row.mb_per_s) == (4_000, 500, 3)


def test_the_guard_passes_at_the_limit_and_fails_below() -> None:
    assert failures(rows([sample("naive", 1.0), sample("product", 0.5)]), [LIMIT]) == []
    (problem,) = failures(rows([sample("naive", 1.0), sample("product", 0.8)]), [LIMIT])
    assert problem == "rich, batch 500: product took 1.2 times as many spans as naive, not 2"


def test_the_guard_fails_when_nothing_was_measured_against_a_limit() -> None:
    assert failures(rows([sample("product", 0.5)]), [LIMIT]) == ["rich: product was not measured beside naive"]


def test_failed_requests_and_unbalanced_books_fail_any_run() -> None:
    wrong = replace(sample("product", 0.5, errors=3), problems=("acknowledged 2 spans, stored 1",))
    assert failures(rows([wrong]), []) == [
        "rich, batch 500: product: 3 failed requests",
        "rich, batch 500: product: acknowledged 2 spans, stored 1",
    ]


def test_a_title_names_what_is_not_the_default() -> None:
    case = Case("lean", 100, gzip=True, ids="root", rate=25_000)
    assert case.title == "lean, batch 100, gzip, session id: root, 25,000 spans/s offered"


def test_one_table_per_case_with_one_line_per_server() -> None:
    text = markdown(rows([sample("noop", 0.1), sample("naive", 1.0), sample("naive", 4.0, case=Case("lean"))]))
    assert text.count("### ") == 2
    assert "| noop | 10,000 | 10.0 | 100% | 0% | 500 | 3 | 0.05 | 4.0 / 9.0 | 90 (60) | 0 |" in text
