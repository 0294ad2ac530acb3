"""What the documents say is true: commands exist, files parse, generated pages are current, links lead somewhere."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from collector.access.tokens import read_tokens
from collector.cli import app
from collector.commands.remedies import remedy
from collector.config import Config, load_config
from collector.config_docs import reference, schema
from collector.rules import load_rules
from judge.documents import parse_document
from judge.rubrics import parse_rubric
from judge.suites import parse_suite
from tests.documented.pages import PAGES, ROOT, Command, blocks, commands, inline_commands, languages, name_of
from tests.helm.cases import merged

PLACEHOLDERS = {name: f"of-{name.lower()}" for name in ("DB_PASSWORD", "DATABASE_PASSWORD", "KAFKA_PASSWORD")}
PLACEHOLDERS |= {"KAFKA": "kafka-1:9093", "AWS_BEARER_TOKEN_BEDROCK": "of-aws", "STORE_URL": "postgresql://a@b/c"}
"""What examples of configurations expect of their environment."""
_HEADING_LINK = re.compile(r"\]\(([^)#]*)#([^)]+)\)")
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def spanjudge_commands() -> list[Command]:
    return [command for command in commands() if command.words[0] == "spanjudge"]


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
    parameters = COMMANDS[command].params
    return {option for one in parameters for option in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}


def test_the_documents_show_every_command() -> None:
    shown = {named_in(command.words[1:])[0] for command in [*spanjudge_commands(), *inline_commands()]}
    groups = {command.partition(" ")[0] for command in COMMANDS if " " in command}
    assert set(COMMANDS) - groups - shown == set()


@pytest.mark.parametrize("command_line", spanjudge_commands(), ids=str)
def test_a_command_in_the_documents_exists_with_its_options(command_line: Command) -> None:
    command, rest = named_in(command_line.words[1:])
    assert {option for option in rest if option.startswith("-")} <= options_of(command)
    files = [one for one in rest if one.startswith("examples/")]
    assert all((ROOT / one).is_file() for one in files)


def kind_of(text: str) -> str:
    """What a YAML example is: as its first line says, or by its keys."""
    said = re.match(r"# (configuration|suite|collector|values)\n", text)
    if said:
        return said[1]
    document = yaml.safe_load(text)
    if isinstance(document, list):
        return "rules"
    for kind, key in {"suite": "cases", "tokens": "tokens", "rubric": "question", "collector": "exporters"}.items():
        if key in document:
            return kind
    return "configuration"


@pytest.mark.parametrize(("page", "text"), list(blocks("yaml")))
def test_a_yaml_example_parses_and_is_valid(page: str, text: str, tmp_path: Path) -> None:
    match kind_of(text):
        case "configuration":
            parse_document(text, page, Config, PLACEHOLDERS)
        case "suite":
            assert parse_suite(text, page).cases
        case "rubric":
            assert parse_rubric(text, page).id
        case "tokens":
            (tmp_path / "tokens.yaml").write_text(text, encoding="utf-8")
            assert read_tokens(tmp_path / "tokens.yaml")
        case "values":
            chart = ROOT / "helm"
            defaults = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
            values = merged(defaults, yaml.safe_load(text))  # as Helm does before it looks
            Draft7Validator(json.loads((chart / "values.schema.json").read_text(encoding="utf-8"))).validate(values)
        case "rules":
            rules = yaml.safe_load(text)
            assert all({"expr"} < rule.keys() <= {"record", "alert", "expr", "labels", "for"} for rule in rules)
        case _:
            collector = yaml.safe_load(text)
            named = {part: set(collector.get(part, ())) for part in ("receivers", "exporters")}
            for pipeline in collector.get("service", {}).get("pipelines", {}).values():
                assert set(pipeline["receivers"]) <= named["receivers"]
                assert set(pipeline["exporters"]) <= named["exporters"]


@pytest.mark.parametrize(("page", "text"), list(blocks("json")))
def test_a_json_example_parses(page: str, text: str) -> None:
    assert json.loads(text), page


@pytest.mark.parametrize(("page", "text"), list(blocks("toml")))
def test_a_toml_example_parses(page: str, text: str) -> None:
    assert tomllib.loads(text), page


def test_every_example_says_what_it_is() -> None:
    """So that the tests of its kind see it. Lines of `console` take minutes, `text` is for others' programs."""
    known = {"sh", "yaml", "json", "toml", "python", "promql", "markdown", "console", "text"}
    assert {page: said for page, said in languages() if said not in known} == {}


@pytest.mark.parametrize(("page", "text"), list(blocks("console")))
def test_a_benchmark_in_the_documents_exists(page: str, text: str) -> None:
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words and words[:1] != ["make"]:
            assert words[:2] == [".venv/bin/python", "-m"], f"{page}: {line}"
            assert find_spec(words[2]), f"{page}: {line}"


def test_what_the_documents_make_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    made = {line.words[1] for line in commands() if line.words[0] == "make"}
    assert made
    assert made <= targets


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


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_into_documents_lead_to_a_heading(page: Path) -> None:
    for target, heading in _HEADING_LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert heading in headings(page.parent / target if target else page), f"{target}#{heading}"


def headings(page: Path) -> set[str]:
    """As links name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    return {title.strip().replace(" ", "-") for title in plain}


def test_every_document_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()
    for folder in ("runbooks", "howto"):
        inner = (ROOT / "docs" / folder / "README.md").read_text(encoding="utf-8")
        pages = {page.name for page in (ROOT / "docs" / folder).glob("*.md")} - {"README.md"}
        assert pages
        assert {page for page in pages if f"]({page})" not in inner} == set()


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
