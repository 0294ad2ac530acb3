"""What a trace back-end gets: the agents' telemetry through a real Collector, and the verdicts through the same one,
put together as a viewer does. Every verdict has to be found where a person would look for it."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from collector.otlp.encode import EVENT_NAME, SCOPE_NAME
from tests.collector.sessions.telemetry import log_request, record, span_id
from tests.end_to_end.agents import SECOND_NS, chat_span, request, tool_span
from tests.end_to_end.server import SPANJUDGE, Server, wait_for
from tests.kafka.ports import free_ports
from tests.otelcol.collector import Collector

pytestmark = [pytest.mark.integration("otelcol"), pytest.mark.timeout(1800)]

FIXTURES = Path(__file__).parents[1] / "fixtures"
YEARS_NS = 20 * 365 * 86_400 * SECOND_NS
_WITHIN_S = 120


@dataclass(frozen=True)
class Seen:
    """What arrived: spans of agents by (trace, span), moments that agents told of each trace, verdicts as spans and as
    events."""

    agents: Mapping[tuple[str, str], Mapping[str, Any]]
    moments: Mapping[str, Sequence[int]]
    verdicts: Sequence[Mapping[str, Any]]
    events: Sequence[Mapping[str, Any]]
    resources: Sequence[Mapping[str, Any]]

    def named(self, session: str) -> list[Mapping[str, Any]]:
        return [span for span in self.verdicts if _attributes(span)["session.id"] == session]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, otelcol: Path) -> Seen:
    directory = tmp_path_factory.mktemp("tree")
    (port,) = free_ports(1)
    export = {"otlp": {"endpoint": f"http://127.0.0.1:{port}"}}
    server = Server(directory / "server", export=export, retention={"days": 36_500})
    files = {name: directory / f"{name}.json" for name in ("agents", "verdicts")}
    exporters: dict[str, Any] = {
        f"file/{name}": {"path": str(path), "flush_interval": "200ms"} for name, path in files.items()
    }
    exporters["otlp/judge"] = {"endpoint": server.grpc, "tls": {"insecure": True}}
    receivers = {"otlp/verdicts": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}}
    pipelines = {
        f"{signal}{kind}": {"receivers": [f"otlp{kind}"], "exporters": to}
        for signal in ("traces", "logs")
        for kind, to in (("", ["otlp/judge", "file/agents"]), ("/verdicts", ["file/verdicts"]))
    }
    between = Collector(directory / "between", otelcol, exporters, pipelines, receivers=receivers)
    with server:
        with between:
            sent = _replay_everything(between.grpc) + _send_oddities(server, between.grpc)
            wait_for(lambda: _received(server) == sent, f"{sent} spans and records at the server", _WITHIN_S)
            wait_for(lambda: _is_done(server), "everything is judged and sent", _WITHIN_S)
        return _seen(files["agents"], files["verdicts"])


def _replay_everything(grpc: str) -> int:
    """What was captured of real harnesses, with the times that their clocks told; how many spans and records."""
    command = [str(SPANJUDGE), "replay", *map(str, _captured()), "--endpoint", f"http://{grpc}"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_WITHIN_S).stdout
    found = re.search(r"(\d+) spans and records: (\d+) taken", told)
    assert found, told
    assert found[1] == found[2]
    return int(found[1])


def _captured() -> list[Path]:
    """Recordings of which no two have a trace in common: many were made with the same seed for ids."""
    files: list[Path] = []
    known: set[str] = set()
    for scenario in sorted(FIXTURES.glob("*/*/")):
        recordings = sorted(file for kind in ("traces", "logs") for file in scenario.glob(f"{kind}-*.json"))
        traces = {trace for file in recordings for trace in re.findall(r'"traceId": *"(\w+)"', file.read_text())}
        if not traces & known:
            files += recordings
            known |= traces
    return files


def _send_oddities(server: Server, grpc: str) -> int:
    agent = Server(server.directory / "agent")  # not started: it only knows how to send
    agent.grpc = grpc
    wrong = [tool_span("wrong-clock", 901, 90_101), chat_span("wrong-clock", 901, 90_102, "Is it open?", "Yes.")]
    for span in wrong:
        span.start_time_unix_nano -= YEARS_NS
        span.end_time_unix_nano -= YEARS_NS
    agent.send(request(wrong))
    orphan = tool_span("no-root", 902, 90_201)
    orphan.parent_span_id = span_id(90_299)  # never sent
    agent.send(request([orphan]))
    # A call that is told by a log record alone; its span was sampled away by the agent.
    told = record(903, "gen_ai.client.inference.operation.details", session__id="records-only")
    told.span_id = span_id(90_301)
    agent.send(log_request([told]), "logs")
    return 4


def _received(server: Server) -> float:
    return server.metric("spans_received_total") + server.metric("records_received_total")


def _is_done(server: Server) -> bool:
    waiting = ("sessions_open", "evaluation_waiting", "questions_pending", "export_pending")
    return server.metric("export_sent_total") > 0 and not any(server.metric(name) for name in waiting)


def _scopes(file: Path, signal: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Resource and scope, of all that a file exporter wrote."""
    for line in file.read_text().splitlines():
        for resource in json.loads(line).get(f"resource{signal}", ()):
            for scope in resource[f"scope{signal}"]:
                yield resource.get("resource", {}), scope


def _seen(agents_file: Path, verdicts_file: Path) -> Seen:
    agents: dict[tuple[str, str], Mapping[str, Any]] = {}
    moments: defaultdict[str, list[int]] = defaultdict(list)
    for _, scope in _scopes(agents_file, "Spans"):
        for span in scope["spans"]:
            agents[span["traceId"], span["spanId"]] = span
            moments[span["traceId"]] += [int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])]
    for _, scope in _scopes(agents_file, "Logs"):
        for each in scope["logRecords"]:
            moments[each.get("traceId", "")] += [
                int(each.get(key, 0)) for key in ("timeUnixNano", "observedTimeUnixNano")
            ]
    verdicts, events = list(_scopes(verdicts_file, "Spans")), list(_scopes(verdicts_file, "Logs"))
    assert {scope["scope"]["name"] for _, scope in (*verdicts, *events)} == {SCOPE_NAME}
    return Seen(
        agents,
        moments,
        [span for _, scope in verdicts for span in scope["spans"]],
        [each for _, scope in events for each in scope["logRecords"]],
        [resource for resource, _ in (*verdicts, *events)],
    )


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values()), None) for each in item["attributes"]}


def _start(span: Mapping[str, Any]) -> int:
    return int(span["startTimeUnixNano"])


def test_no_verdict_stands_alone_beside_a_trace_that_was_received(seen: Seen) -> None:
    traced = {trace for trace, _ in seen.agents}
    for span in seen.verdicts:
        if span["traceId"] in traced:
            assert (span["traceId"], span["parentSpanId"]) in seen.agents, span
        else:
            assert not span.get("parentSpanId"), span
    assert {span["traceId"] in traced for span in seen.verdicts} == {True, False}, "both kinds were tried"


def test_every_verdict_stands_within_the_time_of_what_it_judges(seen: Seen) -> None:
    for span in seen.verdicts:
        assert int(span["endTimeUnixNano"]) == _start(span), "a moment: never negative, and in nobody's way"
        if told := [at for at in seen.moments.get(span["traceId"], ()) if at]:
            assert min(told) <= _start(span) <= max(told), span
        if _attributes(span)["spanjudge.subject.ref"].startswith("span:"):
            judged = seen.agents[span["traceId"], span["parentSpanId"]]
            assert _start(judged) <= _start(span) <= max(int(judged["endTimeUnixNano"]), _start(judged))


def test_the_names_are_those_of_the_evaluators_and_the_kind_is_internal(seen: Seen) -> None:
    for span in seen.verdicts:
        assert span["name"] == f"evaluate {_attributes(span)['gen_ai.evaluation.name']}"
        assert (span["kind"], span["flags"] & 1) == (1, 1)
        assert all(link["traceId"] == span["traceId"] for link in span.get("links", ()))
        assert bool(span.get("links")) or not span.get("parentSpanId")
    assert len({span["name"] for span in seen.verdicts}) > 5


def test_a_status_is_set_for_failed_evaluations_only_and_says_why(seen: Seen) -> None:
    for span in seen.verdicts:
        facts = _attributes(span)
        failed = "error.type" in facts
        without = "spanjudge.not_judged.reason" in facts
        assert (span["status"].get("code", 0), bool(span["status"].get("message"))) == (2 if failed else 0, failed)
        assert ("gen_ai.evaluation.score.value" in facts) is not without
        assert ("gen_ai.evaluation.score.label" in facts) is not without
    kinds = {"spanjudge.not_judged.reason" in _attributes(span) for span in seen.verdicts}
    assert kinds == {True, False}, "both kinds were tried"


def test_every_verdict_is_there_once_and_its_event_says_the_same_of_the_same_trace(seen: Seen) -> None:
    spans = {_attributes(span)["spanjudge.verdict.id"]: span for span in seen.verdicts}
    events = {_attributes(event)["spanjudge.verdict.id"]: event for event in seen.events}
    assert len(spans) == len(seen.verdicts) == len({span["spanId"] for span in seen.verdicts})
    assert spans.keys() == events.keys()
    for name, event in events.items():
        span = spans[name]
        assert (event["eventName"], event["traceId"]) == (EVENT_NAME, span["traceId"])
        linked = {link["spanId"] for link in span.get("links", ())}
        assert event["spanId"] in (linked or {span["spanId"]})
        assert _attributes(event) == _attributes(span)


def test_the_service_is_ours_and_the_agent_is_named_beside_it(seen: Seen) -> None:
    assert {_attributes(resource)["service.name"] for resource in seen.resources} == {"spanjudge"}
    assert {_attributes(span)["spanjudge.service.name"] for span in seen.named("wrong-clock")} == {"shop"}


def test_a_sender_whose_clock_is_years_off_has_its_verdicts_beside_its_spans(seen: Seen) -> None:
    verdicts = seen.named("wrong-clock")
    assert verdicts
    for span in verdicts:
        assert _attributes(span)["spanjudge.judged_at"] > "2026"
        assert _start(span) < 1_200_000_000 * SECOND_NS


def test_where_the_root_never_came_verdicts_on_the_session_are_below_what_did(seen: Seen) -> None:
    assert {span["parentSpanId"] for span in seen.named("no-root")} == {span_id(90_201).hex()}


def test_what_a_record_alone_told_links_to_the_span_that_nobody_has(seen: Seen) -> None:
    verdicts = seen.named("records-only")
    assert verdicts
    for span in verdicts:
        assert not span.get("parentSpanId")
        assert [link["spanId"] for link in span["links"]] == [span_id(90_301).hex()]
