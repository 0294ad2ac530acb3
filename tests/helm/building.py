"""Helm's program and the schemas of custom resources that the chart may render, from Go modules that go.mod pins; made
once and kept between runs of the tests. The first build takes minutes."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cache import cached

_HELM = Path(__file__).with_name("program")
_HELM_SOURCES = tuple(_HELM / name for name in ("go.mod", "go.sum", "main.go"))
_BUILD_S = 1800
_OPERATOR = "example/prometheus-operator-crd/monitoring.coreos.com"
_RESOURCES: Mapping[str, tuple[str, ...]] = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        f"{_OPERATOR}_servicemonitors.yaml",
        f"{_OPERATOR}_prometheusrules.yaml",
    ),
    "github.com/kedacore/keda/v2@v2.21.0": ("config/crd/bases/keda.sh_scaledobjects.yaml",),
}
"""Files in which modules define custom resources."""


class NoHelm(Exception):
    """Why this machine cannot build it, and what would mend that."""


def helm_program() -> Path:
    """Raises `NoHelm`."""
    contents = b"\0".join(source.read_bytes() for source in _HELM_SOURCES)
    return cached(f"helm-{_digest(contents)}", _build) / "helm"


def custom_resources() -> tuple[Path, ...]:
    """The files that define them. Raises `NoHelm`."""
    directory = cached(f"crds-{_digest(repr(_RESOURCES).encode())}", _fetch)
    return tuple(sorted(directory.glob("*.yaml")))


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()[:12]


def _build(directory: Path) -> None:
    source = directory / "source"  # a copy: Go may want to write to go.sum
    source.mkdir()
    for file in _HELM_SOURCES:
        shutil.copy(file, source)
    _go("build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", str(directory / "helm"), ".", at=source)
    shutil.rmtree(source)


def _fetch(directory: Path) -> None:
    for module, files in _RESOURCES.items():
        fetched = Path(json.loads(_go("mod", "download", "-json", module, at=directory))["Dir"])
        for file in files:
            shutil.copyfile(fetched / file, directory / Path(file).name)


def _go(*arguments: str, at: Path) -> str:
    if shutil.which("go") is None:
        raise NoHelm("install Go, which builds it")
    ran = subprocess.run(["go", *arguments], cwd=at, capture_output=True, text=True, check=False, timeout=_BUILD_S)
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip().splitlines() or ["no word why"]
        raise NoHelm(f"go {arguments[0]} failed: {said[-1]}")
    return ran.stdout


if __name__ == "__main__":
    helm_program()  # in front of the tests, whose time is measured
    custom_resources()
