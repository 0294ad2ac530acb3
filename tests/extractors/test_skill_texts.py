from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.shell.running import printed
from extractors.skill_texts import divided

TEA = "---\nname: tea\ndescription: Leaves.\n---\n# Tea\n\n1. Boil.\n"
MATE = "---\nname: mate\ndescription: Herbs.\n---\n# Mate\n\n1. Warm.\n"
PLAIN = "# Cocoa\n\n1. Stir.\n"
NO_FILE = "No such file or directory"


def texts(command: str, output: str) -> list[tuple[str, str | None]]:
    """Path and text of each skill's file in an output."""
    return [(one.path, one.text) for one in divided(printed(command), output) if one.refusal is None]


def refusals(command: str, output: str) -> list[tuple[str, str]]:
    return [(one.path, one.refusal) for one in divided(printed(command), output) if one.refusal is not None]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat tea/SKILL.md mate/SKILL.md", TEA + MATE),
        ("cat tea/SKILL.md; cat mate/SKILL.md", TEA + MATE),
        ("cat tea/SKILL.md && echo --- && cat mate/SKILL.md", TEA + "---\n" + MATE),
        ('for f in tea mate; do echo "= $f"; cat $f/SKILL.md; done', "= tea\n" + TEA + "= mate\n" + MATE),
        ("head -40 tea/SKILL.md mate/SKILL.md", f"==> tea/SKILL.md <==\n{TEA}\n==> mate/SKILL.md <==\n{MATE}"),
        ("ls; cat tea/SKILL.md mate/SKILL.md", "tea\nmate\n" + TEA + MATE),
        ("cat tea/SKILL.md cocoa.md mate/SKILL.md 2>&1", TEA + "cat: cocoa.md: " + NO_FILE + "\n" + MATE),
    ],
)
def test_each_file_gets_its_own_text(command: str, output: str) -> None:
    found = [(path, text and text.strip()) for path, text in texts(command, output)]
    assert found == [("tea/SKILL.md", TEA.strip()), ("mate/SKILL.md", MATE.strip())]


def test_what_is_printed_before_is_no_part_of_a_text() -> None:
    assert texts("ls && cat tea/SKILL.md", "tea\nmate\n" + TEA) == [("tea/SKILL.md", TEA)]
    assert texts("echo hello; cat cocoa/SKILL.md", "hello\n" + PLAIN) == [("cocoa/SKILL.md", "\n" + PLAIN)]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat tea/SKILL.md; ls", TEA + "tea\n"),
        ("cat tea/SKILL.md leaves.md", TEA + "Leaves are green.\n"),
        ("ls; cat tea/SKILL.md", "tea\n" + PLAIN),
        ("cat tea/SKILL.md && ./run", TEA + "done"),
    ],
)
def test_a_text_that_cannot_be_told_from_the_rest_is_unknown(command: str, output: str) -> None:
    assert texts(command, output) == [("tea/SKILL.md", None)]


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        ("for f in s/*/SKILL.md; do cat $f; echo -----; done", "", "-----\n"),
        ("for f in s/*/SKILL.md; do echo; echo -----; cat $f; done", "\n-----\n", ""),
        ("for f in s/*/SKILL.md; do echo ---; cat $f; done", "---\n", ""),
        ('for f in s/*/SKILL.md; do echo "=== $f ==="; cat $f; done', "=== s/{}/SKILL.md ===\n", ""),
        ('for d in s/*/; do echo "# Skill: $d"; cat $d/SKILL.md; done', "# Skill: s/{}/\n", ""),
        ('for d in s/*/; do echo "## $(basename $d)"; cat $d/SKILL.md; done', "## {}\n", ""),
        ("find s -name SKILL.md -print -exec cat {} \\;", "s/{}/SKILL.md\n", ""),
    ],
)
def test_what_a_loop_prints_around_files_is_no_part_of_their_texts(command: str, before: str, after: str) -> None:
    output = "".join(before.format(name) + text + after for name, text in (("mate", MATE), ("tea", TEA)))
    assert [text and text.strip() for _, text in texts(command, output)] == [MATE.strip(), TEA.strip()]


def test_texts_that_a_loop_mixes_with_unknown_output_are_unknown() -> None:
    command = "for f in s/*/SKILL.md; do cat $f; ./check $f; done"
    assert [text for _, text in texts(command, MATE + "fine\n" + TEA + "fine\n")] == [None, None]


def test_a_line_of_the_text_that_names_another_file_stays() -> None:
    ending = MATE + "\n- ../tea/SKILL.md\nSee [tea](../tea/SKILL.md)\n"
    assert [text for _, text in texts("cat s/*/SKILL.md", ending + TEA)] == [ending, TEA]


def test_two_texts_without_frontmatter_are_unknown() -> None:
    assert texts("cat a/SKILL.md b/SKILL.md", PLAIN + PLAIN) == [("a/SKILL.md", None), ("b/SKILL.md", None)]


def test_a_frontmatter_inside_a_text_begins_no_other_skill() -> None:
    example = TEA + "\nWrite files like this one:\n\n" + MATE
    assert texts("cat tea/SKILL.md", example) == [("tea/SKILL.md", example)]
    assert texts("cat tea/SKILL.md cocoa/SKILL.md", TEA + PLAIN)[1] == ("cocoa/SKILL.md", None)


def test_wildcards_are_told_by_frontmatters_or_headings() -> None:
    assert texts("cat s/*/SKILL.md", TEA + MATE) == [("s/*/SKILL.md", TEA), ("s/*/SKILL.md", MATE)]
    headed = f"==> s/tea/SKILL.md <==\n{TEA}\n==> s/mate/SKILL.md <==\n{MATE}"
    assert [path for path, _ in texts("head -40 s/*/SKILL.md", headed)] == ["s/tea/SKILL.md", "s/mate/SKILL.md"]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("cat s/tea/SKILL.md", f"cat: s/tea/SKILL.md: {NO_FILE}"),
        ("cat s/tea/SKILL.md", "/bin/cat: s/tea/SKILL.md: Permission denied"),
        ("head s/tea/SKILL.md", f"head: cannot open 's/tea/SKILL.md' for reading: {NO_FILE}"),
        ("sed -n 1,9p s/tea/SKILL.md", f"sed: can't read s/tea/SKILL.md: {NO_FILE}"),
        ("cat < s/tea/SKILL.md", f"bash: line 1: s/tea/SKILL.md: {NO_FILE}"),
        ("bat s/tea/SKILL.md", f"[bat error]: 's/tea/SKILL.md': {NO_FILE} (os error 2)"),
        ("Get-Content s/tea/SKILL.md", "Get-Content: Cannot find path '/w/s/tea/SKILL.md' because it does not exist."),
    ],
)
def test_the_line_that_names_the_file_refuses_it(command: str, line: str) -> None:
    assert refusals(command, line + "\n") == [("s/tea/SKILL.md", line)]
    assert texts(command, line + "\n") == []


def test_one_refused_file_takes_no_other_along() -> None:
    output = f"cat: tea/SKILL.md: {NO_FILE}\n" + MATE
    assert refusals("cat tea/SKILL.md mate/SKILL.md", output) == [("tea/SKILL.md", output.splitlines()[0])]
    assert texts("cat tea/SKILL.md mate/SKILL.md", output) == [("mate/SKILL.md", MATE)]


def test_an_error_of_another_file_refuses_no_skill() -> None:
    text = TEA + "\nIt says: cat: x/y.md: " + NO_FILE + "\ncat: x/y.md: " + NO_FILE
    assert refusals("cat tea/SKILL.md", text) == []


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("cat tea/SKILL.md || cat mate/SKILL.md", TEA, "tea/SKILL.md"),
        ("cat tea/SKILL.md 2>/dev/null || cat mate/SKILL.md", MATE, "mate/SKILL.md"),
        ("if x; then cat a/tea/SKILL.md; else cat b/tea/SKILL.md; fi", TEA, "a/tea/SKILL.md"),
        ("if x; then cat tea/SKILL.md; else cat mate/SKILL.md; fi", MATE, "mate/SKILL.md"),
        ("if x; then cat tea/SKILL.md; else cat mate/SKILL.md; fi", PLAIN, "tea/SKILL.md"),
    ],
)
def test_of_alternatives_the_one_that_was_shown_counts(command: str, output: str, expected: str) -> None:
    assert texts(command, output) == [(expected, output)]


@given(output=st.text(alphabet="-=<> \nname:SKILL.mdcatea/", max_size=200))
def test_no_output_raises(output: str) -> None:
    divided(printed("echo x; cat tea/SKILL.md || head */SKILL.md; cat a/SKILL.md; ls"), output)


@given(before=st.lists(st.sampled_from(["a", "--- b", "c: d"])), copies=st.integers(1, 5))
def test_as_many_frontmatters_as_files_are_told_apart(before: list[str], copies: int) -> None:
    names = [f"skill-{number}" for number in range(copies)]
    bodies = [f"---\nname: {name}\n---\n{name}\n" for name in names]
    command = "ls; cat " + " ".join(f"s/{name}/SKILL.md" for name in names)
    output = "".join(f"{line}\n" for line in before) + "".join(bodies)
    assert [text for _, text in texts(command, output)] == bodies
