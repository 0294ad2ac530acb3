"""YAML text as plain values, with the line of every key kept beside them. Nothing is constructed but plain data.

Scalars follow the YAML 1.2 core schema, so `no`, `on` and `2026-01-01` stay text: a skill may be called `no`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

MAX_DEPTH = 40
MAX_NODES = 200_000
"""Counted with every alias expanded: a few lines of aliases can stand for billions of values."""

Path = tuple[str | int, ...]
Values = dict[str, Any] | list[Any] | str | int | float | bool | None

_TAG = "tag:yaml.org,2002:"
_ENV = re.compile(r"(?P<escape>\$?)\$\{env:(?P<body>[^}]*)\}")
_ENV_BODY = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something wrong at a place of the text, before any model has looked at it. Lines count from 1."""

    line: int
    path: Path
    message: str


@dataclass
class Tree:
    """What a text says. `lines` has the line of every key and list item; `secrets` are the texts that came
    from the environment and must not be repeated in a message."""

    value: Values = None
    lines: dict[Path, int] = field(default_factory=dict)
    flaws: list[Flaw] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)


class _CoreLoader(yaml.SafeLoader):
    """Resolves plain scalars by the YAML 1.2 core schema instead of PyYAML's 1.1."""


_CoreLoader.yaml_implicit_resolvers = {}  # its own table: adding to the inherited one would change PyYAML for all


for _name, _pattern, _first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", list("-+.0123456789")),
):
    _CoreLoader.add_implicit_resolver(_TAG + _name, re.compile(_pattern), _first)


def read_tree(text: str, environment: Mapping[str, str] | None) -> Tree:
    """Read one YAML document; an empty one is an empty mapping. Every flaw that can be found is in `Tree.flaws`.

    With an `environment`, `${env:NAME}` and `${env:NAME:-default}` inside text values are replaced
    (`$${env:NAME}` stands for itself); without one they stay as written.
    """
    try:
        flaw = _too_deep(text)
        node = None if flaw else yaml.compose(text, Loader=_CoreLoader)
    except yaml.YAMLError as error:
        return Tree({}, flaws=[_syntax_flaw(text, error)])
    if flaw:
        return Tree({}, flaws=[flaw])
    if node is None or (isinstance(node, yaml.ScalarNode) and node.tag == _TAG + "null"):
        return Tree({})
    return _Reader(environment).read(node)


def _too_deep(text: str) -> Flaw | None:
    """Checked on the event stream, because composing recurses and would exhaust the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_CoreLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 1 if event.start_mark else 1
                return Flaw(line, (), f"nested more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


def _syntax_flaw(text: str, error: yaml.YAMLError) -> Flaw:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        parts = [part for part in (error.context, error.problem) if part]
        return Flaw(mark.line + 1 if mark else 1, (), "this is not YAML: " + ", ".join(parts))
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return Flaw(line, (), "this is not YAML: a character that YAML does not allow")
    return Flaw(1, (), "this is not YAML")


class _Reader:
    """Walks composed nodes once, collecting values, lines and flaws."""

    def __init__(self, environment: Mapping[str, str] | None) -> None:
        self._environment = environment
        self._nodes = 0
        self._tree = Tree()

    def read(self, node: yaml.Node) -> Tree:
        try:
            self._tree.value = self._value(node, ())
        except _TooMany as stop:
            self._tree.value = {}
            self._flaw(stop.node, (), f"stands for more than {MAX_NODES:,} values, or holds itself: use fewer aliases")
        return self._tree

    def _value(self, node: yaml.Node, path: Path) -> Values:
        self._nodes += 1
        # A node can reach itself through an alias; no path is longer than the text is deep unless one does.
        if self._nodes > MAX_NODES or len(path) > 4 * MAX_DEPTH:
            raise _TooMany(node)
        self._tree.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._flaw(key_node, path, "a key must be plain text")
                continue
            key = str(key_node.value)
            here = (*path, key)
            if key in values:
                self._flaw(key_node, here, f"is given twice (first on line {self._tree.lines[here]}): keep one")
                continue
            self._tree.lines[here] = key_node.start_mark.line + 1
            values[key] = self._value(value_node, here)
        return values

    def _scalar(self, node: yaml.Node, path: Path) -> Values:
        text = str(node.value)
        kind = node.tag.removeprefix(_TAG)
        try:
            match kind:
                case "null":
                    return None
                case "bool":
                    return text.lower() == "true"
                case "int":
                    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text, 10)
                case "float":
                    return _finite(text)
                case "str":
                    return self._substituted(node, text, path)
                case _:
                    self._flaw(node, path, f"the tag {node.tag} is not allowed here: write a plain value")
        except ValueError:
            self._flaw(node, path, "is not a number that can be used: it is too large or badly written")
        return None

    def _substituted(self, node: yaml.Node, text: str, path: Path) -> str:
        environment = self._environment
        if environment is None:
            return text

        def replacement(found: re.Match[str]) -> str:
            if found["escape"]:
                return found[0][1:]
            body = _ENV_BODY.fullmatch(found["body"])
            if body is None:
                self._flaw(node, path, "write ${env:NAME} or ${env:NAME:-default}; NAME is letters, digits and _")
                return found[0]
            value = environment.get(body["name"])
            if not value and body["default"] is not None:
                value = body["default"][2:]
            if value is None:
                self._flaw(
                    node,
                    path,
                    f"the environment variable {body['name']} is not set: "
                    f"set it, or write ${{env:{body['name']}:-default}}",
                )
                return found[0]
            self._tree.secrets.add(value)
            return str(value)

        return _ENV.sub(replacement, text)

    def _flaw(self, node: yaml.Node, path: Path, message: str) -> None:
        self._tree.flaws.append(Flaw(node.start_mark.line + 1, path, message))


class _TooMany(Exception):
    def __init__(self, node: yaml.Node) -> None:
        super().__init__()
        self.node = node


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
