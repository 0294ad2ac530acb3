"""Telemetry that a played command-line agent leaves behind, as OTLP/JSON export requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.otlp.decode import decode_session
from collector.otlp.otlp_json import Signal, to_protobuf
from extractors.spans import Session
from tests.fakes.provenance import front_matter

Json = dict[str, Any]

START_MS = 1_900_000_000_000
MS_NS = 1_000_000


@dataclass
class Tape:
    """Spans and records in the order in which they ended; `now_ms` is the program's clock."""

    seed: str
    resource: Json
    span_scope: Json
    record_scope: Json
    now_ms: int = START_MS
    spans: list[Json] = field(default_factory=list)
    records: list[Json] = field(default_factory=list)
    _counts: dict[str, int] = field(default_factory=dict)

    def tick(self, milliseconds: int) -> int:
        self.now_ms += milliseconds
        return self.now_ms

    def id(self, kind: str, digits: int = 16) -> str:
        self._counts[kind] = count = self._counts.get(kind, 0) + 1
        return hashlib.sha256(f"{self.seed}/{kind}/{count}".encode()).hexdigest()[:digits]

    def span(
        self,
        name: str,
        place: tuple[str, str],
        parent: str | None,
        start_ms: int,
        facts: Mapping[str, Any],
        *,
        status: int = 0,
        message: str = "",
        events: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        end = str(self.now_ms * MS_NS + 250_000)
        self.spans.append(
            {
                "traceId": place[0],
                "spanId": place[1],
                **({"parentSpanId": parent} if parent else {}),
                "name": name,
                "kind": 1,
                "startTimeUnixNano": str(start_ms * MS_NS),
                "endTimeUnixNano": end,
                "attributes": attributes(facts),
                "events": [
                    {"name": event, "timeUnixNano": end, "attributes": attributes(held)}
                    for event, held in (events or {}).items()
                ],
                "status": {"code": status, **({"message": message} if message else {})} if status else {},
            }
        )

    def record(self, place: tuple[str, str] | None, facts: Mapping[str, Any], **fields: Any) -> None:
        named = {"traceId": place[0], "spanId": place[1]} if place else {}
        self.records.append({**named, **fields, "attributes": attributes(facts)})

    def requests(self, halves: bool = True) -> list[tuple[Signal, Json]]:
        """Export requests in the order sent; of each signal two where there is enough of it."""
        sent: list[tuple[Signal, Json]] = []
        for part in _parts(self.spans, halves):
            scope = {"scope": self.span_scope, "spans": part}
            sent.append(("traces", {"resourceSpans": [{"resource": self._resource(), "scopeSpans": [scope]}]}))
        for part in _parts(self.records, halves):
            scope = {"scope": self.record_scope, "logRecords": part}
            sent.append(("logs", {"resourceLogs": [{"resource": self._resource(), "scopeLogs": [scope]}]}))
        return sent

    def _resource(self) -> Json:
        return {"attributes": attributes(self.resource)}

    def session(self, session_id: str) -> Session:
        """As the collector decodes it."""
        rows: dict[Signal, list[bytes]] = {"traces": [], "logs": []}
        for signal, request in self.requests():
            rows[signal].append(to_protobuf(json.dumps(request).encode(), signal).payload)
        return decode_session(session_id, rows["traces"], rows["logs"])

    def write(self, directory: Path, told: str, harness: str, player: str) -> None:
        """The scenario's export requests and provenance; the expectation is not touched."""
        directory.mkdir(parents=True, exist_ok=True)
        for file in [*directory.glob("traces-*.json"), *directory.glob("logs-*.json")]:
            file.unlink()
        counts = {"traces": 0, "logs": 0}
        for signal, request in self.requests():
            counts[signal] += 1
            text = json.dumps(request, indent=1, ensure_ascii=False)
            (directory / f"{signal}-{counts[signal]:02}.json").write_text(text + "\n", encoding="utf-8")
        (directory / "provenance.md").write_text(
            front_matter(directory) + f"# {directory.name}\n\n{told.strip()}\n\n- Harness: {harness}.\n"
            f"- Played by `{player}`: names, nesting, value types and order are those of recorded\n"
            "  exports of that version; every text, name, id, number and time is invented.\n",
            encoding="utf-8",
        )


def _parts(items: list[Json], halves: bool) -> list[list[Json]]:
    middle = len(items) // 2 if halves else 0
    return [part for part in (items[:middle], items[middle:]) if part]


def attributes(facts: Mapping[str, Any]) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in facts.items() if value is not None]


def _value(value: Any) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case dict() if not value:
            return {}
    return {"stringValue": str(value)}
