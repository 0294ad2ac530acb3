"""YAML files that people write (configuration, suites, rubrics) as pydantic models; all problems are told at once,
each with its file, line and key."""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from judge.yaml_tree import Path, Tree, read_tree

M = TypeVar("M", bound=BaseModel)

_MUST = "must be "
_SHOULD = re.compile(r"(?:Input|String|Dictionary|List|Tuple|Value) should ")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend. `line` counts from 1; `key` is a dotted path (`cases[0].match`), "" for the whole file."""

    source: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (f"{self.source}:{self.line}", self.key, self.message) if part)


class DocumentError(Exception):
    """A file cannot be used. `problems` is never empty and is sorted by line; `str()` has one line for each."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def parse_document(text: str, source: str, model: type[M], environment: Mapping[str, str] | None = None) -> M:
    """Read `text` as one `model`. `source` names the file in messages.

    `${env:NAME}` and `${env:NAME:-default}` in text values are replaced from `environment` (an empty
    variable takes the default, as in a shell). With None they stay as written. Raises `DocumentError`, whose
    messages repeat neither secrets of the file nor values of the environment.
    """
    tree = read_tree(text, environment)
    problems = [Problem(source, flaw.line, _dotted(flaw.path), flaw.message) for flaw in tree.flaws]
    try:
        document = model.model_validate(tree.value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        told = [_problem(source, model, tree, details) for details in found if not _echo(details, found, tree)]
        problems += _one_for_each_value(told)
    else:
        if not problems:
            return document
    raise DocumentError(tuple(sorted(problems, key=lambda problem: problem.line)))


def _echo(details: ErrorDetails, found: list[ErrorDetails], tree: Tree) -> bool:
    """Whether this error only repeats another: one mistake, one line.

    A duplicate or unset value was told already, as was a broken file; and pydantic calls a list too short when
    its items were wrong.
    """
    path, _ = _place(details["loc"], tree)
    if any(path[: len(flaw.path)] == flaw.path for flaw in tree.flaws):
        return True
    loc = details["loc"]
    return details["type"] == "too_short" and any(
        len(other["loc"]) > len(loc) and other["loc"][: len(loc)] == loc for other in found
    )


def _one_for_each_value(problems: list[Problem]) -> list[Problem]:
    """Where a value may be of several kinds and is of none, pydantic has an error for each kind."""
    merged: list[Problem] = []
    for one in problems:
        last = merged[-1] if merged else None
        same_value = last is not None and (last.line, last.key) == (one.line, one.key)
        if last is not None and same_value and last.message.startswith(_MUST) and one.message.startswith(_MUST):
            merged[-1] = replace(last, message=f"{last.message}, or {one.message.removeprefix(_MUST)}")
        else:
            merged.append(one)
    return merged


def _problem(source: str, model: type[BaseModel], tree: Tree, details: ErrorDetails) -> Problem:
    path, rest = _place(details["loc"], tree)
    key = (*path, *rest) if details["type"] == "missing" else path
    message = _without(tree.secrets, _message(details, model, path))
    return Problem(source, tree.lines.get(path, 1), _dotted(key), message)


def _place(loc: tuple[str | int, ...], tree: Tree) -> tuple[Path, Path]:
    """The part of pydantic's location that is in the text, and what is not (a missing key, the name of a union
    member)."""
    path: Path = ()
    rest: Path = ()
    for part in loc:
        if (*path, part) in tree.lines:
            path = (*path, part)
        else:
            rest = (part,)
    return path, rest


def _message(details: ErrorDetails, model: type[BaseModel], path: Path) -> str:
    match details["type"]:
        case "missing":
            return "is required: add it"
        case "extra_forbidden":
            return _unknown_key(str(path[-1]), _keys_at(model, path[:-1]))
        case "model_type" | "dict_type":
            return "must be a mapping (key: value lines)"
        case "list_type" | "tuple_type":
            return "must be a list (lines that start with a dash)"
        case "string_type":
            return "must be text: put it in quotes"
        case "none_required":
            return "must be left out"
        case _:
            message = details["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
            return _SHOULD.sub("must ", message, count=1).replace(" after validation", "", 1)


def _unknown_key(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    if close:
        return f"unknown key: did you mean {close[0]}?"
    return f"unknown key: known here are {', '.join(known)}" if known else "unknown key: remove it"


def _keys_at(model: type[BaseModel], path: Path) -> list[str]:
    """The keys that the model allows at a place, sorted."""
    annotations: list[Any] = [model]
    for part in path:
        annotations = [inner for annotation in annotations for inner in _inside(annotation, part)]
    return sorted({key for annotation in annotations for key in _fields(annotation)})


def _inside(annotation: Any, part: str | int) -> list[Any]:
    """The annotations of what stands under `part` in a value of this annotation, unions taken apart."""
    fields = _fields(annotation)
    if fields:
        return _alternatives(fields[part]) if isinstance(part, str) and part in fields else []
    arguments = [argument for argument in typing.get_args(annotation) if argument is not Ellipsis]
    if not arguments:
        return []
    return _alternatives(arguments[-1])  # the value type of a dict, the item type of a list or tuple


def _fields(annotation: Any) -> dict[str, Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {info.alias or name: info.annotation for name, info in annotation.model_fields.items()}
    return {}


def _alternatives(annotation: Any) -> list[Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _alternatives(typing.get_args(annotation)[0])
    if origin in {typing.Union, types.UnionType}:
        return [inner for member in typing.get_args(annotation) for inner in _alternatives(member)]
    return [annotation]


def _dotted(path: Path) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _without(secrets: set[str], message: str) -> str:
    """A validator may quote the value it dislikes; what came from the environment must not reach a log."""
    for secret in sorted(secrets, key=len, reverse=True):
        if secret and secret in message:
            message = message.replace(secret, "***")
    return message
