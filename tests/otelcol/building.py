"""The Collector's program, built once and kept between runs of the tests. The first build takes minutes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.cache import cached

_SOURCES = tuple(Path(__file__).with_name(name) for name in ("go.mod", "go.sum", "main.go"))
_BUILD_S = 1800


class NoCollector(Exception):
    """Why this machine cannot build it, and what would mend that."""


def collector_program() -> Path:
    """Raises `NoCollector`."""
    if shutil.which("go") is None:
        raise NoCollector("install Go, which builds it")
    contents = hashlib.sha256(b"\0".join(source.read_bytes() for source in _SOURCES)).hexdigest()[:12]
    return cached(f"otelcol-{contents}", _build) / "collector"


def _build(directory: Path) -> None:
    source = directory / "source"  # a copy: Go may want to write to go.sum
    source.mkdir()
    for file in _SOURCES:
        shutil.copy(file, source)
    command = ["go", "build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", str(directory / "collector"), "."]
    built = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False, timeout=_BUILD_S)
    shutil.rmtree(source)
    if built.returncode:
        said = built.stderr.strip().splitlines() or ["no word why"]
        raise NoCollector(f"Go could not build it: {said[-1]}")


if __name__ == "__main__":
    collector_program()  # in front of the tests, whose time is measured
