from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.anchors import Anchor
from extractors.skill_mentions import ShownSkill, shown
from extractors.skill_signals import invocations
from extractors.skills import LoadOutcome
from extractors.spans import Value
from extractors.trajectory import CallOutcome, ToolCall

TEA = "---\nname: tea\ndescription: Leaves.\n---\n# Tea\n\n1. Boil."
MATE = "---\nname: mate\ndescription: Herbs.\n---\n# Mate\n\n1. Warm."


def call(
    arguments: dict[str, Value] | None, result: str | None, tool: str = "bash", text: str | None = None
) -> ToolCall:
    anchor = Anchor("span", "a" * 32, "b" * 16)
    return ToolCall(tool, anchor, "root", CallOutcome.OK, "c1", arguments, text, result)


def names(command: str, result: str) -> list[str]:
    return [one.name for one in shown(call({"command": command}, result))]


@pytest.mark.parametrize(
    "command",
    [
        "git show HEAD:s/tea/SKILL.md",
        "git --no-pager show v1.2~3:s/tea/SKILL.md",
        "python3 -c \"print(open('s/tea/SKILL.md').read())\"",
        "python3 - <<'X'\nprint(open('s/tea/SKILL.md').read())\nX",
        "cat s/tea/SKILL.md | tr -d '\\r'",
        "ssh box cat s/tea/SKILL.md",
        "docker exec box cat s/tea/SKILL.md",
        'x=$(cat s/tea/SKILL.md); echo "$x"',
        "cp s/tea/SKILL.md a.md && cat a.md",
        "rg '' s/tea/SKILL.md",
    ],
)
def test_a_command_that_nobody_can_follow_loads_the_skill_it_names_and_shows(command: str) -> None:
    (found,) = shown(call({"command": command}, TEA))
    assert (found.path, found.name) == ("s/tea/SKILL.md", "tea")
    assert found.body == TEA


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("execute_code", {"code": "print(open('s/tea/SKILL.md').read())"}),
        ("python", {"input": "print(open('s/tea/SKILL.md').read())"}),
        ("powershell", {"command": "[IO.File]::ReadAllText('s/tea/SKILL.md')"}),
    ],
)
def test_an_interpreter_loads_a_skill_that_it_prints(tool: str, arguments: dict[str, Value]) -> None:
    assert shown(call(arguments, TEA, tool)) == (ShownSkill("s/tea/SKILL.md", "tea", TEA),)


def test_paths_of_windows_keep_their_drive() -> None:
    command = "Get-Content (Join-Path 'C:\\s\\tea\\SKILL.md' '')"
    assert [one.path for one in shown(call({"command": command}, TEA))] == ["C:\\s\\tea\\SKILL.md"]


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("git diff s/tea/SKILL.md", "--- a/s/tea/SKILL.md\n+++ b/s/tea/SKILL.md\n-name: tea\n+name: chai\n"),
        ("rg Boil s/tea/SKILL.md", "6:1. Boil."),
        ("wc -l s/tea/SKILL.md", "6 s/tea/SKILL.md"),
        ("git show HEAD:s/tea/SKILL.md.bak", TEA),
        ("git show HEAD:s/tea/MYSKILL.md", TEA),
        ("git show HEAD:s/tea/README.md", TEA),
        ("tee s/tea/SKILL.md <<'X'\n" + TEA + "\nX", TEA),
        ("python3 -c \"s='---\\nname: tea\\n---'; open('s/tea/SKILL.md', 'w').write(s); print(s)\"", TEA),
        ("test -f s/tea/SKILL.md && cat page.md", "---\nname: page\n---\nA page."),
        ("./check s/tea/SKILL.md s/mate/SKILL.md", "---\nname: page\n---\nA page."),
        ("git show HEAD:s/tea/SKILL.md", "---\nname: tea\nno end of it"),
    ],
)
def test_a_command_that_shows_no_text_of_a_skill_it_names_loads_none(command: str, result: str) -> None:
    assert names(command, result) == []


def test_only_shells_and_interpreters_show_a_skill_by_its_text() -> None:
    assert shown(call({"path": "s/tea/SKILL.md"}, TEA, "write_file")) == ()
    assert shown(call({"query": "s/tea/SKILL.md"}, TEA, "search")) == ()


def test_a_skill_may_live_in_a_directory_of_another_name_when_nothing_else_is_shown() -> None:
    assert names("git show HEAD:s/tea-time/SKILL.md", TEA) == ["tea"]
    assert names("git show HEAD:s/tea-time/SKILL.md; git show HEAD:s/mate/SKILL.md", TEA + "\n" + MATE) == ["mate"]


def test_texts_between_other_output_have_no_certain_end() -> None:
    command = "git show HEAD:s/tea/SKILL.md; git show HEAD:s/mate/SKILL.md"
    assert [one.body for one in shown(call({"command": command}, TEA + "\n" + MATE))] == [None, None]
    assert [one.body for one in shown(call({"command": "./show s/tea/SKILL.md; ./run"}, TEA + "\ndone"))] == [None]


def test_such_a_load_has_no_version_for_its_text_may_be_cut() -> None:
    (load,) = invocations([call({"command": "git show HEAD:s/tea/SKILL.md"}, TEA)])
    assert (load.name, load.outcome, load.body, load.body_hash) == ("tea", LoadOutcome.LOADED, TEA, None)


def test_nothing_is_known_without_arguments_or_result() -> None:
    assert shown(call({"command": "git show HEAD:s/tea/SKILL.md"}, None)) == ()
    assert shown(call(None, TEA)) == ()


@given(
    script=st.text(alphabet="git show:HEAD/SKILL.md'\"\\ \n", max_size=80) | st.just("git show HEAD:tea/SKILL.md"),
    result=st.text(alphabet="-name: tea\n", max_size=80) | st.just(TEA),
)
def test_no_command_and_no_output_raise(script: str, result: str) -> None:
    shown(call({"command": script}, result))
    shown(call(None, result, text=script))
