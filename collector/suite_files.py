"""A case added to the text of a suite file, with all that was written there left as it is (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from judge.documents import DocumentError, Problem
from judge.suites import parse_suite

_INDENT = 2
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


def new_suite(name: str, case: Mapping[str, Any], remarks: Mapping[str, str]) -> str:
    """The text of a suite with this case alone, version 1."""
    lines = [f"name: {_scalar(name)}", 'version: "1"', "cases:", *_item(case, remarks, _INDENT)]
    return "\n".join(lines) + "\n"


def with_case(text: str, source: str, case: Mapping[str, Any], remarks: Mapping[str, str]) -> str:
    """The text with the case behind the last one. `remarks` (key → words) become comments on the case's keys.

    Raises `DocumentError` when the text is no suite, has a case of this id, or its cases are written in a form that
    cannot be added to.
    """
    before = parse_suite(text, source)
    if any(one.id == case["id"] for one in before.cases):
        problem = f"there is a case {case['id']} already: choose another with --id, or edit the file"
        raise DocumentError((Problem(source, 1, "cases", problem),))
    at, indent = _end_of_cases(text, source)
    lines = _lines(text)
    end = "\r" if "\r\n" in text else ""
    added = [line + end for line in ("", *_item(case, remarks, indent))]
    after = "\n".join([*lines[:at], *added, *lines[at:]]) + "\n"
    made = parse_suite(after, source)
    kept = [one.model_dump() for one in made.cases[:-1]] == [one.model_dump() for one in before.cases]
    if not kept or made.cases[-1].id != case["id"]:
        raise DocumentError((Problem(source, at, "cases", "the case cannot be added here: add it by hand"),))
    return after


def _end_of_cases(text: str, source: str) -> tuple[int, int]:
    """The number of lines up to the end of the last case, and the column of the cases' dashes."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):  # it has been read as a suite before
        raise DocumentError((Problem(source, 1, "", "must be a mapping (key: value lines)"),))
    cases = next(value for key, value in root.value if key.value == "cases")
    if cases.flow_style:
        problem = "the cases are written in brackets: write them as lines that start with a dash, then add one"
        raise DocumentError((Problem(source, cases.start_mark.line + 1, "cases", problem),))
    lines = _lines(text)
    end = cases.end_mark.line + (cases.end_mark.column > 0)
    # The end of a block is where the next begins: comments and empty lines between belong to neither.
    while end > 0 and lines[end - 1].lstrip()[:1] in {"", "#"}:
        end -= 1
    return end, cases.start_mark.column


def _lines(text: str) -> list[str]:
    """Without what `splitlines` takes for line ends beside these: they may stand in texts."""
    return text.removesuffix("\n").split("\n")


def _item(case: Mapping[str, Any], remarks: Mapping[str, str], indent: int) -> Iterator[str]:
    for number, (key, value) in enumerate(case.items()):
        lead = " " * indent + ("- " if number == 0 else "  ")
        remark = f" # {remarks[key]}" if key in remarks else ""
        for line_number, line in enumerate(_entry(key, value)):
            yield f"{lead}{line}{remark}" if line_number == 0 else f"{' ' * (indent + 2)}{line}"


def _entry(key: str, value: Any) -> Iterator[str]:
    match value:
        case Mapping() if value:
            yield f"{key}:"
            for inner, item in value.items():
                yield from (f"  {line}" for line in _entry(inner, item))
        case list() | tuple() if value:
            yield f"{key}:"
            yield from (f"  - {_inline(item)}" for item in value)
        case _:
            yield f"{key}: {_inline(value)}"


def _inline(value: Any) -> str:
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_scalar(str(key))}: {_inline(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
    return _scalar(str(value))


def _scalar(text: str) -> str:
    """Plain where nobody could take it for anything but a text, else in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
