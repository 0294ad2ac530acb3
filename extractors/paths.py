"""Paths as agents write them: with either slash, relative, with `~`, a drive, a variable or as a `file:` URI."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

_ROOTED: Final = re.compile(r"[/\\~$]|[A-Za-z]:|[A-Za-z][\w+.-]*+://")
_FILE_URI: Final = re.compile(r"file:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
_UNKNOWN: Final = re.compile(r"[*?$`\[\]{}<>|]")


def basename(path: str) -> str:
    """The last segment, lower case, without `.exe`."""
    return path.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def cleaned(path: str) -> str:
    """The path without blanks around it, a `file:` URI as a path."""
    path = path.strip()
    uri = _FILE_URI.match(path)
    if uri is None:
        return path
    local = unquote(path[uri.end() :])
    return local[1:] if re.match(r"/[A-Za-z]:", local) else local


def joined(directory: str, path: str) -> str:
    """The path seen from a directory; "" stands for a directory nobody knows. `..` is resolved where it can be."""
    path = cleaned(path)
    rooted = not directory or _ROOTED.match(path) is not None
    return _resolved(path if rooted else f"{directory.rstrip('/')}/{path}")


def directory_name(path: str) -> str | None:
    """Name of the directory that holds the file; None when the path does not tell."""
    segments = [segment for segment in _slashed(path).split("/")[:-1] if segment not in {"", "."}]
    name = segments[-1] if segments else ""
    return None if not name or name in {"..", "~"} or name.endswith(":") or _UNKNOWN.search(name) else name


def is_pattern(path: str) -> bool:
    """Whether the path has wildcards, so that it may stand for several files."""
    return "*" in path or "?" in path


def same_file(one: str, other: str) -> bool:
    """Whether two paths can be the same file: one of them is the end of the other."""
    short, long = sorted((_comparable(one), _comparable(other)), key=len)
    return long == short or long.endswith("/" + short)


def _comparable(path: str) -> str:
    return _slashed(_resolved(path)).removeprefix("~/").casefold()


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _resolved(path: str) -> str:
    if "/./" not in path and ".." not in path and not path.startswith("./"):
        return path
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and kept and kept[-1] not in {"", "..", "~"}:
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept)
