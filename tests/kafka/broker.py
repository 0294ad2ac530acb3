"""One Apache Kafka process (KRaft: broker and controller in one), to be stopped, killed and started again."""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.kafka.ports import free_ports

CLUSTER_ID = "dGVzdHMtb2Ytc3Bhbmp1ZA"  # any 16 bytes, in base64
_START_S, _STOP_S = 120, 40
_JVM = ("-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")

USUAL: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "num.network.threads": "2",
    "num.io.threads": "4",
    # A killed broker is taken back by its controller once its session has ended.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
}


class Broker:
    """Keeps its ports and data over restarts. Blocking: in a coroutine, call it by `asyncio.to_thread`."""

    def __init__(
        self,
        directory: Path,
        jars: Path,
        settings: Mapping[str, str] | None = None,
        *,
        format_with: tuple[str, ...] = (),
    ) -> None:
        """`settings` come over `USUAL`; `listeners` in them name the ports. `format_with`: more arguments of the
        storage tool, as users of SCRAM."""
        self._directory = directory
        self._jars = jars
        self._format_with = format_with
        given = settings or {}
        if "listeners" not in given:
            given = {**single_node(*free_ports(2)), **given}
        self._settings = {**USUAL, "log.dirs": str(directory / "data"), **given}
        self.log = directory / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """host:port of the first listener."""
        return self.address(self._settings["listeners"].partition("://")[0])

    def address(self, listener: str) -> str:
        """host:port of a listener by its name."""
        listeners = dict(entry.split("://") for entry in self._settings["listeners"].split(","))
        return listeners[listener]

    def __enter__(self) -> Broker:
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def start(self) -> Broker:
        """Start and wait until it answers requests."""
        self.begin()
        self.wait_until_it_answers()
        return self

    def begin(self) -> None:
        """Start the process, and do not wait for it."""
        assert self._process is None, "it runs already"
        self._directory.mkdir(parents=True, exist_ok=True)
        configuration = self._directory / "server.properties"
        configuration.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()))
        if not (self._directory / "data").exists():
            self._format(configuration)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(configuration)), stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def _format(self, configuration: Path) -> None:
        command = ("format", "-t", CLUSTER_ID, "-c", str(configuration), *self._format_with)
        formatted = subprocess.run(self._java("kafka.tools.StorageTool", *command), capture_output=True, check=False)
        assert formatted.returncode == 0, (formatted.stdout + formatted.stderr).decode()

    def _java(self, main: str, *arguments: str) -> list[str]:
        logs = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
        return ["java", *_JVM, logs, "-cp", f"{self._jars}/*", main, *arguments]

    def wait_until_it_answers(self) -> None:
        ends = time.monotonic() + _START_S
        while not answers(self.bootstrap):
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > ends:
                raise AssertionError(f"the broker did not start:\n{self.output()[-4000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """As an orchestrator does: it hands over its leaderships and ends."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._process = None

    def kill(self) -> None:
        """As `kill -9` does; nothing when it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """It keeps its connections and answers nobody, until `thaw`."""
        self._running().send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "it does not run"
        return self._process


def single_node(port: int, controller: int) -> dict[str, str]:
    """Listeners of a broker that is alone."""
    return {
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
    }


def answers(bootstrap: str) -> bool:
    """Does a broker answer an ApiVersions request here? On a plain listener; it asks for no credentials."""
    host, _, port = bootstrap.rpartition(":")
    # Size; key 18 in version 0, correlation id 1, no client id. https://kafka.apache.org/protocol
    body = struct.pack(">hhih", 18, 0, 1, -1)
    try:
        with socket.create_connection((host, int(port)), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            return len(connection.recv(8)) == 8
    except OSError:
        return False
