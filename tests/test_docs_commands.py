"""The commands in the documents, run: ours in an installation that is made for it, those of the shell in a shell."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.documented.pages import ROOT, Command, commands, inline_commands
from tests.documented.scene import Scene, run, scene
from tests.end_to_end.server import SPANJUDGE, Server, wait_for
from tests.integrations import require
from tests.test_docs import COMMANDS, named_in, options_of

NOT_RUN: Mapping[str, str] = {
    r"docker ": "there is no container engine; tests/deploy does the steps of the image and reads compose.yaml",
    r"\{ echo tokens:; docker ": "likewise",
    r"kubectl ": "there is no cluster; tests/helm starts what the chart would",
    r"helm (install|upgrade|uninstall|rollback|test) ": "there is no cluster; tests/helm renders with the same program",
    r"make ": "each target sets up this checkout anew or runs all tests",
    r"\.venv/bin/(python|pytest) ": "they write into this checkout, build for minutes, or run all tests",
    r"(systemctl|journalctl|install) ": "they change a machine; tests/deploy/test_systemd.py does what the unit does",
    r"(claude|codex|gemini|openhands|node|python|pip|uv|opentelemetry-instrument) ?": "a program that is not ours",
    r"(pg_dump|pg_restore|psql|kafka-\S+) ": "a program that is not ours, of a server that is not here",
}
"""Lines that cannot be run here, by how they begin, and why."""

CHANGING = {"baseline save", "baseline promote", "baseline delete", "label", "suite add"}
_WITHIN_S = 60

SHOWN = list(dict.fromkeys(commands()))


def reason_not_to_run(line: Command) -> str | None:
    return next((why for begins, why in NOT_RUN.items() if re.match(begins, line.text)), None)


def lines(program: str) -> list[Command]:
    """Each once, however many pages have it."""
    found = {
        line.text: line for line in SHOWN if line.text.partition(" ")[0] == program and not reason_not_to_run(line)
    }
    return list(found.values())


FILES = {"mkdir", "sqlite3", "cp", "rm"}
"""Programs that work on files: the lines of a page with them are run together, in a copy of what there is."""
PROGRAMS = {"spanjudge", "curl", "export", "kill", *FILES}


def test_every_line_is_run_or_has_a_reason_not_to_be() -> None:
    neither = [str(line) for line in SHOWN if not reason_not_to_run(line) and line.words[0] not in PROGRAMS]
    assert neither == []


def test_no_reason_is_left_over() -> None:
    """One that no line needs would hide a line that somebody writes later."""
    unused = [begins for begins in NOT_RUN if not any(re.match(begins, line.text) for line in SHOWN)]
    assert unused == []


@pytest.mark.parametrize("line", inline_commands(), ids=str)
def test_a_command_within_a_sentence_exists_with_its_options(line: Command) -> None:
    words = line.words[1:]
    if words[0].startswith("-"):
        assert words in (["--help"], ["--version"])
        return
    command, rest = named_in(words)
    assert command in COMMANDS, line
    assert {word.partition("=")[0] for word in rest if word.startswith("-")} <= options_of(command)


# -- run ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene(tmp_path_factory.mktemp("documents") / "desk") as made:
        yield made


@pytest.mark.parametrize("line", [one for one in lines("spanjudge") if one.words[1] != "run"], ids=str)
def test_a_command_of_ours_does_what_the_documents_have_it_do(
    line: Command, here: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled = Command(line.page, here.fill_in(line.text))
    text, _, into = filled.text.partition(" > ")
    arguments = Command(line.page, text.removesuffix(" >> tokens.yaml")).words[1:]
    command, _ = named_in(arguments)
    at = here.directory
    if command in CHANGING:
        at = here.copied(tmp_path / "copy", baselines=command != "baseline save")
    monkeypatch.chdir(at)
    monkeypatch.setenv("SPANJUDGE_AUTHOR", "ana")
    if command == "replay":  # to the ports of this server
        arguments += ["--endpoint", f"http://{here.server.grpc}"]
    ran = run(arguments, "quit\n" if "--next" in arguments else "")
    assert ran.exit_code == 0, f"{filled}\n{ran.output}"
    assert (ran.stdout if into else ran.output).strip()


@pytest.mark.parametrize("line", lines("curl"), ids=str)
def test_a_request_gets_an_answer(line: Command, here: Scene) -> None:
    text = here.fill_in(line.text).replace("curl ", "curl --fail-with-body --noproxy '*' ", 1)
    ran = subprocess.run(
        ["bash", "-euc", text],
        capture_output=True,
        text=True,
        check=False,
        timeout=_WITHIN_S,
        env={**os.environ, "TOKEN": "of-nobody"},
    )
    assert ran.returncode == 0, f"{text}\n{ran.stdout}{ran.stderr}"
    assert ran.stdout.strip()


@pytest.mark.parametrize("line", [one for one in lines("spanjudge") if one.words[1] == "run"], ids=str)
def test_a_server_started_as_shown_gets_ready_and_stops(line: Command, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    server = Server(tmp_path / "unused")
    file = tmp_path / line.words[-1]
    text = (ROOT / "examples" / "spanjudge.yaml").read_text(encoding="utf-8")
    for port, here in {"4317": server.grpc, "4318": server.http, "9464": server.admin}.items():
        text = text.replace(f"127.0.0.1:{port}", here.removeprefix("http://"))
    file.write_text(text.replace("suites/*.yaml", str(tmp_path / "examples" / "suites" / "*.yaml")), encoding="utf-8")
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen([str(SPANJUDGE), *line.words[1:]], cwd=tmp_path, stdout=output, stderr=output)
    try:
        wait_for(lambda: server.readyz() == 200 or process.poll() is not None, "ready", _WITHIN_S)
        assert process.poll() is None, log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(_WITHIN_S) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("line", lines("export"), ids=str)
def test_variables_are_set_as_a_shell_reads_them(line: Command) -> None:
    ran = subprocess.run(["bash", "-euc", line.text], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", word.partition("=")[0]) for word in line.words[1:])


@pytest.mark.parametrize("line", lines("kill"), ids=str)
def test_a_signal_has_the_configuration_read_again(line: Command, here: Scene) -> None:
    before = here.server.metric("config_reloads_total", outcome="success")
    subprocess.run(["bash", "-euc", line.text.replace("PID", str(here.server.process.pid))], check=True)
    wait_for(lambda: here.server.metric("config_reloads_total", outcome="success") > before, "read again", _WITHIN_S)


@pytest.mark.integration("sqlite3")
@pytest.mark.parametrize("page", list(dict.fromkeys(line.page for line in SHOWN if line.words[0] in FILES)))
def test_files_are_copied_and_put_back_as_shown(page: str, here: Scene, tmp_path: Path) -> None:
    require("sqlite3", shutil.which("sqlite3") is not None, "install Debian's sqlite3")
    copy = here.copied(tmp_path / "copy", baselines=True)
    shown = [line.text for line in SHOWN if line.page == page and line.words[0] in FILES]
    ran = subprocess.run(["bash", "-euc", "\n".join(shown)], cwd=copy, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    kept = run(["sessions", "--limit", "5", "--data-dir", str(copy / "data")])
    assert kept.exit_code == 0, kept.output
    assert "support" in kept.output


# -- what the operations guide says of the server ----------------------------------------------------------------------

OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_the_operations_guide_has_every_check_of_a_running_server(here: Scene) -> None:
    told = here.server.get("/readyz").json()
    assert [name for name in told["checks"] if f"| `{name}` |" not in OPERATIONS] == []
    assert [name for name in told["notices"] if f"| notice `{name}` |" not in OPERATIONS] == []


def test_every_log_line_in_the_operations_guide_is_one_that_is_written() -> None:
    table = OPERATIONS.partition("## Log lines")[2].partition("\n## ")[0]
    events = [
        event for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for event in re.findall(r"`(\w+)`", row)
    ]
    assert len(events) > 20
    sources = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "collector").rglob("*.py"))
    assert [event for event in events if f'"{event}"' not in sources] == []
