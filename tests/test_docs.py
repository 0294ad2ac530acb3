"""What the documents say is true: commands exist, files parse, generated pages are current, links lead somewhere."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from collector.cli import app
from collector.commands.remedies import remedy
from collector.config import Config, load_config
from collector.config_docs import reference, schema
from collector.rules import load_rules
from judge.documents import parse_document
from judge.suites import parse_suite

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OURS = [ROOT / "README.md", ROOT / "docs" / "quickstart.md", ROOT / "docs" / "configuration.md", ROOT / "AGENTS.md"]
SHOWING_COMMANDS = [*OURS, ROOT / "docs" / "suites.md", ROOT / "docs" / "baselines.md"]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def blocks(language: str, pages: list[Path] | None = None) -> Iterator[tuple[str, str]]:
    """(page, text) of every code block in this language."""
    for page in pages or OURS:
        for found, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
            if found == language:
                yield page.name, text


def spanjudge_commands() -> list[list[str]]:
    lines = [line for _, text in blocks("sh", SHOWING_COMMANDS) for line in text.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("spanjudge ")]


def subcommands(command: Any) -> dict[str, Any]:
    """Those of a group of commands; none of a command."""
    return dict(getattr(command, "commands", {}))


COMMANDS: dict[str, Any] = {
    f"{name} {inner}".strip(): found
    for name, command in subcommands(typer.main.get_command(app)).items()
    for inner, found in {"": command, **subcommands(command)}.items()
}
"""Every command and subcommand, by what is typed after `spanjudge`."""


def named_in(arguments: list[str]) -> tuple[str, list[str]]:
    """The command of a line, and what follows it."""
    words = 2 if " ".join(arguments[:2]) in COMMANDS else 1
    return " ".join(arguments[:words]), arguments[words:]


def options_of(command: str) -> set[str]:
    return {option for parameter in COMMANDS[command].params for option in parameter.opts} | {"--help", "-h"}


def test_the_documents_show_commands_at_all() -> None:
    assert {arguments[0] for arguments in spanjudge_commands()} >= {"run", "check-config", "inspect", "replay", "show"}


@pytest.mark.parametrize("arguments", spanjudge_commands(), ids=" ".join)
def test_a_command_in_the_documents_exists_with_its_options(arguments: list[str]) -> None:
    command, rest = named_in(arguments)
    assert {option for option in rest if option.startswith("-")} <= options_of(command)
    files = [one for one in rest if one.startswith("examples/")]
    assert all((ROOT / one).is_file() for one in files)


@pytest.mark.parametrize(("page", "text"), list(blocks("yaml")))
def test_a_yaml_example_parses_and_is_valid(page: str, text: str) -> None:
    kind = text.splitlines()[0]
    if kind == "# configuration":
        parse_document(text, page, Config, {})
    elif kind == "# suite":
        assert parse_suite(text, page).cases
    else:
        assert kind == "# collector", f"{page}: say in the first line what this example is"
        collector = yaml.safe_load(text)
        named = {part: set(collector[part]) for part in ("receivers", "exporters")}
        for pipeline in collector["service"]["pipelines"].values():
            assert set(pipeline["receivers"]) <= named["receivers"]
            assert set(pipeline["exporters"]) <= named["exporters"]


@pytest.mark.parametrize(("page", "text"), list(blocks("python")))
def test_a_python_example_parses(page: str, text: str) -> None:
    assert ast.parse(text, page).body


def test_the_example_configuration_and_its_suites_load() -> None:
    file = ROOT / "examples" / "spanjudge.yaml"
    rules = load_rules(load_config(file, {}), str(file))
    assert [suite.name for suite in rules.suites] == ["support-desk"]


def test_the_reference_of_the_configuration_is_current() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert text == reference(), "write it anew: python -m collector.config_docs > docs/configuration.md"


def test_the_schema_knows_every_section() -> None:
    assert set(schema()["properties"]) == set(Config.model_fields)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_reason_in_the_documents_has_a_remedy() -> None:
    page = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
    table = page.partition("The reasons:")[2].partition("\n\n\n")[0].partition("A session in which")[0]
    reasons = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert reasons
    unknown = remedy("a reason nobody knows")
    assert [reason for reason in reasons if remedy(reason) == unknown] == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_a_command_teaches_by_example(command: str) -> None:
    shown = CliRunner().invoke(app, [*command.split(), "--help"])
    assert shown.exit_code == 0
    assert f"spanjudge {command}" in shown.output.partition("Example")[2]
