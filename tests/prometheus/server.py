"""One Prometheus process that scrapes every second and keeps exemplars."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import httpx
import yaml

from tests.end_to_end.server import wait_for
from tests.integrations import require
from tests.kafka.ports import free_ports

Series: TypeAlias = dict[str, Any]
"""As the API gives it: `metric`, and `value` or `values`."""


def prometheus_program() -> str:
    """Skips, or fails where SPANJUDGE_REQUIRE names `prometheus`, when there is none."""
    found = shutil.which("prometheus")
    require("prometheus", found is not None, "apt-get install prometheus")
    assert found is not None
    return found


class Prometheus:
    """`targets` are host:port by the name of the job. `rules` are rule files as text, by file name. Blocking."""

    def __init__(
        self, directory: Path, targets: Mapping[str, Sequence[str]], rules: Mapping[str, str] | None = None
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self._directory = directory
        self._program = prometheus_program()
        self._log = directory / "prometheus.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._client = httpx.Client(base_url=self.url, trust_env=False, timeout=30)
        for name, text in (rules or {}).items():
            (directory / name).write_text(text)
        jobs = [
            {"job_name": name, "static_configs": [{"targets": list(addresses)}]} for name, addresses in targets.items()
        ]
        every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        config = {"global": every, "scrape_configs": jobs, "rule_files": list(rules or {})}
        (directory / "prometheus.yaml").write_text(yaml.safe_dump(config))

    def __enter__(self) -> Prometheus:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._program,
                    f"--config.file={self._directory / 'prometheus.yaml'}",
                    f"--storage.tsdb.path={self._directory / 'data'}",
                    f"--web.listen-address={self.url.removeprefix('http://')}",
                    "--enable-feature=exemplar-storage",
                    "--log.level=warn",
                ],
                stdout=log,
                stderr=log,
            )
        try:
            wait_for(self._ready, "Prometheus is ready", within_s=60)
        except BaseException as error:
            self._stop()
            error.add_note(self._log.read_text()[-4000:])
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._client.close()

    def _ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        try:
            return self._client.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False

    def now(self, expr: str) -> list[Series]:
        """An instant query."""
        return self._data("query", query=expr)["result"]  # type: ignore[no-any-return]

    def over(self, expr: str, start: float, end: float, step: str = "1s") -> list[Series]:
        """A range query."""
        found: list[Series] = self._data("query_range", query=expr, start=str(start), end=str(end), step=step)["result"]
        return found

    def exemplars(self, expr: str, start: float, end: float) -> list[Series]:
        """Of the series in the expression."""
        found: list[Series] = self._data("query_exemplars", query=expr, start=str(start), end=str(end))
        return found

    def label_values(self, label: str, selector: str) -> list[str]:
        """Of the series that the selector names."""
        found: list[str] = self._data(f"label/{label}/values", **{"match[]": selector})
        return found

    def _data(self, path: str, **parameters: str) -> Any:
        answer = self._client.post(f"/api/v1/{path}", data=parameters)
        if answer.status_code == 405:  # label values are only read
            answer = self._client.get(f"/api/v1/{path}", params=parameters)
        found = answer.json()
        assert found["status"] == "success", f"{parameters}: {found['errorType']}: {found['error']}"
        return found["data"]
