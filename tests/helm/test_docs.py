"""Values in the documents are values that the chart takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.helm.rendering import CHART, Helm

PAGES = (CHART.parent / "docs" / "kubernetes.md",)
_BLOCK = re.compile(r"^```yaml\n# values\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [(page, text) for page in PAGES for text in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.integration("helm")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("page", "text"), EXAMPLES)
def test_an_example_of_values_renders(helm: Helm, page: Path, text: str) -> None:
    assert helm.render(yaml.safe_load(text)).workloads(), page
