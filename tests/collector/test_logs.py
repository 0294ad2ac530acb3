"""Logs: events with fields, and never content."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import structlog
from collector.config import Log
from collector.logs import set_up_logs
from judge.redaction import Redaction

set_up_logs(Log(format={format!r}), Redaction())
log = structlog.get_logger("test")
token = "ghp" + "_" + "x9" * 18
try:
    raise KeyError(f"no such name: {{token}}")
except KeyError:
    log.exception("evaluator_failed", session="s-1", detail=f"about {{token}}")
"""


@pytest.mark.parametrize("format_", ["json", "console"])
def test_secrets_in_what_errors_say_are_masked(format_: str) -> None:
    """In a process of its own: logging is set up once for all."""
    program = PROGRAM.format(format=format_)
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "x9x9" not in shown.stderr
    assert shown.stderr.count("github-token") == 2
    assert "s-1" in shown.stderr
    if format_ == "json":
        event = json.loads(shown.stderr)
        assert event["detail"] == 'about <redacted kind="github-token"/>'
        assert "KeyError" in event["exception"]


LEVELS = """
import structlog
from collector.config import Log
from collector.logs import set_up_logs

log = structlog.get_logger("test")
for level in ("warning", "debug", "error"):
    set_up_logs(Log(level=level, format="json"))
    for say in (log.debug, log.warning, log.error):
        say("said", level=level)
"""


def test_another_level_holds_for_loggers_that_are_in_use() -> None:
    shown = subprocess.run([sys.executable, "-c", LEVELS], capture_output=True, text=True, check=True, timeout=60)
    said = [json.loads(line)["level"] for line in shown.stderr.splitlines()]
    assert said == ["warning", "error", "debug", "warning", "error", "error"]


def test_the_kafka_client_does_not_log_the_messages_it_sends() -> None:
    """Which it would at the level debug."""
    program = (
        "import logging; from collector.config import Log; from collector.logs import set_up_logs; "
        "from judge.redaction import Redaction; set_up_logs(Log(level='debug'), Redaction()); "
        "logging.getLogger('aiokafka.producer.producer').debug('Sending (key=%s value=%s)', 'k', 'what the agent said')"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stderr == ""
