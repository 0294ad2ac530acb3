"""A real server in a process of its own, for as long as the demo lasts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from collector.commands.run import ADDRESSES_FILE

_START_S = 30.0
_STOP_S = 15.0
_LOOK_S = 0.1
CONFIG_FILE = "spanjudge.yaml"
LOG_FILE = "server.log"
_CONFIG = """\
# What the demo ran with. Ports are whichever were free; sessions close after a short silence.
data_dir: .
receivers:
  grpc: {listen: "127.0.0.1:0"}
  http: {listen: "127.0.0.1:0"}
admin: {listen: "127.0.0.1:0"}
sessions:
  idle_seconds: 1.5
  settle_seconds: 0.5
suites: [suites/*.yaml]
judge:
  effort: low
  timeout_seconds: 30
  max_attempts: 2
shutdown_seconds: 10
log: {format: json}
"""


class ServerFailed(Exception):
    """The server did not start, or ended before its time; the text ends with the last lines it wrote."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: where it listens, and where its files are."""

    grpc: str
    http: str
    admin: str
    config_file: Path
    log_file: Path
    process: Popen[bytes]

    def still_runs(self) -> None:
        """Raises `ServerFailed` when it does not."""
        if self.process.poll() is not None:
            raise ServerFailed(f"the server ended with {self.process.returncode}:\n{_tail(self.log_file)}")


def write_files(data_dir: Path, suite: str) -> Path:
    """Configuration and suite, as a user would write them. Returns the configuration file."""
    (data_dir / "suites").mkdir(parents=True, exist_ok=True)
    (data_dir / "suites" / "tideway.yaml").write_text(suite, encoding="utf-8")
    config = data_dir / CONFIG_FILE
    config.write_text(_CONFIG, encoding="utf-8")
    return config


@contextmanager
def running(config: Path) -> Iterator[Server]:
    """Start `spanjudge run -c CONFIG`, wait until it listens, and stop it afterwards, whatever happens."""
    data_dir = config.parent
    addresses = data_dir / ADDRESSES_FILE
    addresses.unlink(missing_ok=True)
    log_file = data_dir / LOG_FILE
    with log_file.open("wb") as log:
        process = Popen(  # noqa: S603 - our own command
            [sys.executable, "-P", "-m", "collector", "run", "-c", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # A session of its own: Ctrl-C is for the demo, which then stops the server.
            start_new_session=True,
            env=dict(os.environ),
        )
    try:
        wait_until(addresses.exists, _START_S, lambda: _check(process, log_file))
        listening = json.loads(addresses.read_text(encoding="utf-8"))
        yield Server(listening["grpc"], listening["http"], listening["admin"], config, log_file, process)
    finally:
        _stop(process)


def wait_until(condition: Callable[[], bool], within_s: float, check: Callable[[], None]) -> bool:
    """Look until the condition holds: True, or False when time is up. `check` may raise, and ends the wait."""
    ends = time.monotonic() + within_s
    while not condition():
        check()
        if time.monotonic() > ends:
            return False
        time.sleep(_LOOK_S)
    return True


def _check(process: Popen[bytes], log_file: Path) -> None:
    if process.poll() is not None:
        raise ServerFailed(f"the server did not start (it ended with {process.returncode}):\n{_tail(log_file)}")


def _stop(process: Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _tail(log_file: Path, lines: int = 15) -> str:
    return "\n".join(log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
