"""What the pages on Kafka show works as it stands there, but for names and addresses."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.config import load_config
from collector.kafka.settings import KafkaTopics
from tests.collector.sessions.telemetry import span, trace_id, trace_request
from tests.documented.pages import ROOT, blocks
from tests.end_to_end.server import Server, wait_for
from tests.kafka.desk import Desk
from tests.otelcol.collector import Collector

PAGES = [ROOT / "docs" / "kafka.md", ROOT / "docs" / "scaling.md"]
SHOWN = [text for _, text in blocks("yaml", PAGES)]
OURS = [text for text in SHOWN if "exporters" not in yaml.safe_load(text)]
ENVIRONMENT = {"KAFKA": "kafka-1:9093,kafka-2:9093", "KAFKA_PASSWORD": "word", "DB_PASSWORD": "word"}


def _shown(*keys: str) -> dict[str, Any]:
    """The block that has nothing but these keys."""
    (found,) = [block for text in SHOWN if (block := yaml.safe_load(text)).keys() == set(keys)]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("text", OURS, ids=range(len(OURS)))
def test_a_configuration_on_the_pages_is_good(tmp_path: Path, text: str) -> None:
    file = tmp_path / "spanjudge.yaml"
    file.write_text(text)
    load_config(file, ENVIRONMENT)


@pytest.mark.integration("kafka")
def test_what_is_shown_to_try_it_takes_telemetry_and_judges_it(tmp_path: Path, kafka: Desk) -> None:
    section = _shown("kafka")["kafka"]
    assert section.keys() == {"bootstrap_servers", "create"}
    names = {
        "bootstrap_servers": kafka.bootstrap,
        "topics": {purpose: kafka.name(purpose) for purpose in KafkaTopics.model_fields},
        "router_group": kafka.name("router"),
        "worker_group": kafka.name("worker"),
        "transactional_id": kafka.name("router"),
    }
    with Server(tmp_path, kafka={**section, **names}) as server:
        server.send(trace_request([span(1, 1, session__id="ann")]))
        assert server.judged("ann", within_s=60).spans == 1
        assert server.stop() == 0


@pytest.mark.integration("kafka")
@pytest.mark.integration("otelcol")
@pytest.mark.timeout(1800)
def test_the_collector_that_is_shown_writes_what_a_router_reads(tmp_path: Path, kafka: Desk, otelcol: Path) -> None:
    exporter = _shown("exporters")["exporters"]["kafka"]
    names = {"spans": exporter["traces"]["topic"], "logs": exporter["logs"]["topic"]}
    assert names == {purpose: KafkaTopics.model_fields[purpose].default for purpose in names}
    topics = {purpose: kafka.name(purpose) for purpose in names}
    asyncio.run(kafka.create(topics["spans"]))
    here = {**exporter, "brokers": kafka.bootstrap.split(",")}
    here |= {"traces": {"topic": topics["spans"]}, "logs": {"topic": topics["logs"]}}
    with Collector(tmp_path, otelcol, {"kafka": here}) as collector:
        sender = Server(tmp_path / "sender")  # not started: it only knows how to send
        sender.grpc = collector.grpc
        sender.send(trace_request([span(1, 1), span(2, 2)]))
    (one, other) = wait_for(lambda: asyncio.run(kafka.read(topics["spans"])), "messages", within_s=60)
    assert {one.key, other.key} == {trace_id(number).hex().encode() for number in (1, 2)}
