"""A SKILL.md shown by a program that nobody can follow: `git show`, an interpreter, a command on another machine.

What such a command prints cannot be told from its words. It counts as a read when it names a SKILL.md and the output
holds the text of that skill: a search, a diff or a listing prints no such text, and what a command writes it holds
itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from extractors.paths import directory_name
from extractors.shell.output import FileText
from extractors.skill_files import frontmatter_name, scripts, shown_by_command
from extractors.skill_texts import MAX_TEXTS, beginnings, folded
from extractors.tool_output import output_of
from extractors.trajectory import ToolCall

_MAX_PATHS: Final = 64
_MAX_PATH: Final = 1_000
_NAME: Final = "skill.md"
_END_OF_PATH: Final = frozenset(" \t\r\n'\"`=;|&<>(),\0")
_REVISION: Final = re.compile(r"[\w./~^@{}-]{2,200}:(?![/\\])")


@dataclass(frozen=True, slots=True)
class ShownSkill:
    """`body` is None when it cannot be told from what else was printed. `path` is as the command writes it."""

    path: str
    name: str
    body: str | None


def shown(call: ToolCall) -> tuple[ShownSkill, ...]:
    """The skills that a call names and shows, though its command does not tell that it does."""
    if call.result is None or "---" not in call.result:
        return ()
    texts = [text for text in scripts(call.name, call.arguments, call.arguments_text) if _NAME in text.lower()]
    paths = [path for text in texts for path in islice(_paths(text), _MAX_PATHS)]
    output = output_of(call.result).text
    starts = list(islice(beginnings(output), MAX_TEXTS))
    if not paths or not starts:
        return ()
    prints = shown_by_command(call.name, call.arguments)
    alone = len(starts) == 1 and len(prints) <= 1 and not output[: starts[0]].strip()
    others = any(isinstance(one, FileText) for one in prints)
    found = [
        _skill(output[at:end], paths, certain=alone and not others)
        for at, end in zip(starts, [*starts[1:], len(output)], strict=True)
    ]
    return tuple(
        ShownSkill(one.path, one.name, one.body if alone else None)
        for one in found
        if one is not None and not any(_tells(text, one.name) for text in texts)
    )


def _skill(text: str, paths: Sequence[str], *, certain: bool) -> ShownSkill | None:
    """The skill whose text begins here, if it is one of these files: its directory has the skill's name, or cannot be
    told, or there is nothing else that this could be."""
    name = frontmatter_name(text)
    if name is None:
        return None
    directories = [(path, directory_name(path)) for path in paths]
    path = next((path for path, own in directories if own is not None and folded(own) == folded(name)), None)
    if path is None and (certain or all(own is None for _, own in directories)) and len(set(paths)) == 1:
        path = paths[0]
    return None if path is None else ShownSkill(path, name, text)


def _tells(script: str, name: str) -> bool:
    """Whether a script holds the frontmatter itself: then it writes the skill."""
    return re.search(rf"name: *['\"]?{re.escape(name)}", script) is not None


def _paths(script: str) -> Iterator[str]:
    """Every path to a SKILL.md in a script, without the revision before it."""
    folded_script, at = script.lower(), -1
    while (at := folded_script.find(_NAME, at + 1)) >= 0:
        end = at + len(_NAME)
        if end < len(script) and (script[end].isalnum() or script[end] in "._~-/"):
            continue
        start = at
        while start > max(at - _MAX_PATH, 0) and script[start - 1] not in _END_OF_PATH:
            start -= 1
        path = script[start:end]
        if start == at or script[at - 1] in "/\\:":
            revision = _REVISION.match(path)
            yield path[revision.end() :] if revision is not None else path
