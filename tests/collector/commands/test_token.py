"""A new token, and its entry."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from collector.access.tokens import TokenFile
from collector.cli import app


def test_the_entry_makes_the_token_good(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["token", "ana: b", "--tenant", "north", "--tenant", "", "--read-only"])
    assert made.exit_code == 0
    token = made.stderr.split()[-1]
    file = tmp_path / "tokens.yaml"
    file.write_text(f"tokens:\n{made.stdout}{CliRunner().invoke(app, ['token', 'bob']).stdout}")
    tokens = TokenFile(file)
    found = tokens.find(token)
    assert found is not None
    assert (found.name, found.tenants, found.read_only) == ("ana: b", frozenset({"north", ""}), True)
    (bob,) = tokens.named("bob")
    assert (bob.tenants, bob.read_only) == (None, False)


def test_the_token_itself_is_not_in_what_goes_to_the_file() -> None:
    made = CliRunner().invoke(app, ["token", "ana"])
    assert made.stderr.split()[-1] not in made.stdout
    assert len(made.stderr.split()[-1]) > 40


def test_no_two_tokens_are_the_same() -> None:
    assert len({CliRunner().invoke(app, ["token", "ana"]).stderr for _ in range(3)}) == 3


def test_a_name_that_cannot_be_seen_is_refused() -> None:
    made = CliRunner().invoke(app, ["token", " "])
    assert made.exit_code != 0
    assert "name" in made.stderr
    assert "sha256" not in made.stdout
