from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors import skill_signals as signals
from extractors.anchors import Anchor
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import Value
from extractors.trajectory import CallOutcome, ToolCall

TEXT = "---\nname: tea\ndescription: Leaves.\n---\n# Tea\n\n1. Boil.\n2. Steep."
LINES = TEXT.split("\n")


def call(number: int, arguments: dict[str, Value] | str, result: str | None = None, **more: object) -> ToolCall:
    """A call of a shell, for a command, or of a file tool, for arguments."""
    tool, given = ("bash", {"command": arguments}) if isinstance(arguments, str) else ("read_file", arguments)
    anchor = Anchor("span", "a" * 32, f"{number:016x}")
    known: dict[str, object] = {"outcome": CallOutcome.OK, "turn": 0, **more}
    return ToolCall(tool, anchor, "root", call_id=f"c{number}", arguments=given, result=result, **known)  # type: ignore[arg-type]  # fields by keyword


def loads(*calls: ToolCall) -> tuple[SkillInvocation, ...]:
    return signals.invocations(calls)


def outcomes(*calls: ToolCall) -> list[tuple[str | None, str, str | None]]:
    return [(load.name, load.outcome.value, load.refusal) for load in loads(*calls)]


def test_each_file_of_one_command_is_an_attempt_of_the_same_call() -> None:
    other = TEXT.replace("tea", "mate")
    found = loads(
        call(
            1,
            "cat s/tea/SKILL.md s/mate/SKILL.md s/no/SKILL.md",
            f"{TEXT}\n{other}\ncat: s/no/SKILL.md: No such file or directory",
        )
    )
    assert [load.name for load in found] == ["tea", "mate", "no"]
    assert [load.outcome for load in found] == [LoadOutcome.LOADED, LoadOutcome.LOADED, LoadOutcome.REFUSED]
    assert [load.body for load in found] == [TEXT, other, None]
    assert {(load.call_id, load.loaded_by) for load in found} == {("c1", LoadedBy.FILE)}
    assert found[2].refusal == "cat: s/no/SKILL.md: No such file or directory"


@pytest.mark.parametrize(
    ("outcome", "error", "expected"),
    [
        (CallOutcome.UNANSWERED, None, ("tea", "unanswered", None)),
        (CallOutcome.REFUSED, "denied by a rule", ("tea", "refused", "denied by a rule")),
        (CallOutcome.FAILED, "timed out", ("tea", "refused", "timed out")),
        (CallOutcome.FAILED, None, ("tea", "refused", None)),
        (CallOutcome.OK, None, ("tea", "loaded", None)),
    ],
)
def test_a_call_without_result_says_what_came_of_the_attempt(
    outcome: CallOutcome, error: str | None, expected: tuple[str, str, str | None]
) -> None:
    assert outcomes(call(1, "cat s/tea/SKILL.md", outcome=outcome, error=error)) == [expected]


@pytest.mark.parametrize(
    "refusal",
    [
        "Error: File '/s/tea/SKILL.md' not found",
        "Error: permission denied for read on /s/tea/SKILL.md",
        "File does not exist.",
        "ENOENT: no such file or directory, open '/s/tea/SKILL.md'",
        "File /s/tea/SKILL.md does not exist",
        "The system cannot find the file specified.",
        "<tool_use_error>File does not exist.</tool_use_error>",
    ],
)
def test_a_refusal_in_a_successful_result_is_a_refusal(refusal: str) -> None:
    assert outcomes(call(1, {"path": "/s/tea/SKILL.md"}, refusal)) == [("tea", "refused", refusal)]


def test_a_text_that_talks_of_errors_is_no_refusal() -> None:
    text = "---\nname: tea\n---\nError: not found means the tin is empty."
    assert outcomes(call(1, {"path": "/s/tea/SKILL.md"}, text)) == [("tea", "loaded", None)]
    long = "\n".join(["Error handling for tea", "Boil.", "Steep.", "Pour.", "Drink."])
    assert outcomes(call(1, {"path": "/s/tea/SKILL.md"}, long)) == [("tea", "loaded", None)]


def test_a_command_that_failed_later_had_read_the_file() -> None:
    (load,) = loads(call(1, "cat s/tea/SKILL.md; false", TEXT, outcome=CallOutcome.FAILED))
    assert (load.outcome, load.body) == (LoadOutcome.LOADED, TEXT)


def test_a_command_that_printed_something_else_and_failed_read_nothing() -> None:
    assert outcomes(call(1, "sudo cat s/tea/SKILL.md", "sudo: no password", outcome=CallOutcome.FAILED)) == [
        ("tea", "refused", "sudo: no password")
    ]


def test_the_text_of_another_skill_is_no_refusal() -> None:
    command = "cat s/mate/SKILL.md 2>/dev/null || cat s/tea/SKILL.md"
    assert outcomes(call(1, command, TEXT)) == [("mate", "refused", None), ("tea", "loaded", None)]


def test_a_skill_without_known_directory_has_no_name() -> None:
    assert outcomes(call(1, "cat SKILL.md", "Boil.")) == [(None, "loaded", None)]
    assert outcomes(call(1, "cat s/*/SKILL.md")) == [(None, "loaded", None)]


@given(cut=st.integers(1, len(LINES) - 1))
def test_pages_make_one_load_with_the_whole_text(cut: int) -> None:
    first = call(1, f"sed -n '1,{cut}p' s/tea/SKILL.md", "\n".join(LINES[:cut]) + "\n")
    second = call(2, f"sed -n '{cut + 1},400p' s/tea/SKILL.md", "\n".join(LINES[cut:]) + "\n")
    (load,) = loads(first, second)
    assert (load.call_id, load.body, load.body_hash) == ("c1", TEXT, signals.body_hash(TEXT))


def test_pages_are_told_by_their_line_numbers() -> None:
    numbered = [f"{at:6}\t{line}" for at, line in enumerate(LINES, 1)]
    first = call(1, {"path": "s/tea/SKILL.md", "limit": 4}, "\n".join(numbered[:4]))
    second = call(2, {"path": "s/tea/SKILL.md", "offset": 4, "limit": 90}, "\n".join(numbered[4:]))
    (load,) = loads(first, second)
    assert load.body == TEXT


def test_a_look_at_the_beginning_and_then_all_of_it_is_one_load() -> None:
    (load,) = loads(call(1, "head -3 s/tea/SKILL.md", "\n".join(LINES[:3])), call(2, "cat s/tea/SKILL.md", TEXT))
    assert (load.name, load.body, load.call_id) == ("tea", TEXT, "c1")


def test_a_look_at_a_part_of_what_was_read_is_no_second_load() -> None:
    (load,) = loads(call(1, "cat s/tea/SKILL.md", TEXT), call(2, "tail -2 s/tea/SKILL.md", "\n".join(LINES[-2:])))
    assert load.body == TEXT


def test_pages_with_a_gap_leave_the_longest() -> None:
    (load,) = loads(
        call(1, "sed -n '1,5p' s/tea/SKILL.md", "\n".join(LINES[:5])),
        call(2, "sed -n '8,9p' s/tea/SKILL.md", "\n".join(LINES[7:])),
    )
    assert (load.body, load.body_hash) == ("\n".join(LINES[:5]), None)


@pytest.mark.parametrize("command", ["cat s/tea/SKILL.md", "sed -n '1,200p' s/tea/SKILL.md"])
def test_reading_all_of_it_again_is_a_second_load(command: str) -> None:
    assert len(loads(call(1, command, TEXT), call(2, command, TEXT))) == 2


@pytest.mark.parametrize("refusal", ["", "(no output)", "sed: nothing there"])
def test_a_page_behind_the_end_is_no_refused_skill(refusal: str) -> None:
    (load,) = loads(
        call(1, "sed -n 1,8p s/tea/SKILL.md", TEXT),
        call(
            2,
            "sed -n 9,16p s/tea/SKILL.md",
            refusal,
            outcome=CallOutcome.FAILED if "sed" in refusal else CallOutcome.OK,
        ),
    )
    assert (load.outcome, load.body) == (LoadOutcome.LOADED, TEXT)
    assert (load.body_hash is None) is ("sed" in refusal)


def test_pages_of_a_tool_that_counts_lines_from_zero_lose_no_line() -> None:
    (load,) = loads(
        call(1, {"path": "s/tea/SKILL.md", "offset": 0, "limit": 5}, "\n".join(LINES[:5])),
        call(2, {"path": "s/tea/SKILL.md", "offset": 5, "limit": 5}, "\n".join(LINES[5:])),
    )
    assert (load.body, load.body_hash) == (TEXT, signals.body_hash(TEXT))


def test_pages_in_another_turn_are_a_load_of_their_own() -> None:
    command = "sed -n '8,9p' s/tea/SKILL.md"
    assert len(loads(call(1, "cat s/tea/SKILL.md", TEXT), call(2, command, LINES[7], turn=1))) == 2


def test_a_part_of_a_text_is_no_version() -> None:
    (load,) = loads(call(1, "head -3 s/tea/SKILL.md", "\n".join(LINES[:3])))
    assert (load.body, load.body_hash) == ("\n".join(LINES[:3]), None)
    (load,) = loads(call(1, "cat s/tea/SKILL.md", TEXT + "\n[... telemetry preview truncated ...]"))
    assert (load.body, load.body_hash) == (TEXT, None)
    (load,) = loads(call(1, "head -90 s/tea/SKILL.md", TEXT))
    assert load.body_hash == signals.body_hash(TEXT)


@given(result=st.text(alphabet='-=<> \nname:SKILL.mdcatea/{}"', max_size=120), failed=st.booleans())
def test_no_result_raises(result: str, failed: bool) -> None:
    outcome = CallOutcome.FAILED if failed else CallOutcome.OK
    for arguments in ("cat s/tea/SKILL.md || cat s/*/SKILL.md; ls", "head -2 a/SKILL.md b/SKILL.md"):
        loads(call(1, arguments, result, outcome=outcome), call(2, arguments, result, outcome=outcome))
    loads(call(1, {"path": "s/tea/SKILL.md"}, result, outcome=outcome))
