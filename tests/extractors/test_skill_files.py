from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.shell.output import FileText
from extractors.skill_files import file_read, is_skill_file, name_of_file, reading
from extractors.spans import Value
from tests.extractors.test_attributes import VALUES

FILE = "/s/tea/SKILL.md"


@pytest.mark.parametrize(
    "tool",
    [
        *(
            "read",
            "Read",
            "read_file",
            "ReadFile",
            "readTextFile",
            "file_read",
            "fs_read",
            "filesystem_read",
            "view",
            "open",
        ),
        *(
            "open_file",
            "cat",
            "mcp__fs__read_text_file",
            "fs.read_file",
            "get_file_contents",
            "fetch_file",
            "view-file",
        ),
        *("read_multiple_files", "NotebookRead", "read_resource"),
    ],
)
def test_a_tool_whose_name_says_so_reads_files(tool: str) -> None:
    assert file_read(tool, {"path": FILE}) == FILE


@pytest.mark.parametrize(
    "tool",
    [
        *(
            "write_file",
            "edit_file",
            "Edit",
            "create_file",
            "delete_file",
            "list_files",
            "Grep",
            "Glob",
            "get_file_info",
        ),
        *(
            "read_and_replace",
            "search_files",
            "find_file",
            "get_weather",
            "str_replace_editor",
            "move_file",
            "stat_file",
        ),
    ],
)
def test_a_tool_that_does_something_else_with_the_file_is_no_read(tool: str) -> None:
    assert file_read(tool, {"path": FILE}) is None


@pytest.mark.parametrize(
    "argument",
    [
        *(
            "path",
            "file_path",
            "filePath",
            "filename",
            "file",
            "absolute_path",
            "target_file",
            "relative_workspace_path",
        ),
        *("pathInProject", "uri", "whatever"),
    ],
)
def test_the_path_is_found_by_any_name(argument: str) -> None:
    assert file_read("read_file", {"limit": 9, argument: FILE}) == FILE


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "file:///s/my%20tea/SKILL.md"}, "/s/my tea/SKILL.md"),
        ({"path": " /s/tea/SKILL.md\n"}, FILE),
        ({"path": "C:\\s\\tea\\SKILL.md"}, "C:\\s\\tea\\SKILL.md"),
        ({"paths": ["/s/a.md", FILE]}, FILE),
        ({"files": [{"path": FILE}]}, FILE),
        ({"operations": [{"mode": "Line", "path": FILE}]}, FILE),
        ({"path": "tea/SKILL.md", "cwd": "/s"}, FILE),
    ],
)
def test_paths_are_read_in_every_form(arguments: dict[str, Value], expected: str) -> None:
    assert file_read("read_file", arguments) == expected


@pytest.mark.parametrize("mode", ["command", "action", "operation"])
def test_an_editor_reads_when_it_is_asked_to(mode: str) -> None:
    assert file_read("str_replace_based_edit_tool", {mode: "view", "path": FILE}) == FILE
    assert (
        file_read("str_replace_based_edit_tool", {mode: "create", "path": FILE, "file_text": "cat x/SKILL.md"}) is None
    )
    assert file_read("file_editor", {"path": FILE}) is None


@pytest.mark.parametrize(
    ("arguments", "first", "last"),
    [
        ({}, 1, None),
        ({"offset": 0, "limit": 40}, 1, 40),
        ({"offset": 41, "limit": 40}, 41, 80),
        ({"start_line": 5, "end_line": 9}, 5, 9),
        ({"view_range": [5, -1]}, 5, None),
        ({"view_range": ["x"]}, 1, None),
        ({"offset": "x", "limit": -1}, 1, None),
    ],
)
def test_the_part_that_is_asked_for_is_told(arguments: dict[str, Value], first: int, last: int | None) -> None:
    found = reading("read_file", {"path": FILE, **arguments})
    assert found is not None
    assert found.shows == (FileText(FILE, first, last),)


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "cat /s/tea/SKILL.md"},
        {"cmd": ["bash", "-lc", "cat /s/tea/SKILL.md"]},
        {"cmd": ["cat", "/s/tea/SKILL.md"]},
        {"command": ["cd /s/tea", "cat SKILL.md"]},
        {"command": [{"command": "cat /s/tea/SKILL.md"}]},
        {"script": "cat /s/tea/SKILL.md"},
        {"cmd": "cat SKILL.md", "workdir": "/s/tea"},
        {"cmd": "cd tea && cat SKILL.md steep.md", "workdir": "/s"},
        {"cmd": "cat /s/tea/SKILL.md", "workdir": "/tmp"},
        {"input": "cat /s/tea/SKILL.md"},
    ],
)
def test_a_command_is_read_in_every_form(arguments: dict[str, Value]) -> None:
    assert file_read("bash", arguments) == FILE


@pytest.mark.parametrize("tool", ["bash", "run_shell_command", "exec_command", "sandbox_run", "powershell", "my_tool"])
def test_any_tool_with_a_command_is_a_shell(tool: str) -> None:
    assert file_read(tool, {"command": "cat /s/tea/SKILL.md"}) == FILE


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("read_file", FILE),
        ("read_file", '{"path": "/s/tea/SKILL.md", "limit'),
        ("bash", "cat /s/tea/SKILL.md"),
        ("bash", '{"command": "cat \\"/s/tea/SKILL.md\\"", "des'),
    ],
)
def test_arguments_that_were_cut_or_bare_are_read_as_far_as_they_go(tool: str, text: str) -> None:
    found = reading(tool, None, text)
    assert found is not None
    assert [one.path for one in found.skill_files] == [FILE]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "/srv/notes.md"}),
        ("read_file", {"path": 3}),
        ("read_file", {}),
        ("read_file", None),
        ("read_file", {"path": "/s/tea/references/steep.md"}),
        ("bash", {"command": 3}),
        ("bash", {"command": "cat /s/tea/references/steep.md"}),
        ("bash", {"command": [["cat"], None]}),
    ],
)
def test_other_files_and_damaged_arguments_are_no_read(tool: str, arguments: dict[str, Value] | None) -> None:
    assert file_read(tool, arguments) is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tea/SKILL.md", True),
        ("tea/skill.md", True),
        ("tea\\Skill.MD", True),
        ("SKILL.md", True),
        ("tea/MYSKILL.md", False),
        ("tea/SKILL.md.bak", False),
        ("tea/SKILL.mdx", False),
        ("SKILL.md/notes", False),
    ],
)
def test_only_the_whole_last_segment_makes_a_skill_file(path: str, expected: bool) -> None:
    assert is_skill_file(path) is expected


def test_the_frontmatter_names_the_skill_before_its_directory() -> None:
    assert name_of_file("skills/tea-time/SKILL.md", "---\nname: 'tea'\ndescription: Leaves.\n---\nBoil.") == "tea"
    assert name_of_file("skills/tea-time/SKILL.md", "Boil.") == "tea-time"
    assert name_of_file("skills/tea-time/SKILL.md", "---\nname: tea\n(cut)") == "tea-time"


@given(
    tool=st.sampled_from(["read_file", "bash", "x"]),
    arguments=st.dictionaries(
        st.sampled_from(["path", "command", "cwd", "limit", "SKILL.md"]), VALUES | st.just("cat a/SKILL.md")
    ),
)
def test_no_arguments_raise(tool: str, arguments: dict[str, Value]) -> None:
    reading(tool, arguments)


@given(text=st.text(alphabet="{\"path: SKILL.md'\\},", max_size=80))
def test_no_text_of_arguments_raises(text: str) -> None:
    reading("read_file", None, text)
