"""The whole product as users run it: a process with a configuration file, ports and a data directory."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families

from collector.otlp.grpc_server import SERVICES
from collector.store.sqlite import SqliteStore
from collector.store.store import ClosedSession
from judge.verdict import Judged
from tests.certificates import Authority, Pair
from tests.fakes.tls import client_context
from tests.kafka.ports import free_ports

_Found = TypeVar("_Found")
SPANJUDGE = Path(sys.executable).parent / "spanjudge"

QUICK: Mapping[str, Any] = {"idle_seconds": 1, "settle_seconds": 0, "late_window_seconds": 600}
"""Sessions that close as soon as it can be told that they are over."""


def free_port() -> int:
    (port,) = free_ports(1)
    return port


def wait_for(look: Callable[[], _Found], what: str, within_s: float = 30) -> _Found:
    """The first true answer of `look`. Fails, naming `what` and the last answer, when there is none in time."""
    ends = time.monotonic() + within_s
    while not (found := look()):
        if time.monotonic() > ends:
            raise AssertionError(f"{what}: not within {within_s:g} s; last seen: {found!r}")
        time.sleep(0.05)
    return found


class Server:
    """One installation of SpanJudge; it may be started and stopped many times. Output is appended to `log`."""

    def __init__(self, directory: Path, **config: Any) -> None:
        """`config` is the configuration file; ports and sessions that close quickly go without saying."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.grpc = f"127.0.0.1:{free_port()}"
        self.http = f"http://127.0.0.1:{free_port()}"
        self.admin = f"http://127.0.0.1:{free_port()}"
        usual: dict[str, Any] = {
            "data_dir": "data",
            "receivers": {"grpc": {"listen": self.grpc}, "http": {"listen": self.http.removeprefix("http://")}},
            "admin": {"listen": self.admin.removeprefix("http://")},
            "sessions": dict(QUICK),
            "journal": {"min_free_bytes": 0},
            "evaluation": {"processes": 0},  # quicker to start; tests of the processes say otherwise
            "shutdown_seconds": 10,
        }
        self.config = _merged(usual, config)
        self.environment: dict[str, str] = {}
        self.authority: Authority | None = None
        """who signed the certificates of its listeners, where they have any"""
        self.pair: Pair | None = None
        """what we show to listeners that ask for a certificate"""
        self.token: str | None = None
        """what we send telemetry with"""
        self.log = directory / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        if error is not None:
            error.add_note(f"the server's log:\n{self.output()[-4000:]}")

    def begin(self) -> subprocess.Popen[bytes]:
        """Start the process, and do not wait for it."""
        assert self._process is None or self._process.poll() is not None, "it runs already, and nobody would end it"
        file = self.directory / "spanjudge.yaml"
        file.write_text(yaml.safe_dump(self.config))
        without_key = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(SPANJUDGE), "run", "-c", str(file)],
                stdout=log,
                stderr=log,
                env={**without_key, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **self.environment},
            )
        return self._process

    def start(self) -> Self:
        """Start and wait until it is ready."""
        process = self.begin()
        try:
            wait_for(lambda: self.readyz() == 200 or process.poll() is not None, "ready", within_s=60)
            assert process.poll() is None, self.output()
        except AssertionError:
            self.kill()
            raise
        return self

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def kill(self) -> None:
        """As `kill -9` does; nothing when it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self, within_s: float = 30) -> int:
        """As an orchestrator does; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(within_s)

    def output(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    # -- admin --------------------------------------------------------------------------------------------------

    def readyz(self) -> int | None:
        try:
            return self.get("/readyz").status_code
        except httpx.TransportError:
            return None

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Of the admin listener."""
        verify = client_context(self.authority, self.pair) if self.authority else ssl.create_default_context()
        return httpx.get(f"{self.admin}{path}", headers=headers, verify=verify, trust_env=False)

    def not_ready_because(self) -> dict[str, str]:
        """Failing checks, with their reasons."""
        checks = self.get("/readyz").json()["checks"]
        return {name: check["reason"] for name, check in checks.items() if not check["ok"]}

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's series that have these labels; `spanjudge_` goes without saying."""
        text = self.get("/metrics").text
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == f"spanjudge_{name}" and labels.items() <= sample.labels.items()
        )

    # -- telemetry ----------------------------------------------------------------------------------------------

    @contextmanager
    def exporting(self, signal: str = "traces") -> Iterator[Callable[[bytes], bytes]]:
        """A connection that sends raw requests; it raises grpc.RpcError for what is not acknowledged."""
        metadata = (("authorization", f"Bearer {self.token}"),) if self.token else ()
        with self._channel() as channel:
            method = channel.unary_unary(
                f"/{SERVICES[signal]}/Export",
                request_serializer=lambda body: body,
                response_deserializer=lambda body: body,
            )
            yield lambda body: method(body, timeout=30, wait_for_ready=True, metadata=metadata)

    def _channel(self) -> grpc.Channel:
        direct = [("grpc.enable_http_proxy", 0)]
        if self.authority is None:
            return grpc.insecure_channel(self.grpc, direct)
        key, chain = (self.pair.key.read_bytes(), self.pair.certificate.read_bytes()) if self.pair else (None, None)
        credentials = grpc.ssl_channel_credentials(self.authority.certificate.read_bytes(), key, chain)
        return grpc.secure_channel(self.grpc, credentials, direct)

    def send(self, body: bytes, signal: str = "traces") -> bytes:
        with self.exporting(signal) as export:
            return export(body)

    def refusal(self, body: bytes) -> tuple[grpc.StatusCode, str]:
        """Code and message of what is expected not to be acknowledged."""
        try:
            self.send(body)
        except grpc.RpcError as error:
            return error.code(), error.details() or ""
        raise AssertionError("it was acknowledged")

    # -- verdicts -----------------------------------------------------------------------------------------------

    def closings(self, session_id: str) -> list[ClosedSession]:
        """As another process reads them, newest revision first."""

        async def read() -> list[ClosedSession]:
            store = SqliteStore.open(self.directory / "data" / "verdicts.sqlite3", read_only=True)
            try:
                return await store.session(session_id)
            finally:
                await store.close()

        return asyncio.run(read())

    def judged(self, session_id: str, count: int = 1, within_s: float = 30) -> ClosedSession:
        """Wait for this many closings of the session; the newest."""

        def enough() -> list[ClosedSession]:
            found = self.closings(session_id)
            return found if len(found) >= count else []

        return wait_for(enough, f"{session_id} closed {count} times", within_s)[0]

    def verdicts(self, closed: ClosedSession) -> list[Judged]:
        async def read() -> list[Judged]:
            store = SqliteStore.open(self.directory / "data" / "verdicts.sqlite3", read_only=True)
            try:
                return await store.verdicts(closed.ref)
            finally:
                await store.close()

        return asyncio.run(read())

    def verdict(self, closed: ClosedSession, evaluator: str) -> Judged:
        """The only verdict of this evaluator."""
        (found,) = [judged for judged in self.verdicts(closed) if judged.verdict.evaluator == evaluator]
        return found


def _merged(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    return below | {
        key: _merged(below[key], value) if isinstance(value, Mapping) and isinstance(below.get(key), dict) else value
        for key, value in above.items()
    }
