"""The chart as Helm renders it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

CHART = Path(__file__).parents[2] / "helm"
RELEASE, NAMESPACE = "spanjudge", "agents"

Object: TypeAlias = dict[str, Any]
"""One object of Kubernetes."""


class Refused(Exception):
    """What Helm said instead of rendering."""


@dataclass(frozen=True)
class Rendered:
    objects: tuple[Object, ...]

    def all(self, kind: str) -> list[Object]:
        return [each for each in self.objects if each["kind"] == kind]

    def one(self, kind: str, name: str = RELEASE) -> Object:
        (found,) = [each for each in self.all(kind) if each["metadata"]["name"] == name]
        return found

    def workloads(self) -> dict[str, Object]:
        """Those that make pods, by part: single, receiver, router, worker."""
        found = [*self.all("Deployment"), *self.all("StatefulSet")]
        return {each["metadata"]["labels"]["app.kubernetes.io/component"]: each for each in found}

    def pods(self) -> dict[str, Object]:
        """The templates of pods, by part."""
        return {part: workload["spec"]["template"] for part, workload in self.workloads().items()}

    def config(self) -> dict[str, Any]:
        """Our configuration, as the pods get it."""
        config: dict[str, Any] = yaml.safe_load(self.one("ConfigMap")["data"]["spanjudge.yaml"])
        return config


class Helm:
    def __init__(self, program: Path) -> None:
        self._program = program
        self._rendered: dict[str, Rendered] = {}

    def render(self, values: Mapping[str, Any] | None = None, release: str = RELEASE, chart: Path = CHART) -> Rendered:
        """What `helm template` gives. Raises `Refused`."""
        key = f"{chart} {release} {json.dumps(values)}"
        if key not in self._rendered:  # tests ask several things of the same
            shown = self._run("template", release, str(chart), "--namespace", NAMESPACE, values=values)
            self._rendered[key] = Rendered(tuple(each for each in yaml.safe_load_all(shown) if each))
        return self._rendered[key]

    def notes(self, values: Mapping[str, Any] | None = None) -> str:
        """What is shown after an installation."""
        shown = self._run("install", RELEASE, str(CHART), "--dry-run=client", "--namespace", NAMESPACE, values=values)
        return shown.partition("\nNOTES:\n")[2]

    def lint(self, values: Mapping[str, Any] | None = None) -> None:
        """Raises `Refused` with errors and warnings."""
        self._run("lint", "--strict", str(CHART), values=values)

    def package(self, directory: Path) -> Path:
        """The chart as an archive."""
        self._run("package", str(CHART), "--destination", str(directory))
        (archive,) = directory.glob("*.tgz")
        return archive

    def _run(self, *arguments: str, values: Mapping[str, Any] | None = None) -> str:
        given = ("--values", "-") if values is not None else ()
        ran = subprocess.run(
            [str(self._program), *arguments, *given],
            input=None if values is None else yaml.safe_dump(dict(values)),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if ran.returncode:
            raise Refused(ran.stdout + ran.stderr)
        return ran.stdout
