"""Collector configurations of deploy/collector in a real Collector, with the product behind it: telemetry goes in,
verdicts come out at the back-end, and nothing goes round.

The processors filter and tail_sampling cannot be built everywhere (tests.otelcol.schemas says why). They are checked
against the schemas of their own modules and left out of what runs, or replaced: the loop guard that is tried is that of
separate pipelines, and that the sampler stands in no way of SpanJudge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from collector.otlp.encode import SCOPE_NAME
from judge.verdict import NotApplicable
from tests.end_to_end.agents import conversation
from tests.end_to_end.server import Server, wait_for
from tests.end_to_end.test_collector_loop import kafka_settings
from tests.kafka.desk import Desk
from tests.otelcol.collector import Collector
from tests.otelcol.from_file import FromFile, kind, runnable, validate
from tests.otelcol.schemas import NOT_BUILT, schema_of
from tests.otelcol.written import items, span_ids

pytestmark = [pytest.mark.integration("otelcol"), pytest.mark.timeout(1800)]

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = sorted((DEPLOY / "collector").glob("*.yaml"))
_WITHIN_S = 90


def read(file: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return config


def unbuilt() -> Iterator[tuple[Path, str, Mapping[str, Any]]]:
    for file in FILES:
        for name, section in read(file)["processors"].items():
            if kind(name) in NOT_BUILT:
                yield file, name, section


# -- what they say -----------------------------------------------------------------------------------------------------


def test_there_is_one_for_each_way_of_setting_up() -> None:
    assert [file.stem for file in FILES] == ["direct", "kafka", "sampling"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_collector_takes_the_configuration(file: Path, otelcol: Path, tmp_path: Path) -> None:
    written = tmp_path / file.name
    written.write_text(yaml.safe_dump(runnable(file.read_text(encoding="utf-8"))))
    assert validate(otelcol, written) == ""


def test_a_mistake_in_a_configuration_is_told(otelcol: Path, tmp_path: Path) -> None:
    config = runnable(FILES[0].read_text(encoding="utf-8"))
    config["exporters"]["otlp/spanjudge"]["sending_queue"]["storrage"] = "file_storage/queue"
    written = tmp_path / "wrong.yaml"
    written.write_text(yaml.safe_dump(config))
    assert "storrage" in validate(otelcol, written)


@pytest.mark.parametrize(("base", "over"), [("direct", "traces-only"), ("kafka", "traces-only-kafka")])
def test_what_compose_lays_over_it_keeps_logs_from_a_back_end_for_traces(
    base: str, over: str, otelcol: Path, tmp_path: Path
) -> None:
    below = tmp_path / "below.yaml"
    below.write_text(yaml.safe_dump(runnable((DEPLOY / "collector" / f"{base}.yaml").read_text(encoding="utf-8"))))
    above = DEPLOY / "compose" / f"{over}.yaml"
    assert validate(otelcol, below, above) == ""
    assert read(above)["service"]["pipelines"]["logs"]["exporters"] in (["otlp/spanjudge"], ["kafka"])


@pytest.mark.parametrize(("file", "name", "section"), list(unbuilt()), ids=lambda each: getattr(each, "stem", None))
def test_a_processor_that_cannot_be_run_here_has_keys_that_its_module_knows(
    file: Path, name: str, section: Mapping[str, Any], otelcol: Path
) -> None:
    known = Draft202012Validator(schema_of(kind(name)))
    assert [error.message for error in known.iter_errors(section)] == []
    assert [error.message for error in known.iter_errors({**section, "polices": []})] != []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_verdicts_have_a_door_that_does_not_lead_back(file: Path) -> None:
    config = read(file)
    to_us = {name for name in config["exporters"] if name in {"otlp/spanjudge", "kafka"}}
    for name, pipeline in config["service"]["pipelines"].items():
        from_agents = "otlp" in pipeline["receivers"]
        assert pipeline["processors"][0] == "memory_limiter", name
        assert ("filter/verdicts" in pipeline["processors"]) == from_agents, name
        assert from_agents or not to_us & set(pipeline["exporters"]), name
        if to_us & set(pipeline["exporters"]):
            assert not any(kind(each) in {"tail_sampling", "probabilistic_sampler"} for each in pipeline["processors"])
    guard = config["processors"]["filter/verdicts"]
    assert {*guard["traces"]["span"], *guard["logs"]["log_record"]} == {f'instrumentation_scope.name == "{SCOPE_NAME}"'}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_acknowledged_waits_on_disk_for_as_long_as_it_takes(file: Path) -> None:
    config = read(file)
    assert "file_storage/queue" in config["service"]["extensions"]
    assert not any(kind(name) == "batch" for name in config["processors"])
    for exporter in config["exporters"].values():
        assert exporter["sending_queue"]["storage"] == "file_storage/queue"
        assert exporter["retry_on_failure"]["max_elapsed_time"] == "0s"


# -- what they do ------------------------------------------------------------------------------------------------------


def send(collector: Collector, directory: Path, *sessions: str) -> None:
    agents = Server(directory)  # not started: it only knows how to send
    agents.grpc = collector.grpc
    for number, session in enumerate(sessions, 1):
        agents.send(conversation(session, number))


def told(server: Server, *sessions: str) -> int:
    """How many verdicts are to be exported, once all sessions are judged."""
    count = 0
    for session in sessions:
        closed = server.judged(session, within_s=_WITHIN_S)
        assert closed.spans == 2
        count += sum(not isinstance(one.verdict.outcome, NotApplicable) for one in server.verdicts(closed))
    return count


def back_end(directory: Path, program: Path) -> tuple[Collector, Path]:
    written = directory / "written.json"
    return Collector(
        directory / "behind", program, {"file": {"path": str(written), "flush_interval": "200ms"}}
    ), written


def arrived(written: Path, count: int) -> None:
    wait_for(lambda: len(set(span_ids(written))) == count, f"{count} verdicts at the back-end", _WITHIN_S)
    wait_for(lambda: len(list(items(written, "logs"))) >= count, "their events", _WITHIN_S)
    assert sorted(span_ids(written)) == sorted(set(span_ids(written)))


@pytest.mark.parametrize("name", ["direct", "sampling"])
def test_verdicts_reach_the_back_end_and_nothing_goes_round(name: str, otelcol: Path, tmp_path: Path) -> None:
    """In place of tail sampling a sampler that takes nothing at all: SpanJudge sees every span all the same."""
    behind, written = back_end(tmp_path, otelcol)
    none = {"tail_sampling": {"probabilistic_sampler": {"sampling_percentage": 0}}}
    server = Server(tmp_path / "us")
    front = FromFile(
        tmp_path / "front",
        otelcol,
        DEPLOY / "collector" / f"{name}.yaml",
        none,
        SPANJUDGE_ENDPOINT=server.grpc,
        BACKEND_ENDPOINT=behind.grpc,
    )
    server.config["export"] = {"otlp": {"endpoint": f"http://{front.verdicts}"}}
    with behind, server, front:
        send(front, tmp_path / "agents", "ann", "bob")
        arrived(written, told(server, "ann", "bob"))
        theirs = len(span_ids(written, ours=False))
        assert theirs == (4 if name == "direct" else 0)
        assert server.metric("spans_received_total") == 4
        assert server.metric("dropped_total", reason="own") == 0
        assert server.metric("sessions_closed_total") == 2


def test_what_the_collector_took_survives_its_being_killed_while_we_are_away(otelcol: Path, tmp_path: Path) -> None:
    behind, written = back_end(tmp_path, otelcol)
    server = Server(tmp_path / "us")
    front = FromFile(
        tmp_path / "front",
        otelcol,
        DEPLOY / "collector" / "direct.yaml",
        SPANJUDGE_ENDPOINT=server.grpc,
        BACKEND_ENDPOINT=behind.grpc,
    )
    server.config["export"] = {"otlp": {"endpoint": f"http://{front.verdicts}"}}
    with behind:
        with front:
            send(front, tmp_path / "agents", "ann")
            front.kill()
        with server, front:
            arrived(written, told(server, "ann"))


@pytest.mark.integration("kafka")
def test_verdicts_reach_the_back_end_through_kafka_and_nothing_goes_round(
    kafka: Desk, otelcol: Path, tmp_path: Path
) -> None:
    settings = kafka_settings(kafka)
    behind, written = back_end(tmp_path, otelcol)
    front = FromFile(
        tmp_path / "front",
        otelcol,
        DEPLOY / "collector" / "kafka.yaml",
        KAFKA_BROKERS=kafka.bootstrap,
        SPANS_TOPIC=settings["topics"]["spans"],
        LOGS_TOPIC=settings["topics"]["logs"],
        BACKEND_ENDPOINT=behind.grpc,
    )
    receiving = {"grpc": {"enabled": False}, "http": {"enabled": False}}
    export = {"otlp": {"endpoint": f"http://{front.verdicts}"}}
    router = Server(tmp_path / "router", role="router", kafka=settings)
    worker = Server(tmp_path / "worker", role="worker", kafka=settings, export=export, receivers=receiving)
    with behind, router, worker, front:
        send(front, tmp_path / "agents", "ann", "bob")
        arrived(written, told(worker, "ann", "bob"))
        wait_for(lambda: not router.metric("kafka_router_waiting_messages"), "the router has read all", _WITHIN_S)
        assert router.metric("kafka_router_items_total", outcome="own") == 0
        assert worker.metric("sessions_closed_total") == 2
        assert len(span_ids(written, ours=False)) == 4
