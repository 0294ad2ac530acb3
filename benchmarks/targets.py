"""The servers that are measured: how each is started and how one sees that it serves."""

from __future__ import annotations

import json
import socket
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import Server

NOOP, NAIVE = "noop", "naive"
PRODUCT_RATES = {"spanjudge 10 %": 0.1, "spanjudge 100 %": 1.0}
"""The product's two entries and the share of sessions that each samples."""
ALL = (NOOP, NAIVE, *PRODUCT_RATES)
PRODUCT = Path(sys.executable).with_name("spanjudge")


@dataclass(frozen=True, slots=True)
class Target:
    """A server about to be started. `data_dir` and `metrics_url` are None for those that keep nothing."""

    name: str
    server: Server
    address: str
    data_dir: Path | None = None
    metrics_url: str | None = None


def prepare(name: str, directory: Path) -> Target:
    """The server called `name`, one of `ALL`, with its log and data under `directory`, on a free port."""
    directory.mkdir(parents=True)
    port = free_port()
    if name in PRODUCT_RATES:
        return _product(name, directory, port)
    command = [sys.executable, "-m", f"benchmarks.servers.{name}", "--port", str(port)]
    server = Server(command, directory / "log", lambda log: f"READY {port}" in log)
    return Target(name, server, f"127.0.0.1:{port}")


def _product(name: str, directory: Path, port: int) -> Target:
    admin = free_port()
    config = {
        "data_dir": str(directory / "data"),
        "receivers": {"grpc": {"listen": f"127.0.0.1:{port}"}, "http": {"listen": "127.0.0.1:0", "enabled": False}},
        "admin": {"listen": f"127.0.0.1:{admin}"},
        "sampling": {"rate": PRODUCT_RATES[name]},
    }
    file = directory / "spanjudge.yaml"
    file.write_text(json.dumps(config))  # JSON is YAML
    ready = f"http://127.0.0.1:{admin}/readyz"
    server = Server([str(PRODUCT), "run", "--config", str(file)], directory / "log", lambda _: answers(ready))
    return Target(
        name, server, f"127.0.0.1:{port}", directory / "data", metrics_url=f"http://127.0.0.1:{admin}/metrics"
    )


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
