"""A case added to a suite file: what was there stays, what comes is read back as it was meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.suite_files import new_suite, with_case
from judge.documents import DocumentError
from judge.suites import CaseEntry, parse_suite

OLD = """\
# Of the desk.
name: desk
version: "3"
cases:
  # Money first.
  - id: refund
    match: {service: desk}   # all of it
    expected_skill: refunds

  - id: hello
    match:
      task_contains: hello
    # nothing to load
    expected_skill: none

# The end.
"""
CASE = {
    "id": "moved",
    "match": {"service": "desk", "task_contains": 'Say "no": \\ # or: not'},
    "risk": "high",
    "expected_skill": "no",
    "required_steps": [{"tool": "find"}, {"tool": "pay*"}],
    "ordered": True,
    "forbidden_events": [{"tool": "delete_*"}],
    "answer_contains": ["1", "true"],
}


def added(text: str, case: dict[str, Any], remarks: dict[str, str] | None = None) -> CaseEntry:
    made = with_case(text, "suite.yaml", case, remarks or {})
    return parse_suite(made, "suite.yaml").cases[-1]


def test_all_that_was_written_stays_and_the_case_comes_behind_the_last() -> None:
    made = with_case(OLD, "suite.yaml", CASE, {"expected_skill": "is this right?"})
    head, _, tail = made.partition("\n\n  - id: moved\n")
    assert head == OLD.rpartition("\n\n# The end.")[0]
    assert tail.endswith("\n\n# The end.\n")
    assert '    expected_skill: "no" # is this right?\n' in made


def test_the_case_reads_back_as_it_was_meant() -> None:
    found = added(OLD, CASE)
    assert found.match.task_contains == ('Say "no": \\ # or: not',)
    assert (found.risk, found.expected_skill, found.ordered) == ("high", "no", True)
    assert [one.tool for one in found.required_steps] == ["find", "pay*"]
    assert found.answer_contains == ("1", "true")


@pytest.mark.parametrize(
    "text",
    [
        OLD.rstrip("\n"),
        OLD.replace("\n", "\r\n"),
        "cases:\n- id: a\n  match: {}\nname: desk\nversion: '1'\n",
        "cases:\n- id: a\n  match: {}\n\n# before the name\nname: desk\nversion: '1'",
    ],
    ids=["no last line break", "line ends of Windows", "cases first, not indented", "cases first, a comment between"],
)
def test_however_the_file_is_laid_out_the_case_finds_its_place(text: str) -> None:
    before = parse_suite(text, "suite.yaml").cases
    made = parse_suite(with_case(text, "suite.yaml", CASE, {}), "suite.yaml").cases
    assert [one.id for one in made] == [*(one.id for one in before), "moved"]


def test_line_ends_of_windows_stay() -> None:
    made = with_case(OLD.replace("\n", "\r\n"), "suite.yaml", CASE, {})
    assert made.count("\n") == made.count("\r\n") + made.endswith("\n") - made.endswith("\r\n")


@pytest.mark.parametrize(
    ("text", "case", "message"),
    [
        (OLD, {**CASE, "id": "refund"}, "there is a case refund already"),
        ("name: d\nversion: '1'\ncases: [{id: a, match: {}}]\n", CASE, "written in brackets"),
        ("name: d\n", CASE, "version: is required"),
        (OLD, {**CASE, "id": "not an id"}, "id"),
    ],
)
def test_what_cannot_be_added_is_a_problem_with_its_cause(text: str, case: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        with_case(text, "suite.yaml", case, {})
    assert message in str(caught.value)


@given(st.text(min_size=1).filter(lambda text: text.encode("utf-8", "replace").decode() == text))
def test_any_text_survives(text: str) -> None:
    assert added(OLD, {"id": "x", "match": {"task_contains": text}}).match.task_contains == (text,)
    made = new_suite("desk", {"id": "x", "match": {}, "answer_contains": [text]}, {})
    assert parse_suite(made, "suite.yaml").cases[0].answer_contains == (text,)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_one_case_after_the_other_can_be_added(texts: list[str]) -> None:
    made = OLD
    for number, text in enumerate(texts):
        made = with_case(made, "suite.yaml", {"id": f"x{number}", "match": {"task_contains": text}}, {})
    assert len(parse_suite(made, "suite.yaml").cases) == 2 + len(texts)
