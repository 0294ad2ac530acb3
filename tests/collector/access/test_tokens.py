"""The file of tokens: what it must say, what it never tells, and when it is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.access.tokens import Bearer, TokenFile, digest_of, new_token, read_tokens
from judge.documents import DocumentError
from tests.fakes.access import token, tokens_file


def written(directory: Path, *entries: Any) -> Path:
    file = directory / "tokens.yaml"
    file.write_text(yaml.safe_dump({"tokens": list(entries)}))
    return file


def test_a_token_stands_there_itself_or_as_its_hash(tmp_path: Path) -> None:
    made = new_token()
    file = written(
        tmp_path,
        {"name": "ana", "sha256": digest_of(made).hex(), "tenants": ["north", ""], "read_only": True},
        {"name": "bob", "token": token("bob")},
    )
    tokens = TokenFile(file)
    assert tokens.find(made) == Bearer("ana", frozenset({"north", ""}), True, digest_of(made))
    assert tokens.find(token("bob")) == Bearer("bob", None, False, digest_of(token("bob")))
    assert tokens.find(token("carl")) is None


def test_one_person_may_have_two_tokens_while_the_older_is_replaced(tmp_path: Path) -> None:
    file = written(tmp_path, {"name": "ana", "token": token("old")}, {"name": "ana", "token": token("new")})
    tokens = TokenFile(file)
    assert [one.digest for one in tokens.named("ana")] == [digest_of(token("old")), digest_of(token("new"))]
    assert tokens.named("bob") == ()


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"name": "ana"}, "either sha256 or token"),
        ({"name": "ana", "sha256": "0" * 64, "token": token("ana")}, "either sha256 or token"),
        ({"name": "ana", "sha256": "0" * 63}, "tokens[0].sha256"),
        ({"name": "ana", "token": "hunter2hunter2"}, "at least 32 characters"),
        ({"name": "", "token": token("ana")}, "tokens[0].name"),
        ({"name": "a\u202eb", "token": token("ana")}, "characters that can be seen"),
        ({"name": "ana", "token": token("ana"), "tenants": []}, "tokens[0].tenants"),
        ({"name": "ana", "token": token("ana"), "read-only": True}, "a list under `tokens`"),
        ({"name": "ana", "token": "two words " * 4}, "tokens[0].token: must be one line of ASCII characters"),
        ({"name": "ana", "token": "schlüssel" * 4}, "tokens[0].token: must be one line of ASCII characters"),
        ({"name": "ana", "token": token("ana"), "tenants": ["n" * 1025]}, "at most 1024"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_tokens(written(tmp_path, entry))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "tokens: [{name: ana, token: SECRET}]",
        "tokens: [{name: ana, sha256: SECRET}]",
        "tokens: [{name: ana, SECRET: yes}]",
        "tokens: [SECRET]",
        "tokens: {ana: SECRET}",
        "SECRET: ana",
        "SECRET",
        "tokens: *SECRET",
        "tokens: [{name: ana, token: SECRET",
        "tokens: !SECRET x",
        "SECRET: 1\nSECRET: 2",
        "tokens: [{name: ana, tenants: SECRET}]",
    ],
)
def test_no_message_repeats_what_stands_in_the_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens.yaml"
    file.write_text(text.replace("SECRET", "correct-horse"))
    with pytest.raises(DocumentError) as caught:
        read_tokens(file)
    assert "correct-horse" not in str(caught.value)


def test_tenants_without_a_value_do_not_open_all(tmp_path: Path) -> None:
    file = tmp_path / "tokens.yaml"
    entry = f"tokens:\n- name: ana\n  token: {token('ana')}\n"
    file.write_text(entry)
    assert read_tokens(file)[0].tenants is None
    for nothing in ("", "~", "null"):
        file.write_text(f"{entry}  tenants: {nothing}\n")
        with pytest.raises(DocumentError, match="tenants must be a list"):
            read_tokens(file)


def test_a_pipe_in_place_of_the_file_holds_nobody_up(tmp_path: Path) -> None:
    file = written(tmp_path, {"name": "ana", "token": token("ana")})
    tokens = TokenFile(file)
    file.unlink()
    os.mkfifo(file)
    assert tokens.find(token("ana")) is not None
    assert "not a regular file" in (tokens.problem() or "")


def test_a_token_twice_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="one token twice"):
        read_tokens(written(tmp_path, {"name": "ana", "token": token("x")}, {"name": "bob", "token": token("x")}))


def test_nothing_that_is_printed_shows_a_token_or_its_hash(tmp_path: Path) -> None:
    (one,) = read_tokens(written(tmp_path, {"name": "ana", "token": token("ana")}))
    assert token("ana") not in repr(one)
    assert one.digest.hex() not in repr(one)
    assert repr(one.digest) not in repr(one)


def test_a_file_that_cannot_be_read_is_a_problem_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        TokenFile(tmp_path / "absent.yaml")


def test_a_changed_file_is_in_force_at_once(tmp_path: Path) -> None:
    read: list[bool] = []
    tokens = TokenFile(tokens_file(tmp_path, ana={}), read.append)
    assert tokens.find(token("ana")) is not None
    replaced(tmp_path, bob={})
    assert tokens.find(token("ana")) is None
    assert tokens.find(token("bob")) is not None
    assert read == [True]


def test_a_file_that_went_bad_or_away_leaves_the_tokens_before(tmp_path: Path) -> None:
    read: list[bool] = []
    file = tokens_file(tmp_path, ana={})
    tokens = TokenFile(file, read.append)
    file.write_text("tokens: broken")
    assert tokens.find(token("ana")) is not None
    problem = tokens.problem()
    assert problem is not None
    assert "stay in force" in problem
    file.unlink()
    assert tokens.find(token("ana")) is not None
    assert "cannot be read" in str(tokens.problem())
    replaced(tmp_path, ana={})
    assert tokens.problem() is None
    assert read == [False, False, True]


def replaced(directory: Path, **people: Any) -> None:
    """As editors and Kubernetes do: another file takes the name."""
    aside = directory / "aside"
    aside.mkdir(exist_ok=True)
    tokens_file(aside, **people).replace(directory / "tokens.yaml")
