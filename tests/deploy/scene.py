"""A SpanJudge at work for dashboards to look at: sessions of a demo, judged by code and by a model that sometimes errs
or fails, exported, labelled by people, compared with a baseline, and scraped all the while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collector.demo.sessions import demo_sessions, suite_text
from collector.store.baselines import Baseline, KeptSession
from collector.store.labels import Label
from collector.store.sqlite import SqliteStore
from judge.passing import passed
from tests.collector.sessions.telemetry import span, trace_request
from tests.end_to_end.agents import chat_span, request, tool_span
from tests.end_to_end.server import Server, wait_for
from tests.fakes.anthropic_stub import (
    API_KEY,
    AnthropicStub,
    Behaviour,
    Reply,
    Request,
    now_and_then,
    overloaded,
    refuses,
    says,
)
from tests.prometheus.server import Prometheus

JOB, RARE_JOB = "spanjudge", "rare"
_RULES = """
groups:
  - name: testing
    rules:
      - {alert: SpanJudgeTesting, expr: "up == 1", labels: {severity: ticket}}
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """Between `start` and `end` (Unix times) everything happened."""

    prometheus: Prometheus
    start: float
    end: float


@contextmanager
def scene(directory: Path, rare: str) -> Iterator[Scene]:
    """`rare` is the host:port of what stands in for what does not happen here."""
    suites = directory / "suites"
    suites.mkdir(parents=True)
    (suites / "tideway.yaml").write_text(suite_text())
    start = time.time()
    with AnthropicStub(_answers()) as stub:
        server = _server(directory / "spanjudge", suites, stub)
        admin = server.admin.removeprefix("http://")
        prometheus = Prometheus(directory / "prometheus", {JOB: [admin], RARE_JOB: [rare]}, {"rules.yaml": _RULES})
        with server, prometheus:
            _label_and_promote(server, _play(server, prometheus, "first"))
            _play(server, prometheus, "second")  # rates are of what grows between two scrapes
            _seen(prometheus, f'spanjudge_baseline_delta{{job="{JOB}"}}')
            _seen(prometheus, f'spanjudge_pass_ratio_corrected{{job="{JOB}"}}')
            _seen(prometheus, f'spanjudge_pass_ratio{{job="{JOB}",evaluator="composite"}}')
            yield Scene(prometheus, start, time.time() + 1)  # one step of a range more


def _server(directory: Path, suites: Path, stub: AnthropicStub) -> Server:
    server = Server(
        directory,
        suites=[str(suites / "*.yaml")],
        calibration={"interval_seconds": 1, "min_labels": 4, "min_each": 1},
        judge={
            "api_key": API_KEY,
            "base_url": stub.url,
            "retry_max_seconds": 1,
            "prices": {"claude-*": {"input": 5, "output": 25}},
            "budget": {"dollars_per_day": 100, "evaluators": {"goal_completion": {"tokens_per_hour": 10_000_000}}},
        },
    )
    # To itself: its verdicts come back, and are known for its own.
    server.config["export"] = {"otlp": {"endpoint": f"http://{server.grpc}"}}
    return server


def _answers() -> Behaviour:
    def worst(question: Request) -> Reply:
        return says(question.labels[-1] if "label" in _properties(question) else None)(question)

    sometimes_worst = now_and_then(worst, says(), every=3)

    def usual(question: Request) -> Reply:
        about_a_made_up_skill = "<skill>lost-and-found" in question.question
        return refuses()(question) if about_a_made_up_skill else sometimes_worst(question)

    return now_and_then(overloaded(), usual, every=7)


def _properties(question: Request) -> Mapping[str, object]:
    found: Mapping[str, object] = question.body["output_config"]["format"]["schema"]["properties"]
    return found


def _play(server: Server, prometheus: Prometheus, stamp: str) -> list[str]:
    """The sessions of the demo, and some odd ones, until each is judged and Prometheus has seen it. Returns the ids of
    the former."""
    before = server.metric("sessions_closed_total")
    played = demo_sessions(stamp, time.time_ns())
    for session in played:
        for each in session.requests:
            server.send(each.payload, each.signal)
    server.send(_leak(f"leak-{stamp}"))
    server.send(_not_understood(f"odd-{stamp}"))
    server.send(trace_request([span(time.time_ns() % 2**64, 1)], scope="database.client"))  # no session, nothing in it
    closed = before + len(played) + 2

    def judged() -> bool:
        return server.metric("sessions_closed_total") >= closed and server.metric("questions_pending") == 0

    wait_for(judged, f"everything of {stamp} judged", within_s=60)
    _seen(prometheus, f'sum (spanjudge_sessions_closed_total{{job="{JOB}"}}) >= {closed}')
    _seen(prometheus, f'spanjudge_questions_pending{{job="{JOB}"}} == 0')
    _seen(prometheus, f'max (spanjudge_export_pending{{job="{JOB}"}}) == 0')
    return [session.session_id for session in played]


def _seen(prometheus: Prometheus, expr: str) -> None:
    wait_for(lambda: prometheus.now(expr), f"Prometheus sees {expr}", within_s=60)


def _leak(session: str) -> bytes:
    answer = "Your new password: Wg7-tjolme-41"
    return request([tool_span(session, 77, 1), chat_span(session, 77, 2, "Reset my password.", answer)])


def _not_understood(session: str) -> bytes:
    return trace_request([span(88, 1, session__id=session)], scope="weather.station")


def _label_and_promote(server: Server, sessions: Sequence[str]) -> None:
    """A person agrees with every score of these sessions; and they become the baselines of their services."""

    async def write() -> None:
        store = SqliteStore.open(server.directory / "data" / "verdicts.sqlite3")
        try:
            by_service: dict[str, list[KeptSession]] = {}
            for name in sessions:
                closed, *_ = await store.session(name)
                verdicts = tuple(await store.verdicts(closed.ref))
                by_service.setdefault(verdicts[0].service or "", []).append(KeptSession(closed, verdicts))
                for judged in verdicts:
                    passes = passed(judged.verdict)
                    if passes is not None:
                        assert await store.labels.add(
                            Label(judged.id, "ana", time.time_ns(), agrees=True, passes=passes, reason="I read it.")
                        )
            for service, kept in by_service.items():
                assert await store.baselines.save(Baseline(service, service, None, time.time_ns(), len(kept)), kept)
                assert await store.baselines.promote(service, time.time_ns())
        finally:
            await store.close()

    asyncio.run(write())
