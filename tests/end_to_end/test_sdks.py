"""What the ordinary OpenTelemetry exporters send is taken and judged."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from tests.end_to_end.server import Server
from tests.integrations import require

_NODE = Path(__file__).parent / "node"


def _exporter(kind: str, server: Server) -> SpanExporter:
    if kind == "grpc":
        return GrpcExporter(endpoint=f"http://{server.grpc}", insecure=True)
    return HttpExporter(endpoint=f"{server.http}/v1/traces", compression=Compression.Gzip)


def _say(exporter: SpanExporter, session: str) -> None:
    """One agent run, as an instrumented program makes it: only the root names the session."""
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("shop.agent")
    root = {"session.id": session, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up", "gen_ai.tool.call.id": "call-1"}
    with (
        tracer.start_as_current_span("invoke_agent clerk", attributes=root),
        tracer.start_as_current_span("execute_tool look_up", attributes=tool),
    ):
        pass
    assert provider.force_flush()
    provider.shutdown()


def _check(server: Server, session: str) -> None:
    closed = server.judged(session)
    assert closed.spans == 2
    assert closed.trajectory is not None
    assert [call.name for call in closed.trajectory.tool_calls] == ["look_up"]
    assert len(server.verdicts(closed)) > 0


@pytest.mark.parametrize("kind", ["grpc", "http"])
def test_the_python_sdk_is_understood(tmp_path: Path, kind: str) -> None:
    with Server(tmp_path) as server:
        _say(_exporter(kind, server), "from-python")
        _check(server, "from-python")


def _modules() -> Path | None:
    """Where `npm ci` has put the Node SDK, once for each lock file; None without npm."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    lock = (_NODE / "package-lock.json").read_bytes()
    caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    directory = caches / "spanjudge-tests" / f"node-{hashlib.sha256(lock).hexdigest()[:12]}"
    if not (directory / "ready").exists():
        directory.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(_NODE / name, directory)
        command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        if subprocess.run(command, cwd=directory, capture_output=True, check=False, timeout=100).returncode:
            return None
        (directory / "ready").touch()
    return directory


@pytest.mark.parametrize("kind", ["grpc", "proto", "http"])
def test_the_node_sdk_is_understood(tmp_path: Path, kind: str) -> None:
    """`proto` is HTTP with protobuf, `http` HTTP with JSON, after the names of the npm packages."""
    modules = _modules()
    require("node", modules is not None, "install Node 18 or newer with npm, and let it reach a registry")
    assert modules is not None
    script = shutil.copy(_NODE / "say.mjs", modules)
    with Server(tmp_path) as server:
        endpoint = f"http://{server.grpc}" if kind == "grpc" else f"{server.http}/v1/traces"
        environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        command = ["node", str(script), kind, endpoint, "from-node"]
        said = subprocess.run(
            command, cwd=modules, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert said.returncode == 0, said.stderr
        _check(server, "from-node")
