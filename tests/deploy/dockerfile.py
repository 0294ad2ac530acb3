"""Dockerfiles as lists of instructions, and which files of a checkout a build gets to see."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    text: str
    """as written, in one line"""

    def words(self) -> list[str]:
        """Of the form with brackets."""
        found: list[str] = json.loads(self.text)
        return found


def stages(dockerfile: str, arguments: Mapping[str, str] | None = None) -> list[list[Instruction]]:
    """What stands in each stage, its FROM first. `arguments` as of `--build-arg`."""
    found: list[list[Instruction]] = []
    known: dict[str, str] = {}
    for instruction in _instructions(dockerfile):
        if instruction.name == "ARG" and not found:
            name, _, default = instruction.text.partition("=")
            known[name] = (arguments or {}).get(name, default)
        elif instruction.name == "FROM":
            found.append([Instruction("FROM", substituted(instruction.text, known))])
        else:
            found[-1].append(instruction)
    return found


def substituted(text: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda name: known.get(name[1] or name[2], ""), text)


def _instructions(dockerfile: str) -> Iterator[Instruction]:
    lines = [line for line in dockerfile.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    for line in joined.splitlines():
        name, _, text = line.partition(" ")
        yield Instruction(name, text.strip())


def build_context(checkout: Path, files: list[str]) -> list[str]:
    """Those of the `files` (relative paths) that .dockerignore leaves; the last pattern that fits decides."""
    lines = (checkout / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [file for file in files if not _ignored(file, patterns)]


def _ignored(file: str, patterns: list[str]) -> bool:
    ignored = False
    for pattern in patterns:
        if _fits(file, pattern.removeprefix("!")):
            ignored = not pattern.startswith("!")
    return ignored


def _fits(file: str, pattern: str) -> bool:
    """The file, or a directory that it is in."""
    parts = file.split("/")
    paths = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    if pattern.startswith("**/"):
        return any(fnmatch.fnmatchcase(part, pattern[3:]) for part in parts)
    depth = pattern.count("/") + 1
    return len(paths) >= depth and fnmatch.fnmatchcase(paths[depth - 1], pattern)
