"""A Collector that runs a configuration as it stands in a file, but for the processors that the tests cannot build."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.kafka.ports import free_ports
from tests.otelcol.collector import Collector
from tests.otelcol.schemas import NOT_BUILT

_VALIDATE_S = 60


def kind(component: str) -> str:
    return component.partition("/")[0]


def runnable(text: str, instead: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The configuration without the processors of `tests.otelcol.schemas`; `instead` has some to stand in for them,
    each by the name of what it replaces, as {name: section}."""
    config: dict[str, Any] = yaml.safe_load(text)
    missing = {name for name in config.get("processors", {}) if kind(name) in NOT_BUILT}
    stand_ins = {name: dict((instead or {}).get(name, {})) for name in missing}
    for name in missing:
        del config["processors"][name]
        config["processors"] |= stand_ins[name]
    for pipeline in config["service"]["pipelines"].values():
        named = pipeline.get("processors", ())
        pipeline["processors"] = [
            each for name in named for each in (stand_ins.get(name, {}) if name in missing else [name])
        ]
    return config


def validate(program: Path, *files: Path) -> str:
    """What the Collector says against the files, one laid over the other; nothing when they are good."""
    command = [str(program), "validate", *(f"--config={file}" for file in files)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_VALIDATE_S)
    return ran.stderr.strip() if ran.returncode else ""


class FromFile(Collector):
    """On free ports, with a queue in `directory`. `verdicts` is where it takes verdicts."""

    def __init__(
        self,
        directory: Path,
        program: Path,
        file: Path,
        instead: Mapping[str, Mapping[str, Any]] | None = None,
        **environment: str,
    ) -> None:
        super().__init__(directory, program, {})
        grpc, http, verdicts, health, metrics = free_ports(5)
        self.grpc, self.verdicts = f"127.0.0.1:{grpc}", f"127.0.0.1:{verdicts}"
        self.environment = {
            "AGENTS_GRPC": self.grpc,
            "AGENTS_HTTP": f"127.0.0.1:{http}",
            "VERDICTS_GRPC": self.verdicts,
            "HEALTH": f"127.0.0.1:{health}",
            "METRICS_HOST": "127.0.0.1",
            "METRICS_PORT": str(metrics),
            "QUEUE_DIRECTORY": str(directory / "queue"),
            **environment,
        }
        shutil.rmtree(directory / "queue", ignore_errors=True)
        self._file.write_text(yaml.safe_dump(runnable(file.read_text(encoding="utf-8"), instead)))
