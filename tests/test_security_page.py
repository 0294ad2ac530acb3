"""docs/security.md names tests, metrics and keys that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.config import Config
from collector.metrics import Metrics

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
BLOCKS: list[dict[str, Any]] = [
    yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]
OURS = [block for block in BLOCKS if "exporters" not in block]


def test_the_tests_of_the_threat_model_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGE))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_metrics_exist() -> None:
    named = set(re.findall(r"spanjudge_\w+", PAGE))
    assert named - {metric.name for metric in Metrics().documented} == set()


@pytest.mark.parametrize("block", OURS, ids=" ".join)
def test_what_is_to_be_configured_can_be(block: dict[str, Any]) -> None:
    assert Config.model_validate(block) != Config()


def test_the_keys_exist() -> None:
    sections = "receivers|access|export|judge|kafka|store|admin|retention|journal"
    for path in set(re.findall(rf"`((?:{sections})\.[a-z_.]+)`", PAGE)):
        assert _exists(Config, path.split(".")), path


def _exists(model: Any, keys: list[str]) -> bool:
    for key in keys:
        field = getattr(model, "model_fields", {}).get(key)
        if field is None:
            return False
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())]
        model = next((kind for kind in kinds if hasattr(kind, "model_fields")), None)
    return True
