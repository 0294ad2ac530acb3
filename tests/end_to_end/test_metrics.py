"""/metrics of a real server at work, as a real Prometheus and others read it: evaluated in several processes, of which
one is killed, asking a judge, for agents whose names are made to break things."""

from __future__ import annotations

import asyncio
import math
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from collector.metric_labels import EXEMPLAR_CHARACTERS, MAX_LENGTH
from collector.metrics import Metrics
from collector.store.sqlite import SqliteStore
from collector.store.store import SessionFilter, SessionSummary, VerdictFilter
from judge.verdict import Judged
from tests.end_to_end.agents import chat_span, request, skill_span, tool_span
from tests.end_to_end.server import Server, wait_for
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub, says
from tests.integrations import require
from tests.prometheus.server import Prometheus

pytestmark = [pytest.mark.integration("prometheus"), pytest.mark.timeout(300)]

HOSTILE = (
    'quote" backslash\\ brace} hash # {trace_id="forged"} 1',
    "line\nbreak\r\n# TYPE forged counter\nforged_total 1",
    "nothing\x00here",
    "\N{PILE OF POO}" * 70,  # fits: characters are counted, not bytes
    "\N{PILE OF POO}" * 100,
    "long" * 200,
    "\N{RIGHT-TO-LEFT OVERRIDE}neddih",
    " ",
    "NaN",
    "brace} hash # {trace_id=forged} 1",
)
PLAIN = 30


@dataclass(frozen=True)
class Scraped:
    """`text` and `openmetrics` are what the server served; the rest is what Prometheus and the store made of it."""

    text: str
    openmetrics: str
    prometheus: Prometheus
    start: float
    sessions: list[SessionSummary]
    verdicts: list[Judged]

    def total(self, name: str) -> float:
        """By Prometheus, over all series; 0 without any."""
        (found,) = self.prometheus.now(f"sum({name}) or vector(0)")
        return float(found["value"][1])


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    directory, start = tmp_path_factory.mktemp("scraped"), time.time()
    with AnthropicStub(says("Yes")) as stub:
        judge = {"api_key": API_KEY, "base_url": stub.url}
        server = Server(directory / "server", evaluation={"processes": 2}, judge=judge)
        target = {"spanjudge": [server.admin.removeprefix("http://")]}
        with server, Prometheus(directory / "prometheus", target) as prometheus:
            _work(server)
            sessions, verdicts = _kept(server)
            shown = f"sum(spanjudge_verdicts_total) == {len(verdicts)}"
            wait_for(lambda: prometheus.now(shown), f"{len(verdicts)} verdicts in Prometheus", 30)
            openmetrics = server.get("/metrics", accept="application/openmetrics-text; version=1.0.0").text
            yield Scraped(server.get("/metrics").text, openmetrics, prometheus, start, sessions, verdicts)


def _work(server: Server) -> None:
    for number, name in enumerate(HOSTILE, 1):
        spans = [
            skill_span(name, number, number * 100 + 1, name),
            chat_span(name, number, number * 100 + 2, "Is it in stock?", "Yes, four."),
        ]
        server.send(request(spans, service=name))
    wait_for(lambda: server.metric("sessions_closed_total") == len(HOSTILE), "the first are judged", 60)
    for number in range(100, 100 + PLAIN):
        server.send(request([tool_span(f"plain-{number}", number, number * 100)]))
    wait_for(
        lambda: server.metric("evaluation_waiting") or server.metric("sessions_closed_total") > len(HOSTILE), "work"
    )
    for child in psutil.Process(server.process.pid).children(recursive=True):
        if "collector.evaluation.child" in child.cmdline():
            child.kill()
            break
    wait_for(lambda: server.metric("sessions_closed_total") == len(HOSTILE) + PLAIN, "all are closed", 60)
    wait_for(lambda: server.metric("evaluation_restarts_total", reason="died") == 1, "the death was seen", 60)
    wait_for(lambda: not server.metric("questions_pending"), "all are judged", 60)


def _kept(server: Server) -> tuple[list[SessionSummary], list[Judged]]:
    async def read() -> tuple[list[SessionSummary], list[Judged]]:
        store = SqliteStore.open(server.directory / "data" / "verdicts.sqlite3", read_only=True)
        try:
            sessions = await store.sessions(SessionFilter(limit=1_000))
            return sessions, await store.find_verdicts(VerdictFilter(limit=10_000))
        finally:
            await store.close()

    return asyncio.run(read())


def _families(scraped: Scraped) -> list[Metric]:
    return [*text_families(scraped.text), *openmetrics_families(scraped.openmetrics)]  # type: ignore[no-untyped-call]


def test_both_forms_are_read_without_complaint_and_nothing_is_forged(scraped: Scraped) -> None:
    declared = {line.name for line in Metrics().documented}
    families = [family for family in _families(scraped) if not family.name.startswith("process_")]
    assert len(families) >= 2 * len(declared)
    for family in families:
        endings = {"histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
        known = {f"{name}{ending}" for name in declared for ending in endings}
        assert {sample.name for sample in family.samples} <= known, family.name


def test_no_sample_is_without_a_number_and_no_value_of_a_label_is_long(scraped: Scraped) -> None:
    for family in _families(scraped):
        for sample in family.samples:
            assert math.isfinite(sample.value), sample
            assert all(len(value) <= MAX_LENGTH and value.isprintable() for value in sample.labels.values() if value)


@pytest.mark.integration("promtool")
def test_promtool_finds_nothing_to_complain_about(scraped: Scraped) -> None:
    promtool = shutil.which("promtool")
    require("promtool", promtool is not None, "apt-get install prometheus")
    assert promtool is not None
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=scraped.text.encode(), capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def test_prometheus_takes_all_of_it(scraped: Scraped) -> None:
    assert scraped.prometheus.now("min_over_time(up[1h]) == 1")
    assert scraped.total("scrape_samples_scraped") > 100
    assert scraped.total("spanjudge_store_bytes") >= scraped.total("spanjudge_store_used_bytes") > 0
    assert not scraped.prometheus.now('{__name__=~"forged.*"}')


def test_what_several_processes_and_the_judge_counted_is_what_is_in_the_store(scraped: Scraped) -> None:
    assert len(scraped.sessions) == scraped.total("spanjudge_sessions_closed_total") == len(HOSTILE) + PLAIN
    assert scraped.total("spanjudge_verdicts_total") == len(scraped.verdicts)
    asked = sum(one.verdict.judge_model is not None for one in scraped.verdicts)
    answered = scraped.total('spanjudge_judge_requests_total{outcome="answered"}')
    assert answered + scraped.total("spanjudge_judge_cache_hits_total") == asked > 0
    by_evaluator = {
        series["metric"]["evaluator"]: float(series["value"][1])
        for series in scraped.prometheus.now("sum by (evaluator) (spanjudge_verdicts_total)")
    }
    for evaluator, count in by_evaluator.items():
        assert count == sum(one.verdict.evaluator == evaluator for one in scraped.verdicts), evaluator
    scored = scraped.total("spanjudge_score_count")
    assert scored == sum(one.passed + one.failed for one in scraped.sessions) > 0


def test_exemplars_lead_to_sessions_that_there_are_and_are_never_too_long(scraped: Scraped) -> None:
    found = [
        exemplar["labels"]
        for series in scraped.prometheus.exemplars("spanjudge_verdicts_total", scraped.start, time.time() + 1)
        for exemplar in series["exemplars"]
    ]
    known = {summary.ref.session_id for summary in scraped.sessions}
    assert all(sum(len(name) + len(value) for name, value in each.items()) <= EXEMPLAR_CHARACTERS for each in found)
    told = {each["session_id"] for each in found if "session_id" in each}
    assert told <= known
    assert {HOSTILE[3], HOSTILE[9]} <= told, "hostile and whole"
    assert not told & {HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[4], HOSTILE[5]}, (
        "one that would have to be changed leads nowhere"
    )
    assert all(len(each["trace_id"]) == 32 for each in found if "trace_id" in each)
