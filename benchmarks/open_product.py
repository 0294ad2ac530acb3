"""The product with sessions that stay open: what the measurements of memory and of recovery start."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks import targets
from benchmarks.processes import Server

_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class OpenProduct:
    """Not yet started. It may be started again when it has ended: the data stay."""

    server: Server
    address: str
    admin: str
    data_dir: Path

    def log(self) -> str:
        return (self.data_dir.parent / "log").read_text(errors="replace")


def prepare(directory: Path) -> OpenProduct:
    """Every session is kept, and none closes before the day is over."""
    port, admin = targets.free_port(), targets.free_port()
    config = {
        "data_dir": str(directory / "data"),
        "receivers": {"grpc": {"listen": f"127.0.0.1:{port}"}, "http": {"listen": "127.0.0.1:0", "enabled": False}},
        "admin": {"listen": f"127.0.0.1:{admin}"},
        "sessions": {"idle_seconds": _DAY_S, "max_age_seconds": _DAY_S, "max_open": 10_000_000},
        "journal": {"segment_seconds": _DAY_S, "max_bytes": 100 * 2**30},
    }
    file = directory / "spanjudge.yaml"
    file.write_text(json.dumps(config))  # JSON is YAML
    url = f"http://127.0.0.1:{admin}"
    server = Server(
        [str(targets.PRODUCT), "run", "--config", str(file)],
        directory / "log",
        lambda _: targets.answers(f"{url}/readyz"),
    )
    return OpenProduct(server, f"127.0.0.1:{port}", url, directory / "data")
