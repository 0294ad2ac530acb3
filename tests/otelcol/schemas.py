"""What processors take that the tests' Collector cannot be built with: the schemas that their Go modules bring along.

filter and tail_sampling rest on a module (pkg/ottl) that not every module proxy serves. Their own modules are, and hold
a description of their keys, which is read here in place of running them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.cache import cached
from tests.go_programs import go_module

_CONTRIB = "github.com/open-telemetry/opentelemetry-collector-contrib"
NOT_BUILT = {"filter": "processor/filterprocessor", "tail_sampling": "processor/tailsamplingprocessor"}
"""Kinds of processors, and their modules."""


def version() -> str:
    """Of the contributed modules that the Collector is built from."""
    text = Path(__file__).with_name("go.mod").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if f"{_CONTRIB}/exporter/kafkaexporter " in line]
    return line.split()[-1]


def schema_of(kind: str) -> Mapping[str, Any]:
    """JSON Schema of a processor's section; keys that it does not know are wrong. Raises `NoGo`."""
    file = cached(f"otelcol-schema-{kind}-{version()}", lambda directory: _fetch(kind, directory)) / "schema.yaml"
    described = yaml.safe_load(file.read_text(encoding="utf-8"))
    found: Mapping[str, Any] = _strict({**described, "$defs": described.get("$defs", {})})
    return found


def _fetch(kind: str, directory: Path) -> None:
    fetched = go_module(f"{_CONTRIB}/{NOT_BUILT[kind]}@{version()}", directory)
    shutil.copyfile(fetched / "config.schema.yaml", directory / "schema.yaml")


def _strict(part: Any) -> Any:
    """References within the file as JSON Schema writes them; those to other modules stand for anything."""
    if isinstance(part, list):
        return [_strict(each) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = str(part["$ref"])
        return {"$ref": f"#/$defs/{name}"} if name.isidentifier() else {}
    kept = {key: _strict(value) for key, value in part.items() if not key.startswith("x-")}
    duration = {"type": ["string", "integer"]} if str(part.get("x-customType", "")).endswith("Duration") else {}
    if isinstance(kept.get("properties"), dict) and "additionalProperties" not in kept and "allOf" not in kept:
        kept["additionalProperties"] = False
    return {**kept, **duration}
