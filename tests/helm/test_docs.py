"""Values in the documents are values that the chart takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from collector.config import Config
from judge.documents import parse_document
from tests.helm.rendering import CHART, Helm
from tests.helm.schemas import VERSIONS, Schemas

PAGES = (CHART.parent / "docs" / "kubernetes.md",)
_BLOCK = re.compile(r"^```yaml\n# values\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [(page, text) for page in PAGES for text in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.integration("helm")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("page", "text"), EXAMPLES)
def test_an_example_of_values_renders(helm: Helm, schemas: Schemas, page: Path, text: str) -> None:
    rendered = helm.render(yaml.safe_load(text))
    assert rendered.workloads(), page
    for each in rendered.objects:
        schemas.check(each, VERSIONS[-1])
    environment = dict.fromkeys(("DB_PASSWORD", "KAFKA_PASSWORD", "POD_NAME"), "a-secret")
    environment |= {"STORE_URL": "postgresql://u:p@db/spanjudge", "SPANJUDGE_ROLE": "worker"}
    parse_document(rendered.one("ConfigMap")["data"]["spanjudge.yaml"], page.name, Config, environment)
