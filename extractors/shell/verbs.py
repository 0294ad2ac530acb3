"""Commands that print files, and which part of them; commands that run others; commands that print nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from extractors.paths import basename
from extractors.shell.output import WHOLE, Part

SILENT: Final = frozenset(
    {"test", "[", "[[", "export", "set", "unset", "mkdir", "touch", "true", "false", ":", "sleep", "umask", "alias"}
    | {"shopt", "chmod", "chown", "source", ".", "cp", "mv", "rm", "ln", "read", "local", "declare", "exit", "return"}
    | {"break", "continue", "wait", "trap", "then", "else", "new-item", "copy-item", "remove-item", "set-content"}
)
LISTERS: Final = frozenset(
    {"ls", "dir", "fd", "fdfind", "rg", "grep", "egrep", "git", "locate", "realpath", "readlink"}
)
"""Commands whose words may be files that they name in their output."""

_GET_CONTENT: Final = frozenset({"-totalcount", "-first", "-head", "-tail", "-last", "-encoding", "-delimiter"})
_SELECT_OBJECT: Final = frozenset({"-first", "-last", "-skip"})
_VALUED: Final[Mapping[str, frozenset[str]]] = {
    "cat": frozenset(),
    "tac": frozenset(),
    "less": frozenset(),
    "more": frozenset(),
    "glow": frozenset({"-w", "-s"}),
    "mdcat": frozenset(),
    "nl": frozenset({"-b", "-w", "-s", "-n", "-v", "-i"}),
    "fold": frozenset({"-w"}),
    "fmt": frozenset({"-w"}),
    "bat": frozenset({"-r", "--line-range", "-l", "--language", "--theme", "--style", "-H"}),
    "batcat": frozenset({"-r", "--line-range", "-l", "--language", "--theme", "--style", "-H"}),
    "head": frozenset({"-n", "-c", "--lines", "--bytes"}),
    "tail": frozenset({"-n", "-c", "--lines", "--bytes"}),
    "sed": frozenset({"-e", "-f", "--expression", "--file"}),
    "awk": frozenset({"-F", "-v", "-f"}),
    "gawk": frozenset({"-F", "-v", "-f"}),
    "mawk": frozenset({"-F", "-v", "-f"}),
    "type": frozenset(),
    "gc": _GET_CONTENT,
    "get-content": _GET_CONTENT,
    "select-object": _SELECT_OBJECT,
    "select": _SELECT_OBJECT,
    "tee": frozenset(),
    "out-string": frozenset({"-width"}),
    "out-host": frozenset(),
    "write-output": frozenset(),
}
"""Commands that print files or their input → their options that take the next word."""

_ONLY_FILTERS: Final = frozenset({"tee", "select-object", "select", "out-string", "out-host", "write-output"})
_POWERSHELL_READERS: Final = frozenset({"get-content", "gc", "select-object", "select"})
_COUNTS: Final = frozenset({"-n", "--lines", "-totalcount", "-first", "-head", "-tail", "-last", "-skip"})
_FROM_THE_END: Final = frozenset({"-tail", "-last"})
_AWKS: Final = frozenset({"awk", "gawk", "mawk"})
_COUNT: Final = re.compile(r"(?:-n|--lines=)([+-]?)(\d{1,9})\Z|(\+?)-?(\d{1,9})\Z")
_SED_LINES: Final = re.compile(r"(\d{1,9})(?:,(\d{1,9}|\$))?p?\Z")
_SED_UNTIL: Final = re.compile(r"(\d{1,9})q\Z")
_RANGE: Final = re.compile(r"(?:--line-range=)?(\d{0,9}):(\d{0,9})\Z")
_AWK_SEARCHES: Final = ("/", "END", "~")
_WRAPPERS: Final[Mapping[str, tuple[frozenset[str], int]]] = {
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-D"}), 0),
    "doas": (frozenset({"-u"}), 0),
    "env": (frozenset({"-u", "-C"}), 0),
    "time": (frozenset({"-f", "-o"}), 0),
    "nice": (frozenset({"-n"}), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "timeout": (frozenset({"-k", "-s"}), 1),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "exec": (frozenset({"-a"}), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "unbuffer": (frozenset(), 0),
    "winpty": (frozenset(), 0),
    "busybox": (frozenset(), 0),
}
"""Commands that run the rest of their words → options that take the next word, words of their own before the rest."""

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ksh", "zsh", "ash"})
_POWERSHELLS: Final = frozenset({"powershell", "pwsh"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*+=")


def runs_scripts(verb: str) -> bool:
    """Whether the command is a shell."""
    return verb in _SHELLS or verb in _POWERSHELLS or verb == "cmd"


def script_of(verb: str, rest: Sequence[str]) -> str | None:
    """The script in a shell's words, as in `bash -lc '...'`; None when it has none there."""
    for at, word in enumerate(rest):
        option = word.lower()
        if verb in _SHELLS and option.startswith("-") and not option.startswith("--") and option.endswith("c"):
            return rest[at + 1] if at + 1 < len(rest) else None
        if (verb in _POWERSHELLS and option in {"-c", "-command"}) or (verb == "cmd" and option in {"/c", "/k"}):
            return " ".join(rest[at + 1 :])
    return None


def wrapped(words: Sequence[str]) -> list[str]:
    """The words without the commands before them that only run the rest, such as `sudo -u me`."""
    at = 0
    while at < len(words) and (wrapper := _WRAPPERS.get(basename(words[at]))) is not None:
        valued, own = wrapper
        at += 1
        while at < len(words) and (words[at].startswith("-") or _ASSIGNMENT.match(words[at])):
            at += 2 if words[at] in valued else 1
        at += own
    return list(words[at:])


def is_filter(verb: str) -> bool:
    """Whether the command shows what it is given."""
    return verb in _VALUED


def part_and_files(verb: str, rest: Sequence[str]) -> tuple[Part, list[str]] | None:
    """Which part of its files the command shows, and the files; None when it shows none of them."""
    valued = _VALUED.get(verb)
    if valued is None:
        return None
    powershell = verb in _POWERSHELL_READERS
    options, others = _sorted(rest, valued, powershell=powershell)
    if powershell:  # `a, b` and `a,b` are lists there
        others = [file for word in others for file in word.split(",") if file]
    if verb == "sed" or verb in _AWKS:
        return _by_program(verb, options, others)
    return _part(verb, options), [] if verb in _ONLY_FILTERS else others


def _sorted(
    rest: Sequence[str], valued: frozenset[str], *, powershell: bool
) -> tuple[list[tuple[str, str | None]], list[str]]:
    """Options with their values, and the other words."""
    options: list[tuple[str, str | None]] = []
    others: list[str] = []
    at = 0
    while at < len(rest):
        word = rest[at].lower() if powershell else rest[at]
        at += 1
        if word == "--":
            others += rest[at:]
            break
        if word in valued and at < len(rest):
            options.append((word, rest[at]))
            at += 1
        elif len(word) > 1 and word.startswith(("-", "+")):
            options.append((word, None))
        else:
            others.append(rest[at - 1])
    return options, [word for word in others if word != "-"]


def _part(verb: str, options: Sequence[tuple[str, str | None]]) -> Part:
    if verb in {"bat", "batcat"}:
        ranges = [match for option, value in options if (match := _RANGE.match(value or option))]
        return Part(int(ranges[0][1] or 1), int(ranges[0][2]) if ranges[0][2] else None) if ranges else WHOLE
    if verb in {"fold", "fmt", "tac"}:
        return Part(cut=True)
    if verb not in {"head", "tail", "get-content", "gc", "select-object", "select"}:
        return WHOLE
    for option, value in options:
        match = _COUNT.match(f"-n{value}" if option in _COUNTS else option)
        if match is not None:
            from_end = verb == "tail" or option in _FROM_THE_END
            sign, count = match[1] or match[3] or "", int(match[2] or match[4])
            return _counted(sign, count, from_end=from_end, skip=option == "-skip")
    if verb in {"head", "tail"}:
        by_bytes = any(option.startswith(("-c", "--bytes")) for option, _ in options)
        return Part(1 if verb == "head" else None, None if by_bytes or verb == "tail" else 10, cut=by_bytes)
    return WHOLE


def _counted(sign: str, count: int, *, from_end: bool, skip: bool) -> Part:
    if skip:
        return Part(count + 1)
    if from_end:
        return Part(max(count, 1)) if sign == "+" else Part(None)
    return Part(1, None, cut=True) if sign == "-" else Part(1, count)


def _by_program(
    verb: str, options: Sequence[tuple[str, str | None]], others: Sequence[str]
) -> tuple[Part, list[str]] | None:
    """`sed` and `awk`: the first word is the program unless an option brings it."""
    if verb == "sed" and any(option.startswith(("-i", "--in-place")) for option, _ in options):
        return None
    programs = [value for option, value in options if option in {"-e", "--expression", "-f", "--file"} and value]
    files = list(others) if programs else list(others[1:])
    program = (programs or list(others[:1]) or [""])[0].strip().replace(" ", "")
    quiet = any(option in {"-n", "--quiet", "--silent", "-nE", "-En", "-nr", "-rn"} for option, _ in options)
    part = _part_by_sed(program, quiet=quiet) if verb == "sed" else _part_by_awk(program)
    return None if part is None else (part, files)


def _part_by_sed(program: str, *, quiet: bool) -> Part | None:
    lines = _SED_LINES.match(program)
    if quiet and lines is not None and program.endswith("p"):
        last = lines[2] if lines[2] is not None else lines[1]
        return Part(int(lines[1]), None if last == "$" else int(last))
    until = _SED_UNTIL.match(program)
    if until is not None:
        return Part(1, int(until[1]))
    if quiet and not program.endswith("p"):
        return None
    return Part(None, cut=True) if quiet else Part(cut=True)


def _part_by_awk(program: str) -> Part | None:
    """A program that searches or sums up shows no text."""
    return None if any(sign in program for sign in _AWK_SEARCHES) else Part(cut=True)
