"""Pages, their code blocks, and the commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "deploy" / "README.md",
        ROOT / "helm" / "README.md",
        ROOT / "extractors" / "README.md",
    ]
)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`(spanjudge [a-z-][^`\n]+)`(?!`)")


@dataclass(frozen=True, slots=True)
class Command:
    page: str
    """from the top of the checkout"""
    text: str
    """one line as a shell reads it: continued ones are joined"""

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(language: str, pages: Sequence[Path] = PAGES) -> Iterator[tuple[str, str]]:
    """(page, text) of every code block in this language."""
    for page in pages:
        for found, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
            if found == language:
                yield name_of(page), text


def languages(pages: Sequence[Path] = PAGES) -> Iterator[tuple[str, str]]:
    """(page, language) of every code block."""
    for page in pages:
        for found, _ in _BLOCK.findall(page.read_text(encoding="utf-8")):
            yield name_of(page), found


def commands(pages: Sequence[Path] = PAGES) -> list[Command]:
    """Of all blocks in `sh`, in order; comments are gone."""
    return [Command(page, line) for page, text in blocks("sh", pages) for line in _lines(text)]


def inline_commands(pages: Sequence[Path] = PAGES) -> list[Command]:
    """Commands of ours within sentences. Those with `...` or `|` stand for several."""
    return [
        Command(name_of(page), text)
        for page in pages
        for text in _INLINE.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))
        if not re.search(r"\.\.\.|[|\[]", text)
    ]


def _lines(text: str) -> Iterator[str]:
    """A quote that is open at its end, or a backslash there, carries a line on."""
    held = ""
    for line in text.splitlines():
        held += line
        if held.endswith("\\"):
            held = held[:-1] + " "
            continue
        try:
            words = shlex.split(held, comments=True)
        except ValueError:
            held += "\n"
            continue
        if words:
            yield _without_comment(held)
        held = ""
    assert not held, f"a quote is left open: {held!r}"


def _without_comment(line: str) -> str:
    """A comment begins at a # behind a blank that no quote is around."""
    for found in re.finditer(r"(^|\s)#", line):
        try:
            shlex.split(line[: found.start()])
        except ValueError:
            continue
        return line[: found.start()].strip()
    return line.strip()
