"""The chart's README, from the comments in its values.yaml.

`python -m tests.helm.readme > helm/README.md` writes the file; a test compares it with what this gives.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

CHART = Path(__file__).parents[2] / "helm"
_HEAD = """\
# The chart

<!-- Written by `python -m tests.helm.readme > helm/README.md`; a test compares the two. -->

Runs SpanJudge on Kubernetes, as one process with a volume or scaled out over Kafka.
[docs/kubernetes.md](../docs/kubernetes.md) says how to install, change, scale, back up and remove it.

```sh
helm install spanjudge ./helm --set image.repository=registry.example.com/spanjudge
```

## Values

Unknown values are errors. What `config` may hold is in [docs/configuration.md](../docs/configuration.md).

| value | default | meaning |
|---|---|---|
"""


def readme() -> str:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    root = yaml.compose(text)
    assert isinstance(root, yaml.MappingNode)
    return _HEAD + "".join(_rows(root, text.splitlines(), ""))


def _rows(node: yaml.MappingNode, lines: list[str], above: str) -> Iterator[str]:
    for key, value in node.value:
        name = f"{above}{key.value}"
        meaning = _comment_above(lines, key.start_mark.line)
        if isinstance(value, yaml.MappingNode) and not value.flow_style and not meaning:
            yield from _rows(value, lines, f"{name}.")
        else:
            default = json.dumps(yaml.safe_load(yaml.serialize(value)), ensure_ascii=False)
            default, meaning = (cell.replace("|", "\\|") for cell in (default, meaning))
            yield f"| `{name}` | `{default}` | {meaning} |\n"


def _comment_above(lines: list[str], line: int) -> str:
    """What stands behind `# --` just above the line, with the comment lines that go on with it."""
    words: list[str] = []
    while line > 0 and (comment := lines[line - 1].strip()).startswith("#"):
        line -= 1
        words.insert(0, comment.removeprefix("#").strip())
        if words[0].startswith("--"):
            return " ".join(words).removeprefix("--").strip()
    return ""


if __name__ == "__main__":
    sys.stdout.write(readme())
