"""Helm's program and the schemas of custom resources that the chart may render, from Go modules that go.mod pins; made
once and kept between runs of the tests. The first build takes minutes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.cache import cached
from tests.go_programs import digest, go_module, go_program

_HELM = Path(__file__).with_name("program")
_OPERATOR = "example/prometheus-operator-crd/monitoring.coreos.com"
_RESOURCES: Mapping[str, tuple[str, ...]] = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        f"{_OPERATOR}_servicemonitors.yaml",
        f"{_OPERATOR}_prometheusrules.yaml",
    ),
    "github.com/kedacore/keda/v2@v2.21.0": ("config/crd/bases/keda.sh_scaledobjects.yaml",),
}
"""Files in which modules define custom resources."""


def helm_program() -> Path:
    """Raises `NoGo`."""
    return go_program("helm", _HELM)


def custom_resources() -> tuple[Path, ...]:
    """The files that define them. Raises `NoGo`."""
    directory = cached(f"crds-{digest(repr(_RESOURCES).encode())}", _fetch)
    return tuple(sorted(directory.glob("*.yaml")))


def _fetch(directory: Path) -> None:
    for name, files in _RESOURCES.items():
        fetched = go_module(name, directory)
        for file in files:
            shutil.copyfile(fetched / file, directory / Path(file).name)


if __name__ == "__main__":
    helm_program()  # in front of the tests, whose time is measured
    custom_resources()
