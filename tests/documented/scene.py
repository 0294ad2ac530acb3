"""An installation in which the commands of the documents can be run: a server with a judge, judged sessions of two
agent versions, baselines, and recordings.

What documents call by made-up names is called otherwise here; `SUBSTITUTES` says how."""

from __future__ import annotations

import base64
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typer.testing import CliRunner, Result

from collector.cli import app
from tests.collector.sessions.telemetry import trace_request
from tests.documented.pages import ROOT
from tests.end_to_end.agents import chat_span, skill_span, tool_span
from tests.end_to_end.server import QUICK, Server, wait_for
from tests.fakes.anthropic_stub import API_KEY, AnthropicStub

SERVICE = "support-desk"
SESSIONS = 22
"""Of each version; gates want 20 at least."""
SUBSTITUTES: Mapping[str, str] = {
    r"\bSESSION\b": "4711",
    r"\bshop\b": SERVICE,
    r"\bCONFIG\b": "spanjudge.yaml",
}


def asked_back(session: str, version: str, trace: int) -> bytes:
    """Somebody wants their money back, and gets it as the suite says."""
    order = {"order": "A-17"}
    spans = [
        skill_span(session, trace, trace * 10 + 1, "refunds"),
        tool_span(session, trace, trace * 10 + 2, "find_order", order, "paid on Monday"),
        tool_span(session, trace, trace * 10 + 3, "refund_order", order, "done"),
        chat_span(session, trace, trace * 10 + 4, "I want a refund for A-17", "The refund is on its way."),
    ]
    return trace_request(spans, resource={"service.name": SERVICE, "service.version": version}, scope="desk.agent")


def as_file_exporter(body: bytes) -> str:
    """A line as the Collector writes it."""
    request = MessageToDict(ExportTraceServiceRequest.FromString(body))
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in span:
                span[key] = base64.b64decode(span[key]).hex()
    return json.dumps(request) + "\n"


@dataclass(frozen=True, slots=True)
class Scene:
    directory: Path
    server: Server
    verdict: str
    """id of a judged verdict of goal_completion"""

    def fill_in(self, text: str) -> str:
        """A command of the documents with what there is here."""
        for pattern, instead in SUBSTITUTES.items():
            text = re.sub(pattern, instead, text)
        text = text.replace("3f2a9c01", self.verdict[:8])
        text = text.replace("56070be2d6c7a91670edf5bf0ce68d97", self.verdict)
        text = text.replace("http://127.0.0.1:9464", self.server.admin)
        return text.replace("http://127.0.0.1:4318", self.server.http)

    def copied(self, into: Path, *, baselines: bool) -> Path:
        """The same without its server, to be changed; without baselines, where one is to be saved."""
        into.mkdir()
        for name in ("examples", "recordings"):
            shutil.copytree(self.directory / name, into / name)
        for name in ("spanjudge.yaml", "traces.jsonl"):
            shutil.copy(self.directory / name, into)
        (into / "data").mkdir()
        source = sqlite3.connect(self.directory / "data" / "verdicts.sqlite3")
        target = sqlite3.connect(into / "data" / "verdicts.sqlite3")
        with source, target:
            source.backup(target)
        source.close()
        target.close()
        if not baselines:
            for name in ("v6", "v7"):
                run(["baseline", "delete", name, "--data-dir", str(into / "data")])
        return into


def run(arguments: list[str], typed: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=typed)


@contextmanager
def scene(directory: Path) -> Iterator[Scene]:
    _files(directory)
    with AnthropicStub() as judge:
        server = Server(
            directory,
            sessions=dict(QUICK),
            suites=["examples/suites/*.yaml"],
            judge={"api_key": API_KEY, "base_url": judge.url},
        )
        example = (directory / "examples" / "spanjudge.yaml").read_text(encoding="utf-8")
        for port, here in {"4317": server.grpc, "4318": server.http, "9464": server.admin}.items():
            example = example.replace(f"127.0.0.1:{port}", here.removeprefix("http://"))
        (directory / "examples" / "spanjudge.yaml").write_text(example, encoding="utf-8")
        with server:
            names = _send(server)
            for name in names:
                server.judged(name, within_s=120)
            wait_for(lambda: not server.metric("questions_pending"), "the judge has answered all", 120)
            _baselines(directory)
            verdict = server.verdict(server.judged("4711"), "goal_completion").id
            yield Scene(directory, server, verdict)


def _files(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "examples", directory / "examples")
    (directory / "recordings").mkdir()
    bodies = [asked_back(f"recorded-{number}", "8", 5_000 + number) for number in range(SESSIONS)]
    for number, body in enumerate(bodies):
        (directory / "recordings" / f"traces-{number:02}.bin").write_bytes(body)
    (directory / "traces.jsonl").write_text("".join(map(as_file_exporter, bodies[:3])), encoding="utf-8")
    (directory / "demo-data").symlink_to("data")


def _send(server: Server) -> list[str]:
    names = [f"desk-{version}-{number}" for version in "78" for number in range(SESSIONS)]
    names[0] = "4711"
    with server.exporting() as export:
        for number, name in enumerate(names, 1):
            export(asked_back(name, "7" if number <= SESSIONS else "8", number))
    return names


def _baselines(directory: Path) -> None:
    stored = ["--stored", "--service", SERVICE, "--agent-version", "7", "--data-dir", str(directory / "data")]
    for name, more in {"v6": [], "v7": ["--promote"]}.items():
        saved = run(["baseline", "save", name, *stored, *more])
        assert saved.exit_code == 0, saved.output
