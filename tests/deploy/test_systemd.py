"""deploy/systemd/spanjudge.service: what systemd says to it, and whether its commands do what it takes them for."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from collector.config import Config, load_config
from collector.exposure import exposures
from tests.end_to_end.server import SPANJUDGE, Server, wait_for
from tests.integrations import require

FILE = Path(__file__).parents[2] / "deploy" / "systemd" / "spanjudge.service"
_EXPOSED_AT_MOST = 15
"""Tenths; systemd calls up to 20 "ok", and what may use the network cannot get below 10."""


def settings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def one(name: str) -> str:
    (value,) = settings()[name]
    return value


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """As installed here: with the programs and the directories of this machine."""
    made = tmp_path / FILE.name
    made.write_text(FILE.read_text(encoding="utf-8").replace("/opt/spanjudge/bin/spanjudge", str(SPANJUDGE)))
    return made


@pytest.fixture
def systemd_analyze() -> str:
    found = shutil.which("systemd-analyze")
    require("systemd", found is not None, "install Debian's systemd")
    assert found is not None
    return found


@pytest.mark.integration("systemd")
def test_systemd_finds_nothing_wrong_with_the_unit(unit: Path, systemd_analyze: str) -> None:
    verified = subprocess.run(
        [systemd_analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    ours = [line for line in verified.stderr.splitlines() if unit.name in line]
    assert ours == []
    assert verified.returncode == 0, verified.stderr


@pytest.mark.integration("systemd")
def test_systemd_finds_a_mistake(unit: Path, systemd_analyze: str) -> None:
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystem=very"))
    verified = subprocess.run(
        [systemd_analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert f"{unit.name}:" in verified.stderr


@pytest.mark.integration("systemd")
def test_the_unit_may_do_little_more_than_it_must(unit: Path, systemd_analyze: str) -> None:
    command = [systemd_analyze, "security", "--offline=true", f"--threshold={_EXPOSED_AT_MOST}", str(unit)]
    analysed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert analysed.returncode == 0, analysed.stdout


def test_a_stop_has_longer_than_the_server_takes_for_it() -> None:
    assert int(one("TimeoutStopSec")) > Config().shutdown_seconds
    assert one("KillSignal") == "SIGTERM"
    assert one("Restart") == "on-failure"


def test_it_writes_into_its_state_directory_only() -> None:
    assert (one("ProtectSystem"), one("StateDirectory"), one("DynamicUser")) == ("strict", "spanjudge", "yes")
    assert one("WorkingDirectory") == "/var/lib/spanjudge"
    assert not {"ReadWritePaths", "BindPaths"} & settings().keys()


def test_its_configuration_is_good_and_fits_the_unit() -> None:
    config = load_config(FILE.with_name("spanjudge.yaml"), {})
    assert str(config.data_dir) == f"/var/lib/{one('StateDirectory')}"
    assert config.shutdown_seconds < int(one("TimeoutStopSec"))
    assert not exposures(config)


def test_secrets_come_from_a_file_and_not_from_the_unit() -> None:
    assert one("EnvironmentFile") == "-/etc/spanjudge/environment"
    assert not re.search(r"(KEY|TOKEN|PASSWORD)=", "\n".join(settings()["Environment"]))


@pytest.fixture
def server(tmp_path: Path) -> Server:
    made = Server(tmp_path / "us", evaluation={"processes": 1})
    file = made.directory / "spanjudge.yaml"
    file.write_text(yaml.safe_dump(made.config))
    return made


def here(command: str, server: Server) -> list[str]:
    words = shlex.split(command.replace("/etc/spanjudge/spanjudge.yaml", str(server.directory / "spanjudge.yaml")))
    return [str(SPANJUDGE) if word == "/opt/spanjudge/bin/spanjudge" else word for word in words]


CONFINED = """
import ctypes, os, sys
os.umask(int(sys.argv[1], 8))
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # no new privileges
ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)  # no memory that is written and run: Linux 6.3 and newer, else it is not tried
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Some of what the unit takes away, without systemd."""


def test_its_commands_check_start_reload_and_stop_the_server(server: Server) -> None:
    checked = subprocess.run(here(one("ExecStartPre"), server), capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    with server.log.open("wb") as log:
        command = [sys.executable, "-c", CONFINED, one("UMask"), *here(one("ExecStart"), server)]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for(lambda: server.readyz() == 200 or process.poll() is not None, "ready", 60)
        assert process.poll() is None, server.output()
        assert Path(f"/proc/{process.pid}/status").read_text().count("NoNewPrivs:\t1") == 1
        reload = one("ExecReload").replace("$MAINPID", str(process.pid))
        subprocess.run(shlex.split(reload), check=True)
        wait_for(lambda: server.metric("config_reloads_total", outcome="success") == 1, "read again", 30)
        process.send_signal(signal.Signals[one("KillSignal")])
        assert process.wait(int(one("TimeoutStopSec"))) == 0
    except BaseException as error:
        error.add_note(server.output()[-4000:])
        raise
    finally:
        process.kill()
        process.wait()
    assert (server.directory / "data" / "verdicts.sqlite3").stat().st_mode & 0o077 == 0
