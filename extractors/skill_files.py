"""Was a SKILL.md read? Recognizes reads by file tools and by shell commands, and names the skill.

Only a command that prints the file counts: writing to it, editing it or searching in it is no load.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import PurePosixPath
from typing import Final

from extractors.attributes import as_list
from extractors.spans import Value

READ_TOOLS: Final = frozenset({"read", "read_file", "file_read", "filesystem_read", "read_text_file"})
SHELL_TOOLS: Final = frozenset(
    {"bash", "shell", "terminal", "command", "execute_command", "exec_command", "run_command", "run_shell_command"}
)
PATH_ARGUMENTS: Final = ("path", "file_path", "filename", "absolute_path")
COMMAND_ARGUMENTS: Final = ("command", "cmd")
READ_VERBS: Final = frozenset({"cat", "sed", "head", "tail", "bat", "less", "more", "nl", "type", "get-content"})

MAX_COMMAND: Final = 20_000
"""Characters of a command worth splitting into words; a longer one carries a file's text, it does not read one."""

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
_WRAPPERS: Final = frozenset({"sudo", "env", "command", "time", "nohup"})
_SEPARATORS: Final = frozenset({";", "|", "||", "&&", "&", "|&", "\n", "(", ")", ";;"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_NUMBERED: Final = re.compile(r" *\d+(?:\t|→|\| ?)")


def file_read(tool: str, arguments: Mapping[str, Value] | None) -> str | None:
    """Path of the SKILL.md that this call reads; None when it reads none or its arguments are not recorded."""
    if arguments is None:
        return None
    name = tool.lower()
    if name.rpartition(".")[2] in READ_TOOLS:
        path = next((value for key in PATH_ARGUMENTS if isinstance(value := arguments.get(key), str)), None)
        return path if path is not None and is_skill_file(path) else None
    if name in SHELL_TOOLS:
        return _read_by_command(next((arguments[key] for key in COMMAND_ARGUMENTS if key in arguments), None))
    return None


def is_skill_file(path: str) -> bool:
    """Whether the path's last segment is SKILL.md, in any case and with either slash."""
    return path.replace("\\", "/").rpartition("/")[2].lower() == "skill.md"


def name_of_file(path: str, body: str) -> str | None:
    """A skill file's name: `name` of its frontmatter, else its directory; None when there is neither."""
    declared = _frontmatter_name(body)
    if declared:
        return declared
    directory = PurePosixPath(path.replace("\\", "/")).parent.name
    return directory if directory not in {"", ".", ".."} else None


def without_line_numbers(text: str) -> str:
    """The text without the line numbers that some read tools put before every line."""
    lines = text.splitlines()
    prefixes = [_NUMBERED.match(line) for line in lines]
    if not lines or not all(prefixes):
        return text
    return "\n".join(line[prefix.end() :] for line, prefix in zip(lines, prefixes, strict=True) if prefix)


def _frontmatter_name(body: str) -> str | None:
    lines = body.splitlines()
    if not lines or lines[0].strip() != "---":
        return None
    closing = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    for line in lines[1:closing]:
        key, colon, value = line.partition(":")
        if colon and key == "name":
            return value.strip().strip("\"'") or None
    return None


def _read_by_command(command: Value) -> str | None:
    """The first SKILL.md printed by a command line, given as text or as a list of words."""
    if isinstance(command, str):
        words = _words(command)
    else:
        words = [word for word in as_list(command) or () if isinstance(word, str)]
    script = _script_of(words)
    if script is not None:
        words = _words(script)
    before_documents = list(takewhile(lambda word: word not in {"<<", "<<-"}, words))  # what follows is their text
    return next((path for part in _segments(before_documents) if (path := _printed(part)) is not None), None)


def _words(command: str) -> list[str]:
    """Shell words and operators; none when quotes do not match or no SKILL.md is mentioned."""
    if len(command) > MAX_COMMAND or "skill.md" not in command.lower():
        return []
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _script_of(words: Sequence[str]) -> str | None:
    """The script of `bash -lc '...'`."""
    if not words or _basename(words[0]) not in _SHELLS:
        return None
    for option, argument in pairwise(words[1:]):
        if option.startswith("-") and not option.startswith("--") and option.endswith("c"):
            return argument
    return None


def _segments(words: Sequence[str]) -> Iterator[list[str]]:
    """Simple commands, each without its operators."""
    segment: list[str] = []
    for word in words:
        if word in _SEPARATORS or (word and set(word) <= set(";|&()\n")):
            yield segment
            segment = []
        else:
            segment.append(word)
    yield segment


def _printed(segment: Sequence[str]) -> str | None:
    """The SKILL.md that one simple command prints."""
    words = list(segment)
    while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
        words.pop(0)
    if not words or _basename(words[0]) not in READ_VERBS:
        return None
    if _basename(words[0]) == "sed" and any(word.startswith(("-i", "--in-place")) for word in words):
        return None
    inputs = words[1 : next((at for at, word in enumerate(words) if word.startswith(">")), len(words))]
    return next((word for word in inputs if is_skill_file(word)), None)


def _basename(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
