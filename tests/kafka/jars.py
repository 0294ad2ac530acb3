"""The jars of an Apache Kafka broker, from Maven Central by their coordinates, kept between runs of the tests."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from tests.cache import cached

_POM = Path(__file__).with_name("pom.xml")
_OLDEST_JAVA = 17
_FETCH_S = 600


class NoKafka(Exception):
    """Why this machine cannot run a broker, and what would mend that."""


def kafka_jars() -> Path:
    """The directory with the jars; fetched when it is not there yet. Raises `NoKafka`."""
    version = _java_version()
    if version is None or version < _OLDEST_JAVA:
        found = "no Java" if version is None else f"Java {version}"
        raise NoKafka(f"install Java {_OLDEST_JAVA} or newer and Maven, or set SPANJUDGE_TEST_KAFKA ({found} is here)")
    coordinates = hashlib.sha256(_POM.read_bytes()).hexdigest()[:12]
    return cached(f"kafka-{coordinates}", _fetch)


def _java_version() -> int | None:
    if shutil.which("java") is None:
        return None
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found.group(1)) if found else None


def _fetch(directory: Path) -> None:
    if shutil.which("mvn") is None:
        raise NoKafka("install Maven (mvn), which fetches the broker, or set SPANJUDGE_TEST_KAFKA")
    command = ["mvn", "-q", "-B", "-f", str(_POM), "dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_FETCH_S)
    if fetched.returncode:
        said = (fetched.stdout + fetched.stderr).strip().splitlines() or ["no word why"]
        raise NoKafka(f"Maven could not fetch the broker: {said[0]}")


if __name__ == "__main__":
    kafka_jars()  # in front of the tests, whose time is measured
