"""Was a SKILL.md read? Recognizes reads by file tools and by shell commands, and names the skill.

A tool is known by what its name says and by its arguments, since every harness has names of its own. The file's name
counts in any case: on two of three systems `skill.md` is the same file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extractors.attributes import as_list, as_mapping, integer
from extractors.paths import cleaned, directory_name, joined
from extractors.shell.output import FileText, Printed
from extractors.shell.running import printed, printed_by_words
from extractors.spans import Value

COMMAND_ARGUMENTS: Final = ("command", "cmd", "commands", "shell_command", "bash_command", "script", "command_line")
DIRECTORY_ARGUMENTS: Final = (
    "workdir", "cwd", "working_directory", "workingDirectory", "working_dir", "dir_path", "directory"
)  # fmt: skip

_READING: Final = frozenset({"read", "view", "open", "cat", "show"})
_FETCHING: Final = frozenset({"get", "fetch", "load", "download"})
_FILES: Final = frozenset({"file", "files", "content", "contents", "text", "resource", "document"})
_CHANGING: Final = frozenset(
    {"write", "edit", "create", "delete", "remove", "update", "append", "insert", "replace", "move", "copy", "rename"}
    | {"list", "search", "find", "grep", "glob", "stat", "info", "exists", "metadata", "diff", "upload", "save", "put"}
)
_SHELLS: Final = frozenset(
    {"bash", "shell", "terminal", "sh", "zsh", "powershell", "pwsh", "cmd", "command", "exec", "execute"}
)
_INTERPRETERS: Final = frozenset({"python", "ipython", "jupyter", "node", "javascript", "code", "interpreter", "repl"})
_SCRIPT_ARGUMENTS: Final = ("code", "source", "source_code", "python_code")
_MODES: Final = ("command", "action", "operation", "mode", "op")
_PATHS: Final = frozenset(
    {"path", "filepath", "filename", "file", "absolutepath", "absolutefilepath", "targetfile", "relativepath"}
    | {"relativeworkspacepath", "fullpath", "uri", "url", "pathinproject", "paths", "files", "filepaths", "target"}
)
_FIRST_LINE: Final = ("offset", "start_line", "startLine", "line_start", "start")
_LIMIT: Final = ("limit", "max_lines", "num_lines", "maxLines")
_LAST_LINE: Final = ("end_line", "endLine", "line_end", "end")
_NUMBERS: Final = (bool, int, float)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CUT_PATH: Final = re.compile(r"\"(\w{1,40})\" ?: ?\"((?:[^\"\\]++|\\.)*+)\"")


@dataclass(frozen=True, slots=True)
class Reading:
    """A call that shows files, at least one of them a SKILL.md. `by_command`: a shell did, others' text may be mixed
    in. `shows` is what it shows, in order."""

    shows: tuple[Printed, ...]
    by_command: bool

    @property
    def skill_files(self) -> tuple[FileText, ...]:
        return tuple(one for one in self.shows if isinstance(one, FileText) and is_skill_file(one.path))


def reading(tool: str, arguments: Mapping[str, Value] | None, text: str | None = None) -> Reading | None:
    """What this call shows when it shows a SKILL.md; None when it does not or its arguments are not recorded.

    `text` is what was recorded of arguments that could not be read as an object.
    """
    if arguments is None:
        arguments = {} if text is None else _from_text(tool, text)
    for value in arguments.values():  # a loop: asked of every call, and nearly always in vain
        if _mentions_skill_file(value):
            break
    else:
        return None
    found = _by_file_tool(tool, arguments) or _by_shell(tool, arguments)
    return found if found is not None and found.skill_files else None


def may_read(tool: str) -> bool:
    """Whether a tool's name allows that it showed a file: a shell, an interpreter or a tool that reads."""
    words = {word.lower() for word in _WORDS.findall(tool)}
    return bool(words & (_SHELLS | _INTERPRETERS)) or _reads_files(tool, {})


def scripts(tool: str, arguments: Mapping[str, Value] | None, text: str | None = None) -> tuple[str, ...]:
    """The texts that a call hands to a shell or an interpreter; () when it does not run any."""
    if arguments is None:
        arguments = {} if text is None else _from_text(tool, text)
    runs = {word.lower() for word in _WORDS.findall(tool)} & (_SHELLS | _INTERPRETERS)
    values = [value for key, value in arguments.items() if runs or key in COMMAND_ARGUMENTS or key in _SCRIPT_ARGUMENTS]
    return tuple(_texts(values))


def shown_by_command(tool: str, arguments: Mapping[str, Value] | None) -> tuple[Printed, ...]:
    """What a call of a shell prints, as far as its command tells; () for anything else."""
    if arguments is None or any(key in arguments for key in _SCRIPT_ARGUMENTS):
        return ()
    found = _by_shell(tool, arguments)
    return found.shows if found is not None else ()


def _mentions_skill_file(value: Value) -> bool:
    if isinstance(value, str):  # nearly always
        return "skill.md" in value.lower()
    if value is None or isinstance(value, _NUMBERS):
        return False
    return any("skill.md" in part.lower() for part in _texts((value,)))


def file_read(tool: str, arguments: Mapping[str, Value] | None) -> str | None:
    """Path of the first SKILL.md that this call reads; None when it reads none or its arguments are not recorded."""
    found = reading(tool, arguments)
    return found.skill_files[0].path if found is not None else None


def is_skill_file(path: str) -> bool:
    """Whether the path's last segment is SKILL.md, in any case and with either slash."""
    return path.replace("\\", "/").rpartition("/")[2].lower() == "skill.md"


def name_of_file(path: str, body: str) -> str | None:
    """A skill file's name: `name` of its frontmatter, else its directory; None when there is neither."""
    return frontmatter_name(body) or directory_name(path)


def frontmatter_name(body: str) -> str | None:
    """`name` in the frontmatter that the text begins with; None when there is none."""
    lines = body.splitlines()
    if not lines or lines[0].strip() != "---":
        return None
    closing = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    for line in lines[1:closing]:
        key, colon, value = line.partition(":")
        if colon and key == "name":
            return value.strip().strip("\"'") or None
    return None


def _by_file_tool(tool: str, arguments: Mapping[str, Value]) -> Reading | None:
    if not _reads_files(tool, arguments):
        return None
    paths = [path for path in _paths(arguments) if path]
    whole = len(paths) == 1
    directory = _directory(arguments)
    shown = (
        _part(joined(directory, path), arguments) if whole else FileText(joined(directory, path)) for path in paths
    )
    return Reading(tuple(shown), by_command=False)


def _reads_files(tool: str, arguments: Mapping[str, Value]) -> bool:
    """Whether the tool's name, or the mode it is asked for, says that it reads files."""
    modes = [mode.lower() for key in _MODES if isinstance(mode := arguments.get(key), str)]
    if any(mode in _READING for mode in modes):
        return True
    words = {word.lower() for word in _WORDS.findall(tool)}
    if (
        words & _CHANGING
        or any(mode in _CHANGING for mode in modes)
        or any(key in arguments for key in COMMAND_ARGUMENTS)
    ):
        return False
    return bool(words & _READING) or bool(words & _FETCHING and words & _FILES)


def _paths(arguments: Mapping[str, Value]) -> list[str]:
    """The paths among the arguments: by their names, else whatever is a SKILL.md."""
    named = [value for key, value in arguments.items() if key.replace("_", "").replace("-", "").lower() in _PATHS]
    found = [cleaned(text) for text in _texts(named)]
    return found or [cleaned(text) for text in _texts(tuple(arguments.values())) if is_skill_file(cleaned(text))]


def _texts(values: Sequence[Value], depth: int = 3) -> Iterator[str]:
    """All texts in arguments, also in lists and objects in them."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif depth:
            inner = as_mapping(value)
            yield from _texts(tuple(inner.values()) if inner is not None else tuple(as_list(value) or ()), depth - 1)


def _part(path: str, arguments: Mapping[str, Value]) -> FileText:
    """The part of a file that the arguments ask for."""
    lines = as_list(arguments.get("view_range"))
    if lines is not None and len(lines) == 2 and isinstance(lines[0], int) and isinstance(lines[1], int):
        return FileText(path, lines[0], lines[1] if lines[1] > 0 else None)
    first = max(_integer(arguments, _FIRST_LINE) or 1, 1)
    limit, last = _integer(arguments, _LIMIT), _integer(arguments, _LAST_LINE)
    if last is None and limit is not None and limit > 0:
        last = first + limit - 1
    return FileText(path, first, last if last is not None and last > 0 else None)


def _integer(arguments: Mapping[str, Value], keys: Sequence[str]) -> int | None:
    return next((found for key in keys if (found := integer(arguments, key)) is not None), None)


def _by_shell(tool: str, arguments: Mapping[str, Value]) -> Reading | None:
    """Any tool with a command among its arguments is a shell."""
    value = next((arguments[key] for key in COMMAND_ARGUMENTS if key in arguments), None)
    if value is None and {word.lower() for word in _WORDS.findall(tool)} & _SHELLS:
        value = next((text for text in _texts(tuple(arguments.values())) if "skill.md" in text.lower()), None)
    return None if value is None else Reading(_printed(value, _directory(arguments)), by_command=True)


def _printed(command: Value, directory: str) -> tuple[Printed, ...]:
    """What a command prints: a text, the words of one command, or a list of commands."""
    if isinstance(command, str):
        return printed(command, directory)
    items = as_list(command) or ()
    words = [item for item in items if isinstance(item, str)]
    if len(words) == len(items) and words and (" " not in words[0]) and _is_one_command(words):
        return printed_by_words(words, directory)
    return printed("\n".join(_texts(items)), directory)


def _is_one_command(words: Sequence[str]) -> bool:
    return any(is_skill_file(word) for word in words) or any(word.lower().startswith(("-", "/c")) for word in words[1:])


def _directory(arguments: Mapping[str, Value]) -> str:
    return next((text for key in DIRECTORY_ARGUMENTS if isinstance(text := arguments.get(key), str)), "")


def _from_text(tool: str, text: str) -> Mapping[str, Value]:
    """Arguments that were recorded as a bare value or as JSON that was cut."""
    if text.lstrip().startswith("{"):
        return {match[1]: match[2].replace('\\"', '"').replace("\\\\", "\\") for match in _CUT_PATH.finditer(text)}
    shell = {word.lower() for word in _WORDS.findall(tool)} & _SHELLS
    return {"command" if shell else "path": text}
