"""What Compose makes of deploy/compose.yaml, by Compose's own loader: a Go module, built once and kept between runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cache import cached

_SOURCES = tuple(Path(__file__).parent / "compose" / name for name in ("go.mod", "go.sum", "main.go"))
_BUILD_S = 600


class NoCompose(Exception):
    """Why this machine cannot build it, and what would mend that."""


class ComposeError(Exception):
    """Why Compose refuses the file."""


def compose_program() -> Path:
    """Raises `NoCompose`."""
    if shutil.which("go") is None:
        raise NoCompose("install Go, which builds it")
    contents = hashlib.sha256(b"\0".join(source.read_bytes() for source in _SOURCES)).hexdigest()[:12]
    return cached(f"compose-{contents}", _build) / "compose"


def composed(program: Path, file: Path, *profiles: str, **environment: str) -> Mapping[str, Any]:
    """The project with all that is merged and filled in; without `profiles` those of .env beside the file. Raises
    `ComposeError`."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("COMPOSE_", "SPANJUDGE_"))}
    ran = subprocess.run(
        [str(program), str(file), *profiles],
        env={**ours, **environment},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise ComposeError(ran.stderr.strip())
    project: Mapping[str, Any] = json.loads(ran.stdout)
    return project


def _build(directory: Path) -> None:
    source = directory / "source"  # a copy: Go may want to write to go.sum
    source.mkdir()
    for file in _SOURCES:
        shutil.copy(file, source)
    command = ["go", "build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", str(directory / "compose"), "."]
    built = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False, timeout=_BUILD_S)
    shutil.rmtree(source)
    if built.returncode:
        said = built.stderr.strip().splitlines() or ["no word why"]
        raise NoCompose(f"Go could not build it: {said[-1]}")


if __name__ == "__main__":
    compose_program()  # in front of the tests, whose time is measured
