"""The schema of the chart's values: the chart's own part, and our configuration as `spanjudge config-schema` prints it.

`python -m tests.helm.values_schema > helm/values.schema.json` writes the file; a test compares it with what this gives.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from collector.config_docs import schema

_OWN_PART = Path(__file__).with_name("values.schema.yaml")
_DEFAULTS = Path(__file__).parents[2] / "helm" / "values.yaml"
_FREE = {"config", "resources", "labels", "podSecurityContext", "securityContext"}
"""Values that null may take away, and whose parts it may: nothing depends on them, or other checks look at them."""
_SECRET = {
    "type": "string",
    "if": {"pattern": r"\$\{env:[A-Za-z_][A-Za-z0-9_]*"},
    "else": {"const": "a reference, ${env:NAME}, with the Secret of NAME under secrets.env"},
}
"""Of a secret, the ConfigMap has only where it comes from. What is no reference must not be repeated in the message, as
that of a pattern would."""
_LEFT_TO_THE_CHART: Mapping[str, tuple[str, ...]] = {
    "Config": ("data_dir", "role"),
    "Listener": ("listen",),
    "KafkaSettings": ("instance_id",),
}
"""Keys of our configuration by the section they stand in, as our schema calls it."""


def values_schema() -> dict[str, Any]:
    own: dict[str, Any] = yaml.safe_load(_OWN_PART.read_text(encoding="utf-8"))
    ours = schema()
    sections = ours.pop("$defs")
    del ours["$schema"]
    sections["Config"] = ours
    for section, keys in _LEFT_TO_THE_CHART.items():
        _leave_out(sections[section], keys)
    _as_text_too(sections["KafkaSettings"]["properties"], "bootstrap_servers")
    _require(own, yaml.safe_load(_DEFAULTS.read_text(encoding="utf-8")), own["$defs"])
    own["$defs"] |= {name: _for_values(section) for name, section in sections.items()}
    return own


def _require(part: dict[str, Any], defaults: Mapping[str, Any], shared: Mapping[str, Any]) -> None:
    """What has a default that says something has to be there: a key that is left empty (null) takes the default away,
    and templates would fail in their own words, or render what Kubernetes does not take."""
    told = [key for key, value in defaults.items() if key not in _FREE and (value or value is False or value == 0)]
    part["required"] = sorted(
        {*part.get("required", ()), *(key for key in told if not isinstance(defaults[key], list))}
    )
    for key in told:
        below = part["properties"][key]
        below = shared[below["$ref"].removeprefix("#/$defs/")] if "$ref" in below else below
        if isinstance(defaults[key], dict) and "properties" in below:
            _require(below, defaults[key], shared)


def _leave_out(section: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        del section["properties"][key]
    section["required"] = [key for key in section.get("required", ()) if key not in keys]


def _as_text_too(properties: dict[str, Any], key: str) -> None:
    described = properties[key]
    properties[key] = {"description": described.pop("description"), "anyOf": [described, {"type": "string"}]}


def _for_values(part: Any) -> Any:
    """Without titles and defaults, which say nothing new here, and with secrets by reference only."""
    if isinstance(part, list):
        return [_for_values(each) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("writeOnly"):
        return _SECRET
    kept = {key: value for key, value in part.items() if key not in {"title", "default", "format", "properties"}}
    found = {key: _for_values(value) for key, value in kept.items()}
    if isinstance(properties := part.get("properties"), dict):
        found["properties"] = {name: _for_values(each) for name, each in properties.items()}
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(values_schema(), indent=2) + "\n")
