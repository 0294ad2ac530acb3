"""Has anything that we install a known vulnerability? Fails where one is found. Where nobody can be asked it says so in
one line and goes on: a wall around the machine is no fault of the change at hand.

`python -m tests.dependency_audit` asks PyPI about requirements/run.lock, and where PyPI does not answer, OSV.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[1] / "requirements" / "run.lock"
SERVICES = ("pypi", "osv")
_WITHIN_S = 180


@dataclass(frozen=True, slots=True)
class Audit:
    """`audited` counts packages that a service knows about; `vulnerable` has one line for each finding."""

    audited: int
    unknown: tuple[str, ...]
    vulnerable: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return bool(self.vulnerable)

    def lines(self) -> list[str]:
        if self.vulnerable:
            return [f"known vulnerabilities in {LOCK.name}:", *(f"  {one}" for one in self.vulnerable)]
        if not self.audited:
            return ["dependency audit: NOT DONE, no vulnerability service could be asked from here"]
        told = f"dependency audit: no known vulnerability in {self.audited} packages"
        return [f"{told}; NOT KNOWN to the service: {', '.join(self.unknown)}" if self.unknown else told]


def audit_of(report: str) -> Audit:
    """What pip-audit found, from its JSON. pip-audit calls it a success when the service knows none of the packages.

    Raises ValueError for what is no report.
    """
    try:
        packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
        known = [package for package in packages if "skip_reason" not in package]
        unknown = tuple(str(package["name"]) for package in packages if "skip_reason" in package)
        return Audit(len(known), unknown, tuple(line for package in known for line in _findings(package)))
    except (KeyError, TypeError) as error:
        raise ValueError("no report of pip-audit") from error


def _findings(package: dict[str, Any]) -> Iterable[str]:
    for finding in package["vulns"]:
        mended = ", ".join(finding.get("fix_versions", ())) or "no version"
        yield f"{package['name']} {package['version']}: {finding['id']}, mended in {mended}"


def ask(service: str, lock: Path = LOCK) -> Audit:
    """Nothing is audited where the service does not answer."""
    command: Sequence[str] = (
        *(sys.executable, "-m", "pip_audit", "--vulnerability-service", service, "--requirement", str(lock)),
        *("--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "15"),
    )
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_WITHIN_S)
        return audit_of(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return Audit(0, (), ())


def main() -> int:
    found = Audit(0, (), ())
    for service in SERVICES:
        found = ask(service)
        if found.audited:
            break
    sys.stdout.write("\n".join((*found.lines(), "")))
    return 1 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main())
