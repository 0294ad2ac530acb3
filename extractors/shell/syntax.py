"""A shell command line as a tree: lists, pipelines, compound and simple commands, words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Kind(Enum):
    """What a part of a word is."""

    PLAIN = "plain"
    """unquoted text, in which wildcards and braces work"""
    QUOTED = "quoted"
    VARIABLE = "variable"
    """`text` is the variable's name"""
    OUTPUT = "output"
    """`$(...)`: what `script` prints"""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word."""

    kind: Kind
    text: str
    script: Block = ()


Word: TypeAlias = tuple[Piece, ...]


@dataclass(slots=True)
class Document:
    """The text of a here-document; it follows only after the line that asks for it."""

    delimiter: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` without its descriptor, such as `>` or `<<`; `descriptor` is "" when none is written."""

    operator: str
    descriptor: str
    target: Word
    document: Document | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that share their redirects. `optional`: they may not run, as in `if`; `subshell`: in `( )`."""

    body: Block
    redirects: tuple[Redirect, ...] = ()
    optional: bool = False
    subshell: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """`for variable in values; do body; done`."""

    variable: str
    values: tuple[Word, ...]
    body: Block
    redirects: tuple[Redirect, ...] = ()


Stage: TypeAlias = Command | Group | Loop


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages with pipes between. `after` is what joins it to the one before: `&&`, `||`, or "" for anything else."""

    stages: tuple[Stage, ...]
    after: str = ""


Block: TypeAlias = tuple[Pipeline, ...]


def text_of(word: Word) -> str:
    """The word's text, variables by their bare names."""
    return "".join(piece.text for piece in word)
