"""A finding fails, and an audit that did not take place is not called a good one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dependency_audit import Audit, audit_of


def _report(*packages: dict[str, Any]) -> Audit:
    return audit_of(json.dumps({"dependencies": list(packages), "fixes": []}))


GOOD = {"name": "good", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": []}]}
UNKNOWN = {"name": "strange", "skip_reason": "Dependency not found on PyPI and could not be audited: strange (1.0)"}


def test_a_known_vulnerability_fails_and_says_what_mends_it() -> None:
    audit = _report(GOOD, BAD, UNKNOWN)
    assert audit.failed
    assert audit.lines()[1:] == ["  bad 1.0: PYSEC-1, mended in 1.1"]


def test_without_findings_it_passes() -> None:
    audit = _report(GOOD)
    assert not audit.failed
    assert audit.lines() == ["dependency audit: no known vulnerability in 1 packages"]


def test_a_service_that_knows_nothing_has_audited_nothing() -> None:
    audit = _report(UNKNOWN)
    assert not audit.failed
    (line,) = audit.lines()
    assert "NOT DONE" in line


def test_what_was_not_known_is_named() -> None:
    (line,) = _report(GOOD, UNKNOWN).lines()
    assert line.endswith("NOT KNOWN to the service: strange")


@pytest.mark.parametrize("report", ["", "Traceback", "[]", "{}", '{"dependencies": [{}]}'])
def test_what_is_no_report_is_not_taken_for_one(report: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of json too
        audit_of(report)
