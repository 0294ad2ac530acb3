"""Files of the chart that are written from others are current."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest
import yaml

from tests.helm.readme import readme
from tests.helm.rendering import CHART
from tests.helm.values_schema import values_schema


def test_the_schema_of_the_values_is_current() -> None:
    written = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert written == values_schema(), "write it anew: python -m tests.helm.values_schema > helm/values.schema.json"


def test_the_readme_is_current() -> None:
    written = (CHART / "README.md").read_text(encoding="utf-8")
    assert written == readme(), "write it anew: python -m tests.helm.readme > helm/README.md"


def test_the_schema_knows_every_value() -> None:
    def unknown(values: object, schema: dict[str, object], at: str) -> list[str]:
        properties = schema.get("properties")
        if not isinstance(values, dict) or not isinstance(properties, dict):
            return []
        return [
            name
            for key, value in values.items()
            for name in ([f"{at}{key}"] if key not in properties else unknown(value, properties[key], f"{at}{key}."))
        ]

    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert unknown(values, values_schema(), "") == []


def test_no_secret_of_our_configuration_may_be_written_into_values() -> None:
    sections = values_schema()["$defs"]
    secrets = {
        (section, name)
        for section, schema in sections.items()
        for name, each in schema.get("properties", {}).items()
        if "env:" in json.dumps(each)
    }
    assert secrets >= {
        ("JudgeSettings", "api_key"),
        ("StoreSettings", "url"),
        ("KafkaSettings", "password"),
        ("OtlpExport", "headers"),
    }
    assert "writeOnly" not in json.dumps(sections)


@pytest.mark.parametrize("key", ["version", "appVersion"])
def test_the_chart_has_the_version_of_the_program(key: str) -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))[key] == version("spanjudge")
