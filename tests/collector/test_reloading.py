"""A configuration that is read again takes effect as a whole, or not at all."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from structlog.testing import capture_logs

from collector.evaluation.evaluators import CannotChange
from collector.in_force import InForce, read_in_force
from collector.metrics import Metrics
from collector.reloading import Reloading
from tests.fakes.clock import FakeClock


@dataclass
class Bench:
    """Judges by whatever it is given, but for what it cannot."""

    cannot: str | None = None
    by: list[InForce] = field(default_factory=list)

    async def judge_by(self, wanted: InForce) -> None:
        if self.cannot is not None:
            raise CannotChange(self.cannot)
        self.by.append(wanted)


class Desk:
    def __init__(self, directory: Path) -> None:
        self._file = directory / "spanjudge.yaml"
        self.write(sampling={"rate": 0.5})
        self.bench, self.metrics, self.clock = Bench(), Metrics(), FakeClock()
        self.in_force: list[InForce] = []
        now = self.read()
        self.reloading = Reloading(now, self.read, self.bench, self.in_force.append, self.clock, self.metrics)

    def write(self, **config: Any) -> None:
        self._file.write_text(yaml.safe_dump(config))

    def read(self) -> InForce:
        return read_in_force(self._file, {})

    def count(self, outcome: str) -> float | None:
        return self.metrics.registry.get_sample_value("spanjudge_config_reloads_total", {"outcome": outcome})

    def read_at(self) -> float | None:
        return self.metrics.registry.get_sample_value("spanjudge_config_last_reload_success_timestamp_seconds")


async def test_a_good_file_takes_effect_everywhere(tmp_path: Path) -> None:
    at = Desk(tmp_path)
    at.write(sampling={"rate": 0.25}, receivers={"max_in_flight": 9})
    at.clock.advance(60)
    with capture_logs() as logs:
        assert await at.reloading.reload()
    assert [now.config.sampling.rate for now in (*at.bench.by, *at.in_force)] == [0.25, 0.25]
    assert (at.count("success"), at.count("failure")) == (1, 0)
    assert at.read_at() == at.clock.now_ns() / 1e9
    assert {"event": "config_needs_restart", "keys": ["receivers.max_in_flight"], "log_level": "warning"} in logs


async def test_of_a_faulty_file_every_problem_is_told_and_nothing_takes_effect(tmp_path: Path) -> None:
    at = Desk(tmp_path)
    before = at.read_at()
    at.clock.advance(60)
    at.write(sampling={"rate": 7}, evaluators={"budgets": {"enabeld": True}})
    with capture_logs() as logs:
        assert not await at.reloading.reload()
    told = [(one["key"], one["line"]) for one in logs if one["event"] == "config_problem"]
    assert told == [("evaluators.budgets.enabeld", 3), ("sampling.rate", 5)]
    assert (at.bench.by, at.in_force) == ([], [])
    assert (at.count("failure"), at.read_at()) == (1, before)


async def test_what_the_evaluators_cannot_take_up_takes_effect_nowhere(tmp_path: Path) -> None:
    at = Desk(tmp_path)
    at.bench.cannot = "no memory for another process"
    at.write(sampling={"rate": 0.25})
    with capture_logs() as logs:
        assert not await at.reloading.reload()
    assert at.in_force == []
    assert at.count("failure") == 1
    assert logs[-1]["problem"] == "no memory for another process"
    assert at.metrics.registry.get_sample_value("spanjudge_config_last_reload_successful") == 0
    at.bench.cannot = None
    assert await at.reloading.reload()
    assert at.metrics.registry.get_sample_value("spanjudge_config_last_reload_successful") == 1
    assert [now.config.sampling.rate for now in at.in_force] == [0.25]


async def test_a_second_change_is_compared_with_what_is_in_force(tmp_path: Path) -> None:
    at = Desk(tmp_path)
    at.write(shutdown_seconds=7)
    assert await at.reloading.reload()
    with capture_logs() as logs:
        assert await at.reloading.reload()
    assert any(one["event"] == "config_needs_restart" for one in logs), "it has not been restarted since"
    assert [now.config.sampling.rate for now in at.in_force] == [1.0, 1.0]


async def test_asking_several_times_at_once_reads_once(tmp_path: Path) -> None:
    at = Desk(tmp_path)
    for _ in range(3):
        at.reloading.ask()
    running = asyncio.create_task(at.reloading.run())
    async with asyncio.timeout(20):
        while not at.in_force:  # noqa: ASYNC110 - it reads in a thread
            await asyncio.sleep(0.01)
    running.cancel()
    assert at.count("success") == 1


async def test_without_a_file_there_is_nothing_to_read(tmp_path: Path) -> None:
    at = Desk(tmp_path)
    reloading = Reloading(at.read(), None, at.bench, at.in_force.append, at.clock, at.metrics)
    with capture_logs() as logs:
        assert not await reloading.reload()
    assert logs[0]["event"] == "nothing_to_reload"
