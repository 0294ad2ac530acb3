"""Text of a shell command line to its tree.

Reads what POSIX shells and PowerShell share, as far as it decides which commands run and what their words are.
Text in quotes, here-documents and comments is never taken for a command. One pass over the characters, so the time
grows with the length of the text and no faster; nothing raises.

A backslash before a letter or digit stays: nobody escapes those, but `C:\\skills\\tea` is a path.
"""

from __future__ import annotations

import re
from typing import Final

from extractors.shell.syntax import (
    Block,
    Command,
    Document,
    Group,
    Kind,
    Loop,
    Piece,
    Pipeline,
    Redirect,
    Stage,
    Word,
    text_of,
)

MAX_COMMAND: Final = 50_000
"""Characters of a command that are read; a longer one carries a document, and is not read at all."""

MAX_DEPTH: Final = 24
"""Levels of nesting that are read."""

_BLANKS: Final = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)*+")
_PLAIN: Final = re.compile(r"[^ \t\r\n\f\v\\'\"$`;&|<>()]++")
_IN_QUOTES: Final = re.compile(r"[^\\\"$`]++")
_BACKQUOTED: Final = re.compile(r"((?:[^`\\]++|\\.)*+)`", re.DOTALL)
_ANSI: Final = re.compile(r"((?:[^'\\]++|\\.)*+)'", re.DOTALL)
_NAME: Final = re.compile(r"env:\w+|\w+|[@*#?$!-]", re.IGNORECASE)
_REDIRECT: Final = re.compile(r"(\d{0,4})(<<<|<<-|<<|<>|<&|<(?!\()|>>|>&|>\||>(?!\())|()(&>>|&>)")
_KEYWORD: Final = re.compile(r"(?:[a-z]++|[{}!]|\[\[)(?=[\s;&|<>()]|\Z)")
_END_OF_WORD: Final = frozenset(" \t\r\n\f\v;&|<>()")
_CLOSERS: Final = frozenset({"do", "done", "then", "else", "elif", "fi", "esac", "}"})
_SAME_IN_QUOTES: Final = frozenset('$`"\\')


class _Unreadable(Exception):
    """An unfinished quote or too deep a nesting: nothing after it can be told."""


def parse(command: str) -> Block:
    """The commands of a text. Where it stops making sense, what stands before counts."""
    found: list[Pipeline] = []
    if len(command) <= MAX_COMMAND:
        try:
            _Reader(command).block(frozenset(), found)
        except _Unreadable:
            return tuple(found)
    return tuple(found)


class _Reader:
    """A position in a text, and the here-documents whose text is still to come."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self._awaited: list[Document] = []

    def block(self, until: frozenset[str], found: list[Pipeline]) -> None:
        """Read pipelines into `found` up to one of the words or signs in `until`, which stays."""
        self._deeper()
        after = ""
        while not self._at_end(until):
            start = self._at
            found.append(self._pipeline(after))
            after = self._connector()
            if self._at == start:
                self._at += 1  # a sign that begins nothing
        self._depth -= 1

    def _nested(self, *until: str) -> Block:
        """A block and the sign or word that closes it."""
        found: list[Pipeline] = []
        self.block(frozenset(until), found)
        closer = self._peek(1) if self._peek(1) == ")" else (self._keyword() or self._peek(2))
        self._at += len(closer)
        return tuple(found)

    def _at_end(self, until: frozenset[str]) -> bool:
        """Pass over what separates commands; whether the block is over."""
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                return True
            sign, keyword = self._peek(1), self._keyword()
            if sign in until or keyword in until or (";;" in until and self._peek(2) == ";;"):
                return True
            if sign == "\n":
                self._newline()
            elif sign in ";&|)":
                self._at += 1
            elif sign == "#":
                self._skip_comment()
            elif keyword in _CLOSERS:
                self._at += len(keyword)
            else:
                return False

    def _connector(self) -> str:
        self._skip_blanks()
        if self._peek(2) in {"&&", "||"}:
            self._at += 2
            return self._text[self._at - 2 : self._at]
        return ""

    def _pipeline(self, after: str) -> Pipeline:
        stages = [self._stage()]
        while self._peek(1) == "|" and self._peek(2) != "||":
            self._at += 2 if self._peek(2) == "|&" else 1
            self._skip_lines()
            stages.append(self._stage())
        return Pipeline(tuple(stages), after)

    def _stage(self) -> Stage:
        self._skip_blanks()
        while (keyword := self._keyword()) in {"!", "function"}:
            self._at += len(keyword)
            self._skip_blanks()
        if self._peek(1) == "(":
            return self._subshell()
        match keyword:
            case "{":
                return self._group(optional=False, until=("}",))
            case "if":
                return self._group(optional=True, until=("fi",))
            case "while" | "until":
                return self._group(optional=True, until=("done",))
            case "for" | "select":
                return self._loop()
            case "case":
                return self._case()
        return self._simple()

    def _group(self, *, optional: bool, until: tuple[str, ...]) -> Stage:
        """From an opening word to its closing word; `then`, `else`, `do` in between only separate."""
        self._at += len(self._keyword())
        body = self._nested(*until)
        return Group(body, self._redirects(), optional)

    def _subshell(self) -> Stage:
        self._at += 1
        body = self._nested(")")
        if self._at < len(self._text) and self._peek(1) not in _END_OF_WORD:
            return Command((self._word(),))  # PowerShell's (...).Length: a part of it, not its text
        return Group(body, self._redirects(), subshell=True)

    def _loop(self) -> Stage:
        self._at += len(self._keyword())
        self._skip_blanks()
        if self._peek(2) == "((":
            self._up_to("))")
            return self._group(optional=False, until=("done",))
        variable = text_of(self._word())
        values: list[Word] = []
        self._skip_lines()
        if self._keyword() == "in":
            self._at += 2
            while self._skip_blanks() and self._peek(1) not in ";\n)|&<>(":
                values.append(self._word())
        self._skip_lines(";")
        if self._keyword() in {"do", "{"}:
            self._at += len(self._keyword())
        return Loop(variable, tuple(values), self._nested("done", "}"), self._redirects())

    def _case(self) -> Stage:
        self._at += len("case")
        bodies: list[Pipeline] = []
        self._skip_blanks()
        self._word()
        self._skip_lines()
        self._at += 2 if self._keyword() == "in" else 0
        while self._skip_lines() and self._keyword() != "esac":
            closing = self._text.find(")", self._at)
            if closing < 0:
                raise _Unreadable
            self._at = closing + 1
            self.block(frozenset({";;", "esac"}), bodies)
            self._at += 2 if self._peek(2) == ";;" else 0
        self._at += len(self._keyword())
        return Group(tuple(bodies), self._redirects(), optional=True)

    def _simple(self) -> Stage:
        words: list[Word] = []
        redirects: list[Redirect] = []
        while self._skip_blanks():
            sign = self._peek(1)
            if (redirect := self._redirect()) is not None:
                redirects.append(redirect)
            elif sign in "<>":
                self._at += 2  # a process substitution: `<(...)`
                self._nested(")")
            elif sign in ";&|)\n" or sign == "#":
                break
            elif sign == "(":
                self._at += 1
                body = self._nested(")")
                if not body and len(words) == 1:
                    return self._definition()
            else:
                words.append(self._word())
        return Command(tuple(words), tuple(redirects))

    def _definition(self) -> Stage:
        """`name() { ... }` only tells what the name shall mean."""
        self._deeper()
        self._skip_lines()
        self._stage()
        self._depth -= 1
        return Command(())

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Unreadable

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while self._skip_blanks() and (redirect := self._redirect()) is not None:
            found.append(redirect)
        return tuple(found)

    def _redirect(self) -> Redirect | None:
        match = _REDIRECT.match(self._text, self._at)
        if match is None:
            return None
        descriptor, operator = match[1] or "", match[2] or match[4]
        self._at = match.end()
        self._skip_blanks()
        target = self._word()
        if operator not in {"<<", "<<-"}:
            return Redirect(operator, descriptor, target)
        document = Document(text_of(target))
        self._awaited.append(document)
        return Redirect(operator, descriptor, target, document)

    def _word(self) -> Word:
        """Up to the next blank or operator; () where one stands."""
        pieces: list[Piece] = []
        while self._at < len(self._text):
            plain = _PLAIN.match(self._text, self._at)
            if plain is not None:
                self._at = plain.end()
                pieces.append(Piece(Kind.PLAIN, plain[0]))
                continue
            sign = self._peek(1)
            if sign in _END_OF_WORD:
                break
            self._at += 1
            self._special(sign, pieces)
        return tuple(pieces)

    def _special(self, sign: str, pieces: list[Piece]) -> None:
        """What a sign that is not plain begins; the position is behind it."""
        match sign:
            case "'":
                pieces.append(Piece(Kind.QUOTED, self._up_to("'")))
            case '"':
                self._quoted(pieces)
            case "\\":
                self._escaped(pieces)
            case "$" if self._peek(1) == "'":
                self._at += 1
                pieces.append(Piece(Kind.QUOTED, self._matched(_ANSI)))
            case "$" | "`":
                self._substitution(sign, pieces)

    def _escaped(self, pieces: list[Piece]) -> None:
        sign = self._peek(1)
        self._at += 1
        if sign.isalnum() or sign in {".", "_", "-"}:
            pieces.append(Piece(Kind.PLAIN, "\\" + sign))
        elif sign != "\n":
            pieces.append(Piece(Kind.QUOTED, sign or "\\"))

    def _quoted(self, pieces: list[Piece]) -> None:
        """The rest of a text in double quotes."""
        pieces.append(Piece(Kind.QUOTED, ""))
        while self._at < len(self._text):
            run = _IN_QUOTES.match(self._text, self._at)
            if run is not None:
                self._at = run.end()
                pieces.append(Piece(Kind.QUOTED, run[0]))
                continue
            sign = self._peek(1)
            self._at += 1
            if sign == '"':
                return
            if sign == "\\":
                following = self._peek(1)
                self._at += 1
                kept = following if following in _SAME_IN_QUOTES else "\\" + following
                pieces.append(Piece(Kind.QUOTED, "" if following == "\n" else kept))
            else:
                self._substitution(sign, pieces)
        raise _Unreadable

    def _substitution(self, sign: str, pieces: list[Piece]) -> None:
        """What `$` or a backquote begins; itself when nothing."""
        if sign == "`":
            inner = _BACKQUOTED.match(self._text, self._at)
            if inner is None:
                pieces.append(Piece(Kind.QUOTED, sign))
                return
            self._at = inner.end()
            found: list[Pipeline] = []
            _Reader(inner[1].replace("\\`", "`"), self._depth).block(frozenset(), found)
            pieces.append(Piece(Kind.OUTPUT, "", tuple(found)))
        elif self._peek(2) == "((":
            self._up_to("))")
            pieces.append(Piece(Kind.OUTPUT, ""))
        elif self._peek(1) == "(":
            self._at += 1
            pieces.append(Piece(Kind.OUTPUT, "", self._nested(")")))
        elif self._peek(1) == "{":
            self._at += 1
            name = _NAME.match(inside := self._up_to("}"))
            pieces.append(Piece(Kind.VARIABLE, name[0] if name else inside))
        elif (name := _NAME.match(self._text, self._at)) is not None:
            self._at = name.end()
            pieces.append(Piece(Kind.VARIABLE, name[0]))
        else:
            pieces.append(Piece(Kind.QUOTED, sign))

    def _up_to(self, closing: str) -> str:
        end = self._text.find(closing, self._at)
        if end < 0:
            raise _Unreadable
        inside = self._text[self._at : end]
        self._at = end + len(closing)
        return inside

    def _matched(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _Unreadable
        self._at = match.end()
        return match[1]

    def _newline(self) -> None:
        """Pass over the end of a line and over the here-documents that begin there."""
        self._at += 1
        for document in self._awaited:
            lines: list[str] = []
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                line = self._text[self._at : end if end >= 0 else len(self._text)]
                self._at = end + 1 if end >= 0 else len(self._text)
                if line.strip("\t\r ") == document.delimiter:
                    break
                lines.append(line)
            document.text = "\n".join(lines)
        self._awaited.clear()

    def _skip_blanks(self) -> bool:
        """Pass over blanks; whether anything is left."""
        match = _BLANKS.match(self._text, self._at)
        self._at = match.end() if match is not None else self._at
        return self._at < len(self._text)

    def _skip_lines(self, others: str = "") -> bool:
        """Pass over blanks, ends of lines and comments, also over other signs; whether anything is left."""
        while self._skip_blanks():
            sign = self._peek(1)
            if sign == "\n":
                self._newline()
            elif sign == "#":
                self._skip_comment()
            elif sign in others:
                self._at += 1
            else:
                return True
        return False

    def _skip_comment(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = end if end >= 0 else len(self._text)

    def _keyword(self) -> str:
        """The lower-case word here that may be a word of the shell itself; "" when there is none."""
        match = _KEYWORD.match(self._text, self._at)
        return match[0] if match is not None else ""

    def _peek(self, length: int) -> str:
        return self._text[self._at : self._at + length]
