"""The API of the running product under schemathesis, which makes requests of its contract, sound and broken ones: no
answer is a mistake of ours, and every answer is as the contract says."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collector.store.sqlite import SqliteStore
from extractors.spans import Value
from judge.verdict import Score
from tests.end_to_end.server import Server
from tests.fakes.access import token, tokens_file
from tests.fakes.verdicts import NOW_NS, closed, judged, pending
from tests.judge.trajectories import call

CONTRACT = Path(__file__).parents[2] / "docs" / "openapi.json"
SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"

# A name with characters that cannot be seen, and the label of another evaluator, are refused by rules that a schema
# cannot say; that there is no such verdict is no surprise.
_EXPECTED = """
[[operations]]
include-operation-id = "add_label"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "404", "422"]
"""


async def _fill(store: SqliteStore) -> None:
    for tenant in ("", "north"):
        for number in range(3):
            name = f"s-{number} {tenant}"
            session = closed(name, tenant=tenant, closed_ns=NOW_NS + number)
            assert session.trajectory is not None
            odd: dict[str, Value] = {
                "text": "\ud800 \u202e <b>",
                "list": [1, 2.5, None, True, {"a": []}],
                "bytes": b"\x00\xff",
                "nan": float("nan"),
            }
            session = replace(session, trajectory=replace(session.trajectory, tool_calls=(call("look", odd),)))
            verdicts = [judged(name, tenant=tenant, outcome=Score(0.0, "No", "It does not."))]
            await store.finish(session, verdicts, [pending(name)] if not tenant else [], [])
    await store.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("fuzzed")
    (directory / "data").mkdir()
    asyncio.run(_fill(SqliteStore.open(directory / "data" / "verdicts.sqlite3")))
    tokens_file(directory, ana={})
    return directory


def _server(directory: Path, **config: Any) -> Server:
    return Server(directory, retention={"days": 36_500}, **config)


def _fuzz(server: Server, phases: str, examples: int, *options: str) -> set[int]:
    """The statuses that came. Fails where schemathesis finds something wrong."""
    (server.directory / "expected.toml").write_text(_EXPECTED)
    found = subprocess.run(
        [
            *(SCHEMATHESIS, "--config-file", "expected.toml", "run", CONTRACT, "--url", server.admin),
            *("--checks", "all", "--phases", phases, "--max-examples", str(examples), "--max-failures", "5"),
            *("--seed", "20260101", "--generation-deterministic", "--no-shrink"),
            *("--no-color", "--warnings", "off", "--report-har-path", "asked.har"),
            *options,
        ],
        cwd=server.directory,
        env={**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert found.returncode == 0, f"{found.stdout}\n{found.stderr}\n{server.output()[-4000:]}"
    assert "Traceback" not in server.output()
    assert server.readyz() == 200
    asked = json.loads((server.directory / "asked.har").read_text(encoding="utf-8"))["log"]["entries"]
    return {one["response"]["status"] for one in asked}


@pytest.mark.timeout(240)
def test_who_is_signed_in_is_answered_as_the_contract_says(filled: Path) -> None:
    with _server(filled, access={"tokens_file": "tokens.yaml"}) as server:
        bearer = f"Authorization: Bearer {token('ana')}"
        statuses = _fuzz(server, "coverage,fuzzing,stateful", 10, "--header", bearer)
        assert {200, 201, 404, 405, 415, 422} <= statuses
        assert not {status for status in statuses if status >= 500}


@pytest.mark.timeout(240)
def test_who_is_not_signed_in_learns_nothing(filled: Path) -> None:
    with _server(filled, access={"tokens_file": "tokens.yaml"}) as server:
        assert _fuzz(server, "coverage", 5) <= {401, 429}
        assert server.metric("access_refused_total", reason="no_credentials") > 50


@pytest.mark.timeout(240)
def test_where_nobody_has_to_sign_in_answers_are_the_same(filled: Path) -> None:
    with _server(filled) as server:
        assert {200, 404, 422} <= _fuzz(server, "fuzzing", 10)
