from __future__ import annotations

import pytest

from extractors.skill_files import file_read, name_of_file
from extractors.spans import Value
from extractors.tool_output import without_line_numbers

READS = [
    "cat skills/brew/SKILL.md",
    "sed -n '1,40p' skills/brew/SKILL.md",
    "sudo cat skills/brew/SKILL.md",
    "LANG=C cat skills/brew/SKILL.md",
    "bash -lc 'cat skills/brew/SKILL.md'",
    "cat skills/brew/SKILL.md | head -n 30",
    "cat skills/brew/SKILL.md 2>/dev/null",
    "echo start > log; cat skills/brew/SKILL.md",
    "ls\ncat skills/brew/SKILL.md",
]
OTHERS = [
    "echo tea > skills/brew/SKILL.md",
    "echo tea >> skills/brew/SKILL.md",
    "cat notes.txt > skills/brew/SKILL.md",
    "sed -i s/tea/mate/ skills/brew/SKILL.md",
    "sed --in-place s/tea/mate/ skills/brew/SKILL.md",
    "tee skills/brew/SKILL.md",
    "grep tea skills/brew/SKILL.md",
    "wc -l skills/brew/SKILL.md",
    "ls skills/brew/SKILL.md && cat notes.txt",
    "cat skills/brew/SKILL.md.bak",
    "cat <<EOF > notes.txt\ncat skills/brew/SKILL.md\nEOF",
    "cat 'skills/brew/SKILL.md",
    "",
]


@pytest.mark.parametrize("command", READS)
def test_a_command_that_prints_the_file_reads_it(command: str) -> None:
    assert file_read("bash", {"command": command}) == "skills/brew/SKILL.md"


@pytest.mark.parametrize("command", OTHERS)
def test_a_command_that_does_something_else_with_the_file_is_no_read(command: str) -> None:
    assert file_read("bash", {"command": command}) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"cmd": "cd /srv/brew && cat SKILL.md steep.md"},
        {"cmd": "cd /srv; cd -P brew/; cat SKILL.md"},
        {"cmd": "cat SKILL.md", "workdir": "/srv/brew"},
        {"cmd": "cd brew && cat SKILL.md", "workdir": "/srv"},
        {"cmd": "cat /srv/brew/SKILL.md", "workdir": "/tmp"},
    ],
)
def test_a_relative_path_is_seen_from_the_directory_that_the_command_works_in(arguments: dict[str, Value]) -> None:
    assert file_read("exec_command", arguments) == "/srv/brew/SKILL.md"


def test_a_path_with_blanks_is_read_when_quoted() -> None:
    assert file_read("shell", {"cmd": "cat 'my skills/brew/SKILL.md'"}) == "my skills/brew/SKILL.md"


def test_a_command_given_as_words_is_read() -> None:
    assert file_read("exec_command", {"cmd": ["bash", "-lc", "cat brew/SKILL.md"]}) == "brew/SKILL.md"
    assert file_read("exec_command", {"cmd": ["cat", "brew/SKILL.md"]}) == "brew/SKILL.md"


@pytest.mark.parametrize("tool", ["read_file", "Read", "file_read", "mcp.read_text_file"])
@pytest.mark.parametrize("argument", ["path", "file_path", "filename"])
def test_file_tools_read_by_any_name_of_the_path(tool: str, argument: str) -> None:
    assert file_read(tool, {argument: "/srv/skills/brew/SKILL.md"}) == "/srv/skills/brew/SKILL.md"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "/srv/notes.md"}),
        ("read_file", {"path": 3}),
        ("read_file", {}),
        ("read_file", None),
        ("write_file", {"path": "/srv/skills/brew/SKILL.md"}),
        ("bash", {"command": 3}),
    ],
)
def test_other_tools_files_and_damaged_arguments_are_no_read(tool: str, arguments: dict[str, Value] | None) -> None:
    assert file_read(tool, arguments) is None


def test_the_frontmatter_names_the_skill_before_its_directory() -> None:
    assert name_of_file("skills/tea-time/SKILL.md", "---\nname: 'brew'\ndescription: Tea.\n---\nBoil.") == "brew"
    assert name_of_file("skills/tea-time/SKILL.md", "Boil.") == "tea-time"
    assert name_of_file("skills/tea-time/SKILL.md", "---\nname: brew\n(cut)") == "tea-time"
    assert name_of_file("C:\\skills\\tea-time\\SKILL.md", "Boil.") == "tea-time"


@pytest.mark.parametrize("path", ["SKILL.md", "./SKILL.md", "../SKILL.md"])
def test_a_file_without_directory_and_frontmatter_has_no_name(path: str) -> None:
    assert name_of_file(path, "Boil.") is None


def test_line_numbers_of_a_read_tool_are_taken_off() -> None:
    assert without_line_numbers("     1\t---\n     2\tname: brew") == "---\nname: brew"
    assert without_line_numbers("1→Boil.\n2→Steep.") == "Boil.\nSteep."
    assert without_line_numbers("1. Boil.\n2. Steep.") == "1. Boil.\n2. Steep."
    assert without_line_numbers("") == ""
