"""The configuration file complains in one go, in the user's words, and its paths are taken from where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from collector.config import Config, load_config
from judge.documents import DocumentError


def _load(directory: Path, text: str, environment: Mapping[str, str] | None = None) -> Config:
    file = directory / "spanjudge.yaml"
    file.write_text(text)
    return load_config(file, environment or {})


def _problems(directory: Path, text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        _load(directory, text)
    return [str(problem).removeprefix(f"{directory}/") for problem in caught.value.problems]


def test_a_file_that_sets_nothing_means_the_defaults(tmp_path: Path) -> None:
    assert _load(tmp_path, "{}") == Config(data_dir=tmp_path / "data")


@pytest.mark.parametrize("text", ["", "\n  \n"])
def test_an_empty_file_is_a_problem_because_it_may_be_half_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "spanjudge.yaml").write_text(text)
    with pytest.raises(DocumentError, match="the file is empty"):
        load_config(tmp_path / "spanjudge.yaml", {})


def test_paths_are_taken_from_where_the_file_stands(tmp_path: Path) -> None:
    config = _load(tmp_path, "data_dir: here\nsuites: ['suites/*.yaml']\n")
    assert config.data_dir == tmp_path / "here"
    assert config.suites == (f"{tmp_path}/suites/*.yaml",)


def test_an_absolute_path_stays(tmp_path: Path) -> None:
    assert _load(tmp_path, "data_dir: /var/lib/spanjudge\n").data_dir == Path("/var/lib/spanjudge")


def test_every_problem_is_told_at_once_with_line_and_key(tmp_path: Path) -> None:
    text = "sessions:\n  idle_secnds: 3\nsampling:\n  rate: 2\nlog:\n  level: loud\n"
    problems = _problems(tmp_path, text)
    assert [problem.split(": ")[0] for problem in problems] == [f"spanjudge.yaml:{line}" for line in (2, 4, 6)]
    assert [problem.split(": ")[1] for problem in problems] == ["sessions.idle_secnds", "sampling.rate", "log.level"]


def test_an_age_below_the_idle_time_is_told_in_the_users_words(tmp_path: Path) -> None:
    (problem,) = _problems(tmp_path, "sessions:\n  max_age_seconds: 10\n")
    assert "max_age_seconds (10) must be at least idle_seconds (300)" in problem
    (problem,) = _problems(tmp_path, "sessions:\n  rules: [{service: desk-*, idle_seconds: 20000}]\n")
    assert "for 'desk-*' max_age_seconds (14400) must be at least idle_seconds (20000)" in problem


def test_values_may_come_from_the_environment(tmp_path: Path) -> None:
    text = "judge:\n  api_key: ${env:KEY}\n  model: ${env:MODEL:-small}\n"
    config = _load(tmp_path, text, {"KEY": "secret"})
    assert config.judge.api_key is not None
    assert config.judge.api_key.get_secret_value() == "secret"
    assert config.judge.model == "small"


def test_a_key_is_never_printed(tmp_path: Path) -> None:
    config = _load(tmp_path, "judge:\n  api_key: very-secret\nexport:\n  otlp:\n    endpoint: http://c:4317\n")
    assert "very-secret" not in repr(config)
    assert "very-secret" not in config.model_dump_json()


def test_a_missing_file_is_a_problem_like_any_other(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        load_config(tmp_path / "none.yaml", {})


@pytest.mark.parametrize(
    "listen", ["nowhere", "4317", ":4317", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:http", "a:-1"]
)
def test_what_is_no_address_with_a_port_is_told_with_its_line(tmp_path: Path, listen: str) -> None:
    (problem,) = _problems(tmp_path, f"receivers:\n  grpc:\n    listen: '{listen}'\n")
    assert problem.startswith("spanjudge.yaml:3: receivers.grpc")
    assert "address:port" in problem


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "0.0.0.0:65535", "[::1]:4317", "localhost:4317"])
def test_an_address_with_a_port_is_good(tmp_path: Path, listen: str) -> None:
    assert _load(tmp_path, f"admin:\n  listen: '{listen}'\n").admin.listen == listen


@pytest.mark.parametrize(
    "url", ["mysql://h/d", "postgresql://user:secret@host", "host/database", "postgresql://u@h:port/d"]
)
def test_what_names_no_postgresql_is_told_without_its_password(tmp_path: Path, url: str) -> None:
    (problem,) = _problems(tmp_path, f"store:\n  url: {url}\n")
    assert "spanjudge.yaml:2" in problem
    assert "must be postgresql://user:password@host:port/database" in problem
    assert "secret" not in problem


def test_a_lease_outlives_an_asking_where_replicas_share_a_store(tmp_path: Path) -> None:
    _load(tmp_path, "judge:\n  timeout_seconds: 700\n")
    shared = "store:\n  url: postgresql://u@h/d\njudge:\n  timeout_seconds: 700\n"
    (problem,) = _problems(tmp_path, shared)
    assert "store.lease_seconds (600) must be more than judge.timeout_seconds (700)" in problem
