import argparse
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import FULL, MATRIX, QUICK, arguments, chosen_cases, chosen_servers, order, pool_spans
from benchmarks.generate import Shape
from benchmarks.processes import MALLOC, Server, ServerFailed, server_env
from benchmarks.report import LIMITS, Case
from benchmarks.targets import ALL


def parsed(*words: str) -> argparse.Namespace:
    return arguments().parse_args(words)


def test_every_case_has_a_pool_that_divides() -> None:
    for case in (*QUICK, *FULL, *MATRIX):
        shape = Shape(case.profile, case.batch, pool_spans(case.batch), case.ids)
        assert shape.spans % shape.batch == 0


def test_the_quick_run_covers_every_limit_of_the_guard() -> None:
    assert {limit.profile for limit in LIMITS} <= {case.profile for case in QUICK}
    assert {limit.server for limit in LIMITS} <= set(ALL)


def test_no_server_always_runs_first() -> None:
    rounds = [order(ALL, number) for number in range(len(ALL))]
    assert all(sorted(each) == sorted(ALL) for each in rounds)
    assert len({each[0] for each in rounds}) > 1


def test_options_that_shape_the_load_measure_one_case() -> None:
    assert chosen_cases(parsed("--batch", "100", "--ids", "root", "--spans", "16000")) == [
        Case("rich", 100, ids="root", spans=16_000)
    ]
    assert chosen_cases(parsed("--quick", "--profile", "lean")) == [QUICK[1]]


def test_the_matrix_has_every_combination_once() -> None:
    assert chosen_cases(parsed("--matrix")) == list(MATRIX)
    combinations = {(case.profile, case.batch, case.gzip, case.ids) for case in MATRIX}
    assert len(combinations) == len(MATRIX) == 64


def test_a_guard_runs_only_what_it_compares_unless_told_otherwise() -> None:
    assert chosen_servers(parsed()) == list(ALL)
    assert chosen_servers(parsed("--guard")) == ["naive", "spanjudge 10 %"]
    assert chosen_servers(parsed("--guard", "--servers", "noop")) == ["noop"]


def test_every_server_gets_the_same_malloc_settings_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    env = server_env({})
    assert env.items() >= MALLOC.items()
    assert "ANTHROPIC_API_KEY" not in env


def test_a_server_that_ends_while_it_starts_is_reported_with_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such option')"]
    with pytest.raises(ServerFailed, match=r"did not become ready(.|\n)*no such option"):
        Server(command, tmp_path / "log", lambda log: "READY" in log).__enter__()


def test_cpu_of_a_server_is_read_while_it_runs_and_it_is_gone_afterwards(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import signal; print('READY', flush=True); signal.pause()"]
    with Server(command, tmp_path / "log", lambda log: "READY" in log) as server:
        assert server.cpu_s() > 0
        assert 0 < server.memory().anonymous <= server.memory().resident
    with pytest.raises(ServerFailed, match="is gone"):
        server.cpu_s()
