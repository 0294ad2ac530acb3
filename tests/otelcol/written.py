"""What a Collector's file exporter has written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collector.otlp.encode import SCOPE_NAME

_NESTING = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
}


def items(file: Path, signal: str, *, ours: bool = True) -> Iterator[dict[str, Any]]:
    """Spans or records that we have made, or those that others have. The last line may be half written."""
    resources, scopes, found = _NESTING[signal]
    for line in file.read_text().splitlines(keepends=True) if file.exists() else ():
        for resource in json.loads(line).get(resources, ()) if line.endswith("\n") else ():
            for scope in resource[scopes]:
                if (scope.get("scope", {}).get("name") == SCOPE_NAME) == ours:
                    yield from scope[found]


def span_ids(file: Path, *, ours: bool = True) -> list[str]:
    return [span["spanId"] for span in items(file, "traces", ours=ours)]
