"""Documents: every problem at once, each where a person finds it."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from judge.documents import DocumentError, Problem, parse_document


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    limit: int = Field(1, gt=0)
    mode: Literal["fast", "slow"] = "fast"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = ""
    ratio: Annotated[float, Field(ge=0, le=1)] = 1.0
    enabled: bool = False
    token: SecretStr | None = None
    colour: str = "red"
    parts: tuple[_Part, ...] = ()
    named: dict[str, _Part] = Field(default_factory=dict)
    one: _Part | None = None
    either: bool | int | None = None
    short: Annotated[str, Field(pattern="^[a-z]+$")] = "a"
    few: tuple[Annotated[str, Field(min_length=1)], ...] = Field(("a",), min_length=1)

    @field_validator("colour")
    @classmethod
    def _known_colour(cls, value: str) -> str:
        if value not in {"red", "blue"}:
            raise ValueError(f"no such colour: {value}")
        return value


def _parse(text: str, environment: dict[str, str] | None = None) -> _Document:
    return parse_document(text, "some.yaml", _Document, environment)


def _problems(text: str, environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        _parse(text, environment)
    assert str(caught.value) == "\n".join(map(str, caught.value.problems))
    return [str(problem) for problem in caught.value.problems]


def test_a_good_file_becomes_the_model() -> None:
    document = _parse("title: hello\nratio: 0.5\nenabled: yes\nparts:\n  - {name: a, limit: 3}\n")
    assert document == _Document(title="hello", ratio=0.5, enabled=True, parts=(_Part(name="a", limit=3),))


def test_a_value_that_may_be_of_several_kinds_and_is_of_none_is_one_problem() -> None:
    (problem,) = _problems("either: [1]\n")
    assert problem == "some.yaml:1: either: must be a valid boolean, or a valid integer"


def test_no_message_speaks_of_types_of_the_program() -> None:
    assert _problems("short: A B\nfew: ['']\nratio: 7\n") == [
        "some.yaml:1: short: must match pattern '^[a-z]+$'",
        "some.yaml:2: few[0]: must have at least 1 character",
        "some.yaml:3: ratio: must be less than or equal to 1",
    ]
    assert _problems("few: []\n") == ["some.yaml:1: few: must have at least 1 item, not 0"]


@pytest.mark.parametrize("text", ["", "# only a remark\n", "---\n"])
def test_an_empty_file_is_all_defaults(text: str) -> None:
    assert _parse(text) == _Document()


def test_every_problem_is_told_with_its_line_and_key() -> None:
    text = "titel: x\nratio: 2\nparts:\n  - name: a\n    limit: -1\n  - limit: 2\n    mode: medium\none:\n  nam: b\n"
    assert _problems(text) == [
        "some.yaml:1: titel: unknown key: did you mean title?",
        "some.yaml:2: ratio: must be less than or equal to 1",
        "some.yaml:5: parts[0].limit: must be greater than 0",
        "some.yaml:6: parts[1].name: is required: add it",
        "some.yaml:7: parts[1].mode: must be 'fast' or 'slow'",
        "some.yaml:8: one.name: is required: add it",
        "some.yaml:9: one.nam: unknown key: did you mean name?",
    ]


def test_an_unknown_key_unlike_any_other_lists_the_known_ones() -> None:
    assert _problems("named:\n  x: {name: a, zzz: 1}\n") == [
        "some.yaml:2: named.x.zzz: unknown key: known here are limit, mode, name"
    ]


def test_a_key_given_twice_is_a_problem_and_names_both_lines() -> None:
    assert _problems("title: a\nratio: 1\ntitle: b\n") == [
        "some.yaml:3: title: is given twice (first on line 1): keep one"
    ]


def test_a_syntax_error_names_its_line() -> None:
    (problem,) = _problems("title: a\nparts: [\n")
    assert problem.startswith("some.yaml:3: this is not YAML: ")


def test_a_forbidden_character_names_its_line() -> None:
    assert _problems("title: a\nratio: 1\n# \x01\n") == [
        "some.yaml:3: this is not YAML: a character that YAML does not allow"
    ]


def test_two_documents_in_one_file_are_a_problem() -> None:
    (problem,) = _problems("title: a\n---\ntitle: b\n")
    assert "expected a single document" in problem


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "42\n"])
def test_a_file_that_is_no_mapping_is_a_problem(text: str) -> None:
    assert _problems(text) == ["some.yaml:1: must be a mapping (key: value lines)"]


@pytest.mark.parametrize("value", ["no", "on", "2026-01-01", "1:30", "Yes"])
def test_words_that_old_yaml_would_convert_stay_text(value: str) -> None:
    assert _parse(f"title: {value}\n").title == value


def test_a_number_where_text_is_wanted_says_to_quote_it() -> None:
    assert _problems("title: 1.10\n") == ["some.yaml:1: title: must be text: put it in quotes"]


@pytest.mark.parametrize("value", ["1e999", "9" * 5000])
def test_a_number_too_large_is_a_problem_not_a_crash(value: str) -> None:
    assert "is not a number that can be used" in _problems(f"ratio: {value}\n")[0]


def test_a_tag_is_refused() -> None:
    (problem,) = _problems("title: !!python/name:os.system x\n")
    assert "is not allowed here" in problem


def test_environment_variables_are_put_in_with_defaults_and_escapes() -> None:
    text = "title: 'a ${env:A} ${env:B:-two} $${env:A}'\nratio: ${env:R}\nenabled: ${env:E:-true}\n"
    document = _parse(text, {"A": "one", "R": "0.25"})
    assert document == _Document(title="a one two ${env:A}", ratio=0.25, enabled=True)


def test_without_an_environment_the_text_stays_as_written() -> None:
    assert _parse("title: ${env:HOME}\n").title == "${env:HOME}"


def test_what_a_variable_holds_is_text_and_never_yaml() -> None:
    assert _parse("title: ${env:A}\n", {"A": "x\nratio: 0"}) == _Document(title="x\nratio: 0")


def test_an_empty_variable_takes_the_default_and_is_otherwise_empty() -> None:
    document = _parse("title: ${env:EMPTY:-x}\none: {name: '${env:EMPTY}'}\n", {"EMPTY": ""})
    assert document == _Document(title="x", one=_Part(name=""))


def test_a_missing_variable_is_named_and_told_once() -> None:
    assert _problems("title: x\nratio: ${env:NOT_THERE}\n", {}) == [
        "some.yaml:2: ratio: the environment variable NOT_THERE is not set: set it, or write ${env:NOT_THERE:-default}"
    ]


def test_a_badly_written_variable_is_a_problem() -> None:
    assert _problems("title: ${env:no-good}\n", {"no-good": "x"})[0].startswith("some.yaml:1: title: write ${env:NAME}")


def test_neither_the_environment_nor_the_file_is_repeated_in_a_message() -> None:
    problems = _problems("colour: ${env:KEY}\ntoken: {a: sk-written}\nratio: sk-also\n", {"KEY": "sk-from-environment"})
    assert len(problems) == 3
    assert not any("sk-" in problem for problem in problems)


def test_a_value_anchored_and_used_again_is_fine() -> None:
    document = _parse("one: &p {name: a}\nnamed: {x: *p, y: *p}\n")
    assert document.named == {"x": _Part(name="a"), "y": _Part(name="a")}


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    assert "use fewer aliases" in "\n".join(_problems("\n".join(lines)))


def test_a_value_that_holds_itself_is_refused() -> None:
    assert "use fewer aliases" in _problems("named: &n\n  x: *n\n")[0]


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 5_000, "- " * 5_000])
def test_absurd_nesting_is_refused(text: str) -> None:
    assert _problems(text)[0].endswith("nested more than 40 levels deep")


@given(st.text() | st.text(alphabet="abc:-[]{}&*!|>'\"#%@`,?\n ~0.$"))
def test_any_text_is_a_document_or_a_document_error(text: str) -> None:
    try:
        _parse(text, {"a": "b"})
    except DocumentError as error:
        problems = error.problems
    else:
        return
    assert problems
    assert all(1 <= problem.line <= text.count("\n") + 2 for problem in problems)


def test_a_problem_of_the_whole_file_has_no_key() -> None:
    assert str(Problem("a.yaml", 3, "", "is odd")) == "a.yaml:3: is odd"
