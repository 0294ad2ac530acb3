"""Which files a command line prints, in which order, which part of each: followed without running anything.

A file is read when its text goes where the agent sees it. Text that is written to another file, searched, counted
or handed to a program does not. Changes of directory, variables, loops, scripts in words and `xargs` are followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product, takewhile
from typing import Final, TypeAlias

from extractors.paths import basename, joined
from extractors.shell.output import FileText, OtherText, Printed, names_in
from extractors.shell.parsing import parse
from extractors.shell.syntax import Block, Command, Group, Kind, Loop, Pipeline, Redirect, Stage, Word
from extractors.shell.verbs import LISTERS, SILENT, is_filter, part_and_files, runs_scripts, script_of, wrapped

MAX_WORDS: Final = 64
"""Words that one word may stand for, and values that a loop goes through."""

MAX_STEPS: Final = 500
"""Commands that are followed, loops included."""

MAX_SCRIPTS: Final = 4
"""Levels of scripts in words, as in `bash -c "sh -c ..."`."""

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*+)\+?=")
_BRACES: Final = re.compile(r"\{([^{},]*+(?:,[^{},]*+)++)\}")
_SEEN: Final = frozenset({"/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"})
_UNKNOWN: Final = "$()"
_XARGS_VALUED: Final = frozenset({"-n", "-P", "-L", "-d", "-a", "-s"})


def printed(command: str, directory: str = "") -> tuple[Printed, ...]:
    """What a command line prints, in order. `directory` is where it starts, "" when unknown."""
    return tuple(_Run(directory).block(parse(command), maybe=False))


def printed_by_words(words: Sequence[str], directory: str = "") -> tuple[Printed, ...]:
    """The same for one command given as its words."""
    return tuple(_Run(directory).words(words, None, maybe=False))


@dataclass(slots=True)
class _Steps:
    """How many commands may still be followed."""

    left: int = MAX_STEPS


@dataclass(slots=True)
class _Run:
    """A shell that runs nothing: its directory, its variables and the directories that `pushd` left."""

    directory: str
    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    depth: int = 0
    steps: _Steps = field(default_factory=_Steps)

    def block(self, block: Block, *, maybe: bool) -> list[Printed]:
        """What a list of pipelines prints."""
        return [one for pipeline in block for one in self._pipeline(pipeline, maybe or pipeline.after == "||")]

    def words(self, words: Sequence[str], given: list[Printed] | None, *, maybe: bool) -> list[Printed]:
        """What one command prints, with `given` at its input; None when nothing is."""
        words = wrapped(words)
        if not words:
            return []
        verb, rest = basename(words[0]), words[1:]
        if (follow := _FOLLOWED.get(verb)) is not None:
            return follow(self, rest, given, maybe)
        if runs_scripts(verb):
            return self._script(verb, rest, given, maybe)
        if verb in SILENT:
            return []
        if verb in LISTERS:
            return [OtherText(None, tuple(map(self._listed, rest)), maybe)]
        return self._read(verb, rest, given, maybe)

    def _pipeline(self, pipeline: Pipeline, maybe: bool) -> list[Printed]:
        if len(pipeline.stages) == 1:
            return self.stage(pipeline.stages[0], None, maybe)
        found: list[Printed] | None = None
        for stage in pipeline.stages:
            found = self._apart().stage(stage, found, maybe)
        return found or []

    def _apart(self) -> _Run:
        """A shell of its own: what it changes stays inside."""
        return replace(self, variables=dict(self.variables), left=list(self.left))

    def _deeper(self, script: Block, *, maybe: bool) -> list[Printed]:
        """What a script inside a command prints."""
        if self.depth >= MAX_SCRIPTS:
            return [OtherText(maybe=maybe)]
        return replace(self._apart(), depth=self.depth + 1).block(script, maybe=maybe)

    def stage(self, stage: Stage, given: list[Printed] | None, maybe: bool) -> list[Printed]:
        self.steps.left -= 1
        if self.steps.left < 0:
            return []
        found = self._shown(stage, given, maybe)
        return [] if any(self._hides(redirect) for redirect in stage.redirects) else found

    def _shown(self, stage: Stage, given: list[Printed] | None, maybe: bool) -> list[Printed]:
        match stage:
            case Command():
                return self._command(stage, given, maybe)
            case Loop():
                return self._loop(stage, maybe)
            case Group():
                run = self._apart() if stage.subshell else self
                run.bind_lines(stage.body, given)
                return run.block(stage.body, maybe=maybe or (stage.optional and given is None))

    def bind_lines(self, body: Block, given: list[Printed] | None) -> None:
        """`... | while read -r name`: the name stands for each file that was listed."""
        first = body[0].stages[0] if body else None
        if given is not None and isinstance(first, Command):
            words = [self._text(word) for word in first.words]
            if "read" in words[:2]:
                self.variables[words[-1]] = names_in(given)

    def _loop(self, loop: Loop, maybe: bool) -> list[Printed]:
        found: list[Printed] = []
        for value in islice((text for word in loop.values for text in self._texts(word)), MAX_WORDS):
            self.variables[loop.variable] = (value,)
            found += self.block(loop.body, maybe=maybe)
        return found

    def _command(self, command: Command, given: list[Printed] | None, maybe: bool) -> list[Printed]:
        for redirect in command.redirects:
            given = self._at_input(redirect, given, maybe)
        if not command.words:
            return given or []  # `$(< file)` prints the file
        words = [text for word in command.words for text in self._texts(word)]
        while words and (assignment := _ASSIGNMENT.match(words[0])) is not None:
            self.variables[assignment[1]] = (words.pop(0)[assignment.end() :],)
        if words and words[0] in {"echo", "printf"} and (inner := self._files_in(command)):
            return inner
        return self.words(words, given, maybe=maybe)

    def _files_in(self, command: Command) -> list[Printed]:
        """What substitutions in the words print, when a file is among it."""
        scripts = [piece.script for word in command.words for piece in word if piece.script]
        found = [one for script in scripts for one in self._deeper(script, maybe=False)]
        return found if any(isinstance(one, FileText) for one in found) else []

    def _at_input(self, redirect: Redirect, given: list[Printed] | None, maybe: bool) -> list[Printed] | None:
        """What stands at the input after this redirect."""
        match redirect.operator:
            case "<":
                return [FileText(joined(self.directory, self._text(redirect.target)), maybe=maybe)]
            case "<<" | "<<-":
                return [OtherText(redirect.document.text if redirect.document is not None else None)]
            case "<<<":
                return [OtherText(self._text(redirect.target))]
        return given

    def _hides(self, redirect: Redirect) -> bool:
        """Whether this redirect takes the output where the agent does not see it."""
        if redirect.operator not in {">", ">>", ">|", ">&", "&>", "&>>"} or redirect.descriptor not in {"", "1"}:
            return False
        target = self._text(redirect.target)
        return target not in _SEEN and not (redirect.operator == ">&" and target in {"1", "2"})

    def _read(self, verb: str, rest: Sequence[str], given: list[Printed] | None, maybe: bool) -> list[Printed]:
        """A command that prints files or its input; what any other prints, only the run could tell."""
        found = part_and_files(verb, rest)
        if found is None:
            return [OtherText(maybe=maybe)]
        part, files = found
        if files:
            return [part.of(FileText(joined(self.directory, file), maybe=maybe)) for file in files]
        return part.of_all(given) if given is not None and is_filter(verb) else [OtherText(maybe=maybe)]

    def _script(self, verb: str, rest: Sequence[str], given: list[Printed] | None, maybe: bool) -> list[Printed]:
        """A shell with a script in its words or at its input."""
        script = script_of(verb, rest)
        if script is None and all(word.startswith("-") for word in rest):
            script = next((one.text for one in given or () if isinstance(one, OtherText)), None)
        return [OtherText(maybe=maybe)] if script is None else self._deeper(parse(script), maybe=maybe)

    def eval(self, rest: Sequence[str], _given: list[Printed] | None, maybe: bool) -> list[Printed]:
        return self._deeper(parse(" ".join(rest)), maybe=maybe)

    def echo(self, rest: Sequence[str], _given: list[Printed] | None, maybe: bool) -> list[Printed]:
        words = rest[1:] if rest and rest[0] in {"-e", "-n", "-ne", "-en"} else rest
        text = " ".join(words).replace("\\n", "\n")
        return [OtherText(None if "$" in text else text, tuple(words), maybe)]

    def printf(self, rest: Sequence[str], _given: list[Printed] | None, maybe: bool) -> list[Printed]:
        known = len(rest) == 1 and "%" not in rest[0] and "$" not in rest[0]
        return [OtherText(rest[0].replace("\\n", "\n") if known else None, tuple(rest), maybe)]

    def cd(self, rest: Sequence[str], _given: list[Printed] | None, _maybe: bool) -> list[Printed]:
        target = next((word for word in rest if not word.startswith("-") and word.lower() != "/d"), "~")
        self.directory = joined(self.directory, target) if "-" not in rest else ""
        return []

    def pushd(self, rest: Sequence[str], given: list[Printed] | None, maybe: bool) -> list[Printed]:
        self.left.append(self.directory)
        self.cd(rest, given, maybe)
        return [OtherText(maybe=maybe)]

    def popd(self, _rest: Sequence[str], _given: list[Printed] | None, maybe: bool) -> list[Printed]:
        self.directory = self.left.pop() if self.left else ""
        return [OtherText(maybe=maybe)]

    def xargs(self, rest: Sequence[str], given: list[Printed] | None, maybe: bool) -> list[Printed]:
        """The command of `xargs`, for the files that its input lists."""
        names, words, mark = names_in(given or ())[:MAX_WORDS], list(rest), ""
        while words and words[0].startswith("-"):
            option = words.pop(0)
            if option.startswith(("-I", "-J")):
                mark = option[2:] or (words.pop(0) if words else "")
            elif option in _XARGS_VALUED and words:
                words.pop(0)
        if not mark:
            return self.words([*words, *names], [], maybe=maybe)
        return self._each(words, mark, names, maybe)

    def find(self, rest: Sequence[str], _given: list[Printed] | None, maybe: bool) -> list[Printed]:
        """`find`: names of files, or a command for each of them."""
        tests = [rest[at] for at in range(1, len(rest)) if rest[at - 1] in {"-name", "-iname", "-path", "-wholename"}]
        roots = list(takewhile(lambda word: not word.startswith(("-", "(", "!")), rest))[:MAX_WORDS] or ["."]
        name = tests[-1].lstrip("/") if tests else "*"
        pattern = name if "/" in name else "**/" + name
        paths = [f"{joined(self.directory, root).rstrip('/')}/{pattern}" for root in roots]
        at = next((at for at, word in enumerate(rest) if word in {"-exec", "-execdir"}), None)
        if at is None:
            return [OtherText(None, tuple(paths), maybe)]
        words = list(takewhile(lambda word: word not in {";", "+"}, rest[at + 1 :]))
        return self._each(words, "{}", paths, maybe)

    def _each(self, words: Sequence[str], mark: str, names: Iterable[str], maybe: bool) -> list[Printed]:
        """The command for each name, put in where `mark` stands."""
        filled = ([word.replace(mark, name) for word in words] for name in names)
        return [one for command in filled for one in self.words(command, [], maybe=maybe)]

    def _listed(self, word: str) -> str:
        """A word of a listing command as the file it will name: a bare name is one to look for."""
        return joined(self.directory, word) if "/" in word or "\\" in word else f"**/{word}"

    def _text(self, word: Word) -> str:
        return next(iter(self._texts(word)), "")

    def _texts(self, word: Word) -> list[str]:
        """The words that a word stands for: variables, listed files and braces put in."""
        choices = [self._choices(piece.kind, piece.text, piece.script) for piece in word]
        texts = ["".join(parts) for parts in islice(product(*choices), MAX_WORDS)]
        if not any(piece.kind is Kind.PLAIN and "{" in piece.text for piece in word):
            return texts
        return [text for one in texts for text in _unbraced(one)][:MAX_WORDS]

    def _choices(self, kind: Kind, text: str, script: Block) -> Sequence[str]:
        match kind:
            case Kind.VARIABLE:
                return self.variables.get(text) or (f"${text}",)
            case Kind.OUTPUT:
                return names_in(self._deeper(script, maybe=False)) or (_UNKNOWN,)
        return (text,)


def _unbraced(text: str) -> list[str]:
    """The words that `{a,b}` in a word makes of it."""
    made: list[str] = []
    open_ones = [text]
    while open_ones and len(made) + len(open_ones) <= MAX_WORDS:
        one = open_ones.pop(0)
        braces = _BRACES.search(one)
        if braces is None:
            made.append(one)
        else:
            open_ones += [one[: braces.start()] + choice + one[braces.end() :] for choice in braces[1].split(",")]
    return made + open_ones


_Follow: TypeAlias = Callable[[_Run, Sequence[str], "list[Printed] | None", bool], "list[Printed]"]
_FOLLOWED: Final[Mapping[str, _Follow]] = {
    "cd": _Run.cd,
    "chdir": _Run.cd,
    "sl": _Run.cd,
    "set-location": _Run.cd,
    "pushd": _Run.pushd,
    "popd": _Run.popd,
    "echo": _Run.echo,
    "write-host": _Run.echo,
    "printf": _Run.printf,
    "eval": _Run.eval,
    "xargs": _Run.xargs,
    "find": _Run.find,
}
