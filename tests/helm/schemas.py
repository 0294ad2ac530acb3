"""What Kubernetes and the operators take: each object against its own schema, without keys that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate  # type: ignore[import-untyped]
import yaml

from tests.helm.rendering import Object

VERSIONS = ("1.27", "1.31", kubernetes_validate.latest_version())
"""Of Kubernetes: the oldest that Chart.yaml allows, and two more."""


class Schemas:
    def __init__(self, custom_resources: Iterable[Path]) -> None:
        """Files that define custom resources."""
        self._custom: dict[tuple[str, str], Any] = {}
        for file in custom_resources:
            definition = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]
            for version in definition["versions"]:
                key = f"{definition['group']}/{version['name']}", definition["names"]["kind"]
                self._custom[key] = _strict(version["schema"]["openAPIV3Schema"])

    def check(self, each: Object, version: str) -> None:
        """Raises what the validator raises, with the path of what is wrong."""
        custom = self._custom.get((each["apiVersion"], each["kind"]))
        if custom is None:
            kubernetes_validate.validate(each, version, strict=True)
        else:
            _Validator(custom).validate(each)


def _unique_by(_: Any, keys: list[str], items: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    named = [tuple(item.get(key) for key in keys) for item in items]
    if len(named) != len(set(named)):
        yield jsonschema.ValidationError(f"{', '.join(keys)} must be unique, and are {named}")


_Validator = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, {"uniqueBy": _unique_by}
)


def _strict(schema: Any) -> Any:
    """A structural schema in plain JSON Schema. Keys that it does not name, which Kubernetes drops, are refused."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    found = {key: _strict(value) for key, value in schema.items() if key != "properties"}
    if keys := schema.get("x-kubernetes-list-map-keys"):
        found["uniqueBy"] = keys
    if properties := schema.get("properties"):
        found["properties"] = {name: _strict(each) for name, each in properties.items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            found.setdefault("additionalProperties", False)
    if isinstance(pattern := schema.get("pattern"), str) and "(?i)" in pattern:
        found["pattern"] = "(?i)" + pattern.replace("(?i)", "")  # Go takes it anywhere, Python at the start
    if schema.get("nullable"):
        found["type"] = [found["type"], "null"]
    return found
