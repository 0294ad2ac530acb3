from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.tool_output import Output, output_of, without_line_numbers

TEXT = "# Tea\n\n1. Boil."


@pytest.mark.parametrize(
    "result",
    [
        TEXT,
        f"Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 5\nOutput:\n{TEXT}",
        f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n{TEXT}",
        f"Command: cat SKILL.md\nDirectory: (root)\nOutput: {TEXT}",
        f"@@ lines 1-3 of 3 @@\n{TEXT}",
        f"Content of /s/tea/SKILL.md:\n{TEXT}",
        "Here's the result of running `cat -n` on /s/SKILL.md:\n     1\t# Tea\n     2\t\n     3\t1. Boil.\n",
        "     1→# Tea\n     2→\n     3→1. Boil.\n\n<system-reminder>\nBe kind.\n</system-reminder>\n",
        "<file>\n00001| # Tea\n00002| \n00003| 1. Boil.\n\n(End of file - total 3 lines)\n</file>",
        "<path>/s/SKILL.md</path>\n<type>file</type>\n<content>\n1: # Tea\n2: \n3: 1. Boil.\n</content>",
        "     1\t# Tea\n       \n     2\t1. Boil.",
        f"{TEXT}\n[The command completed with exit code 0.]\n[Current working directory: /s]\n[Python interpreter: /p]",
        json.dumps({"stdout": TEXT, "stderr": "", "interrupted": False}),
        json.dumps({"output": TEXT, "metadata": {"exit_code": 0}}),
        json.dumps({"type": "text", "file": {"filePath": "/s", "content": TEXT, "numLines": 3, "totalLines": 3}}),
        json.dumps({"content": TEXT}),
    ],
)
def test_a_tools_own_lines_are_taken_off(result: str) -> None:
    assert output_of(result).text.strip() == TEXT
    assert not output_of(result).failed
    assert not output_of(result).cut


@pytest.mark.parametrize(
    "result",
    [
        "Chunk ID: 1a\nProcess exited with code 2\nOutput:\nno",
        "no\n[The command completed with exit code 2.]",
        '{"stdout": "no", "exitCode": 2}',
        '{"output": "no", "metadata": {"exit_code": 2}}',
    ],
)
def test_an_exit_code_says_that_the_command_failed(result: str) -> None:
    output = output_of(result)
    assert (output.text, output.exit_code, output.failed) == ("no", 2, True)


def test_a_reader_that_had_enough_is_no_failure() -> None:
    assert not output_of("Exit code: 141\nOutput:\nsome").failed


@pytest.mark.parametrize(
    "result",
    [
        "@@ lines 1-3 of 40 @@\n# Tea",
        "# Tea\n[... telemetry preview truncated ...]",
        "The file content has been truncated.\nStatus: lines 1-1.\n--- FILE CONTENT (truncated) ---\n# Tea",
        '{"file": {"content": "# Tea", "startLine": 1, "numLines": 1, "totalLines": 9}}',
    ],
)
def test_a_text_that_was_cut_says_so(result: str) -> None:
    output = output_of(result)
    assert (output.text.strip(), output.cut) == ("# Tea", True)


def test_numbers_tell_where_a_page_begins() -> None:
    assert output_of("    41\tBoil.\n    42\tSteep.").first == 41
    assert output_of("@@ lines 41-42 of 42 @@\nBoil.\nSteep.").first == 41
    assert output_of("Boil.").first is None


@pytest.mark.parametrize(
    "text",
    ["1. Boil.\n2. Steep.", "1\tBoil.\n1\tSteep.", "1\tBoil.\nSteep.", "Output:", "Note: x\nBoil.", "{", "", "7"],
)
def test_a_text_of_its_own_stays(text: str) -> None:
    assert output_of(text) == Output(text)


def test_line_ends_of_windows_are_ends_of_lines() -> None:
    assert output_of("# Tea\r\n\r\n1. Boil.\r\n").text == "# Tea\n\n1. Boil.\n"


@pytest.mark.parametrize("result", ["(no output)", "(Bash completed with no output)\n", "(empty)"])
def test_a_remark_that_nothing_was_printed_is_no_text(result: str) -> None:
    assert output_of(result).text == ""


def test_an_error_beside_the_text_is_kept_apart() -> None:
    assert output_of('{"stdout": "", "stderr": "no such file"}') == Output("", error="no such file")


@given(lines=st.lists(st.text(alphabet=st.characters(blacklist_categories=("C", "Z")), max_size=20), min_size=1))
def test_numbering_a_text_and_taking_the_numbers_off_changes_nothing(lines: list[str]) -> None:
    numbered = "\n".join(f"{at:6}\t{line}" for at, line in enumerate(lines, 1))
    assert without_line_numbers(numbered) == "\n".join(lines)


@given(text=st.text(alphabet="{}[]\"':@=-<>/ \n\t1Output:exit code", max_size=200))
def test_no_output_raises(text: str) -> None:
    output_of(text)
