"""The container image, without a container engine: what its Dockerfile says, and its steps done for real."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from collector.config import load_config
from tests.deploy.dockerfile import Instruction, build_context, stages, substituted
from tests.end_to_end.server import wait_for
from tests.integrations import require
from tests.kafka.ports import free_ports

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
BUILD, FINAL = stages(DOCKERFILE)
UID = 10001


def every(name: str, stage: list[Instruction] = FINAL) -> list[str]:
    return [each.text for each in stage if each.name == name]


def checkout(*below: str) -> list[str]:
    """Files that git has or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *below]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [file for file in listed if (ROOT / file).exists()]


def environment() -> dict[str, str]:
    found: dict[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    for text in every("ENV"):
        for entry in shlex.split(text):
            name, _, value = entry.partition("=")
            found[name] = substituted(value, found)
    return found


def test_the_base_is_pinned_to_one_release_of_python() -> None:
    bases = {every("FROM", stage)[0].split(" ")[0] for stage in (BUILD, FINAL)}
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm", bases.pop())
    pinned = stages(DOCKERFILE, {"PYTHON": "python:3.11.15-slim-bookworm@sha256:abc"})
    assert every("FROM", pinned[1]) == ["python:3.11.15-slim-bookworm@sha256:abc"]


def test_nothing_is_installed_that_is_not_pinned_by_hash() -> None:
    installs = [text for text in every("RUN", BUILD) if " install " in text]
    assert installs
    assert all("--require-hashes" in text or "--no-index" in text for text in installs)
    assert not any(word in DOCKERFILE for word in ("apt-get", "curl ", "wget ", "ADD "))


def test_it_runs_as_nobody_in_particular_and_ends_by_sigterm() -> None:
    assert every("USER") == [f"{UID}:{UID}"]
    assert every("STOPSIGNAL") == ["SIGTERM"]
    assert every("VOLUME") == ['["/data"]']
    assert every("ENTRYPOINT") == ['["spanjudge"]']
    order = [each.name for each in FINAL]
    assert "RUN" not in order[order.index("USER") :]


def test_only_what_is_copied_gets_into_the_build() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    seen = build_context(
        ROOT, [*listed.stdout.splitlines(), ".env", ".venv/bin/python", "collector/a/__pycache__/b.pyc"]
    )
    copied = [
        source
        for text in [*every("COPY", BUILD), *every("COPY")]
        if "--from" not in text
        for source in text.split()[:-1]
    ]
    assert {source for source in copied if not any(f"{file}/".startswith(f"{source}/") for file in seen)} == set()
    assert {file for file in seen if not any(f"{file}/".startswith(f"{source}/") for source in copied)} == set()
    assert not {".env", ".venv/bin/python", "collector/a/__pycache__/b.pyc"} & set(seen)


def test_the_configuration_within_listens_where_the_image_says() -> None:
    config = load_config(ROOT / "deploy" / "container.yaml", {})
    assert str(config.data_dir) == "/data"
    listening = {config.receivers.grpc.listen, config.receivers.http.listen, config.admin.listen}
    assert listening == {f"0.0.0.0:{port}" for port in every("EXPOSE")[0].split()}


# -- for real -----------------------------------------------------------------------------------------------------


def _python() -> str | None:
    """A Python 3.11 with venv that another user may run, too."""
    asks = "import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))"
    for found in ("/usr/local/bin/python3.11", "/usr/bin/python3.11"):
        ran = Path(found).exists() and subprocess.run([found, "-c", asks], user=UID, check=False, capture_output=True)
        if ran and ran.returncode == 0:
            return found
    return None


class Image:
    """The file system that the Dockerfile makes, below a directory, with this machine's Python in place of the base."""

    def __init__(self, root: Path, python: str) -> None:
        self.root = root
        self._shims = root / "shims"
        self._shims.mkdir()
        (self._shims / "python").symlink_to(python)
        self._at = root

    def here(self, text: str) -> str:
        """A command or path of the image, below our directory."""
        return re.sub(r"(?<![\w.:/])/(opt|src|data|etc|tmp)\b", rf"{self.root}/\1", text)

    def build(self) -> None:
        for instruction in BUILD:
            self._do(instruction)
        data = self.root / "data"
        for directory in (data, self.root / "tmp"):
            directory.mkdir()
            os.chown(directory, UID, UID)
        for text in every("COPY"):
            if "--from" not in text:  # what comes from the other stage is there already
                self._copy(text)

    def _do(self, instruction: Instruction) -> None:
        match instruction.name:
            case "WORKDIR":
                self._at = Path(self.here(instruction.text))
                self._at.mkdir(parents=True, exist_ok=True)
            case "COPY":
                self._copy(instruction.text)
            case "RUN":
                path = f"{self._shims}:/usr/bin:/bin"
                outside = {name: value for name, value in os.environ.items() if name.lower().startswith("pip_")}
                proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
                ran = subprocess.run(
                    ["/bin/sh", "-c", self.here(instruction.text)],
                    cwd=self._at,
                    env={
                        **outside,
                        **proxies,
                        "PATH": path,
                        "HOME": str(self.root),
                        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                    },
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert ran.returncode == 0, f"{instruction.text}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"

    def _copy(self, text: str) -> None:
        *sources, target = text.split()
        into = Path(self.here(target)) if target.startswith("/") else self._at / target
        for file in build_context(ROOT, checkout(*sources)):
            (source,) = (each for each in sources if f"{file}/".startswith(f"{each}/"))
            below = Path(file).relative_to(source)
            to = into / Path(source).name if target.endswith("/") and below == Path() else into / below
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, to)

    def files(self) -> dict[str, int]:
        """All but data, by when they were changed."""
        own = [path for path in self.root.rglob("*") if not path.is_relative_to(self.root / "data")]
        return {str(path): path.lstat().st_mtime_ns for path in own}


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    python = _python() if os.geteuid() == 0 else None
    require("image", python is not None, "run as root, with a Python 3.11 with venv outside of anybody's home")
    assert python is not None
    root = Path(tempfile.mkdtemp(prefix="spanjudge-image-", dir="/var/tmp"))
    root.chmod(0o755)  # that of pytest is for one user only
    try:
        made = Image(root, python)
        made.build()
        yield made
    finally:
        shutil.rmtree(root)


@pytest.mark.integration("image")
@pytest.mark.timeout(600)
def test_what_is_built_starts_as_another_user_writes_only_data_and_ends_in_time(image: Image) -> None:
    ports = dict(zip((4317, 4318, 9464), free_ports(3), strict=True))
    config = image.root / "etc" / "spanjudge" / "spanjudge.yaml"
    text = config.read_text()
    for there, here in ports.items():
        text = text.replace(f"0.0.0.0:{there}", f"127.0.0.1:{here}")
    config.write_text(image.here(text))
    assert yaml.safe_load(config.read_text())["data_dir"] == str(image.root / "data")
    inside = {name: image.here(value) for name, value in environment().items()}
    inside["SPANJUDGE_LIVEZ"] = inside["SPANJUDGE_LIVEZ"].replace("9464", str(ports[9464]))
    before = image.files()
    (command,) = ([*entry.words(), *given.words()] for entry, given in _started())
    log = image.root / "data" / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [shutil.which(command[0], path=inside["PATH"]) or command[0], *map(image.here, command[1:])],
            env={**inside, "TMPDIR": str(image.root / "tmp")},
            cwd=image.root / "data",
            user=UID,
            group=UID,
            extra_groups=[],
            stdout=output,
            stderr=output,
        )
    try:
        wait_for(lambda: _healthy(inside) or process.poll() is not None, "healthy", 120)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert not _healthy(inside)
    except BaseException as error:
        error.add_note(log.read_text())
        raise
    finally:
        process.kill()
        process.wait()
    assert (image.root / "data" / "verdicts.sqlite3").stat().st_uid == UID
    assert image.files() == before


def _started() -> Iterator[tuple[Instruction, Instruction]]:
    by_name = {each.name: each for each in FINAL}
    yield by_name["ENTRYPOINT"], by_name["CMD"]


def _healthy(inside: dict[str, str]) -> bool:
    """As the engine asks."""
    (text,) = every("HEALTHCHECK")
    command = Instruction("CMD", text.partition(" CMD ")[2]).words()
    program = shutil.which(command[0], path=inside["PATH"])
    assert program
    return (
        subprocess.run([program, *command[1:]], env=inside, user=UID, capture_output=True, check=False).returncode == 0
    )
