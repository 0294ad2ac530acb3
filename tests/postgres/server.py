"""One PostgreSQL server in a directory of its own, to be stopped and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.certificates import Pair
from tests.kafka.ports import free_ports

_WITHIN_S = "60"
# What the kernel has survives the server, and no machine is switched off.
_FAST = "shared_buffers=32MB max_connections=60 fsync=off"
_SYSTEM = Path("/usr/lib/postgresql")


class NoPostgres(Exception):
    """Says what is missing and how to get it."""


def programs() -> Path:
    """The directory of initdb and pg_ctl. Raises `NoPostgres`."""
    found = shutil.which("initdb")
    if found and shutil.which("pg_ctl"):
        return Path(found).parent
    installed = [one for one in _SYSTEM.glob("*/bin") if (one / "initdb").exists() and (one / "pg_ctl").exists()]
    if not installed:
        raise NoPostgres("install PostgreSQL (apt-get install postgresql), or set SPANJUDGE_TEST_POSTGRES to a URL")
    return max(installed, key=lambda one: float(one.parent.name))


class Server:
    """Keeps its port and data over restarts. Blocking. The superuser is `tests`, without a password."""

    def __init__(self) -> None:
        self._programs = programs()
        self._user = _someone_else() if os.geteuid() == 0 else None
        # Not below a test's own directory, which only its owner may enter: the server refuses to run as root.
        self._directory = Path(tempfile.mkdtemp(prefix="spanjudge-postgres-"))
        if self._user:
            shutil.chown(self._directory, self._user)
        self._data = self._directory / "data"
        self._log = self._directory / "server.log"
        self._more = ""
        (self.port,) = free_ports(1)

    @property
    def url(self) -> str:
        """Of the database that every server has."""
        return f"postgresql://tests@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> Server:
        try:
            encoding = ("-E", "UTF8", "--locale=C.UTF-8")
            self._run("initdb", "-D", str(self._data), "-U", "tests", "-A", "trust", "-N", *encoding)
            return self.start()
        except BaseException:
            self._remove()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._remove()

    def _remove(self) -> None:
        self.stop(at_once=True)
        shutil.rmtree(self._directory)

    def secure(self, pair: Pair, clients: Path | None = None) -> None:
        """Speak TLS with this certificate from the next start on; with authorities of clients, only with those who
        show one of theirs."""
        given = {
            "server.crt": pair.certificate,
            "server.key": pair.key,
            **({"clients.pem": clients} if clients else {}),
        }
        for name, file in given.items():
            to = self._data / name
            to.write_bytes(file.read_bytes())
            to.chmod(0o600)
            if self._user:
                shutil.chown(to, self._user)
        self._more = "ssl=on ssl_ca_file=clients.pem" if clients else "ssl=on"
        rules = "hostssl all all 127.0.0.1/32 cert map=anybody\n" if clients else "hostssl all all 127.0.0.1/32 trust\n"
        (self._data / "pg_hba.conf").write_text(rules)
        (self._data / "pg_ident.conf").write_text("anybody /.* tests\n")

    def start(self) -> Server:
        settings = f"listen_addresses=127.0.0.1 unix_socket_directories='' port={self.port} {_FAST} {self._more}"
        options = " ".join(f"-c {one}" for one in settings.split())
        self._control("start", "-w", "-t", _WITHIN_S, "-l", str(self._log), "-o", options)
        return self

    def stop(self, *, at_once: bool = False) -> None:
        """Connections are closed, at once as by a crash; nothing when it does not run."""
        if (self._data / "postmaster.pid").exists():
            self._control("stop", "-w", "-t", _WITHIN_S, "-m", "immediate" if at_once else "fast")

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self._data), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        command: Sequence[str] = (str(self._programs / program), *arguments)
        if self._user:
            command = ("setpriv", "--reuid", self._user, "--regid", _group(self._user), "--clear-groups", *command)
        # To a file: the server inherits it and keeps it open, so that the end of a pipe would never come.
        said = self._log.with_suffix(".out")
        with said.open("ab") as output:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", check=False)
        log = self._log.read_text(errors="replace") if self._log.exists() else ""
        assert done.returncode == 0, f"{program} failed:\n{said.read_text(errors='replace')[-2000:]}{log[-2000:]}"


def _someone_else() -> str:
    names = {one.pw_name for one in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in names and shutil.which("setpriv"):
            return name
    raise NoPostgres("a user postgres or nobody, and setpriv (util-linux): the server does not run as root")


def _group(user: str) -> str:
    return str(pwd.getpwnam(user).pw_gid)
