"""Programs and files that tests take from Go modules: made once and kept between runs. A first build takes minutes."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from tests.cache import cached

_SOURCES = ("go.mod", "go.sum", "main.go")
_MOST_S = 1800


class NoGo(Exception):
    """Why this machine cannot do it, and what would mend that."""


def go_program(name: str, sources: Path) -> Path:
    """What go.mod, go.sum and main.go in the directory `sources` make. Raises `NoGo`."""
    contents = digest(b"\0".join((sources / file).read_bytes() for file in _SOURCES))

    def build(directory: Path) -> None:
        copy = directory / "source"  # Go may want to write to go.sum
        copy.mkdir()
        for file in _SOURCES:
            shutil.copy(sources / file, copy)
        _go("build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", str(directory / name), ".", at=copy)
        shutil.rmtree(copy)

    return cached(f"{name}-{contents}", build) / name


def go_module(name: str, at: Path) -> Path:
    """The directory of a module's files; `name` is path@version. Go runs in `at`. Raises `NoGo`."""
    return Path(json.loads(_go("mod", "download", "-json", name, at=at))["Dir"])


def digest(contents: bytes) -> str:
    """Short enough for a name, and another when the contents are others."""
    return hashlib.sha256(contents).hexdigest()[:12]


def _go(*arguments: str, at: Path) -> str:
    if shutil.which("go") is None:
        raise NoGo("install Go, which makes it")
    ran = subprocess.run(["go", *arguments], cwd=at, capture_output=True, text=True, check=False, timeout=_MOST_S)
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip().splitlines() or ["no word why"]
        raise NoGo(f"go {' '.join(arguments[:2])} failed: {said[-1]}")
    return ran.stdout
