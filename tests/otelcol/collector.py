"""One Collector process with a configuration of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from tests.kafka.ports import free_ports

_START_S, _STOP_S = 60, 30


class Collector:
    """Takes OTLP/gRPC at `grpc`. Blocking."""

    def __init__(
        self,
        directory: Path,
        program: Path,
        exporters: Mapping[str, Any],
        pipelines: Mapping[str, Mapping[str, Any]] | None = None,
        tls: Mapping[str, str] | None = None,
        **sections: Mapping[str, Any],
    ) -> None:
        """`exporters` as in the Collector's configuration. `pipelines` by name; left out, traces and logs go to every
        exporter. `tls` is that of the OTLP receiver. More `sections` (processors, receivers) come beside the receiver
        that there always is."""
        directory.mkdir(parents=True, exist_ok=True)
        (port,) = free_ports(1)
        self.grpc = f"127.0.0.1:{port}"
        self._program = program
        self._file = directory / "collector.yaml"
        self.log = directory / "collector.log"
        grpc = {"endpoint": self.grpc, **({"tls": dict(tls)} if tls else {})}
        receivers = {"otlp": {"protocols": {"grpc": grpc}}, **sections.pop("receivers", {})}
        all_to_all = {signal: {"receivers": ["otlp"], "exporters": list(exporters)} for signal in ("traces", "logs")}
        service = {"telemetry": {"metrics": {"level": "none"}}, "pipelines": dict(pipelines or all_to_all)}
        config = {"receivers": receivers, "exporters": dict(exporters), **sections, "service": service}
        self._file.write_text(yaml.safe_dump(config))
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Collector:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._program), "--config", str(self._file)],
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
            )
        ends = time.monotonic() + _START_S
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > ends:
                self._process.kill()
                raise AssertionError(f"the Collector did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """It sends on what it holds, and ends."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if error is not None:
            error.add_note(f"the Collector's log:\n{self.log.read_text()[-4000:]}")

    def kill(self) -> None:
        """As `kill -9` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _listens(self) -> bool:
        host, _, port = self.grpc.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return False
        return True
