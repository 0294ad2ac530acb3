"""Verdict stores as earlier versions left them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_TABLES = (
    "votes",
    "answers",
    "spending",
    "batch_items",
    "batches",
    "obstacles",
    "labels",
    "baseline_counts",
    "baseline_sessions",
    "baselines",
)
_VERDICT_COLUMNS = (
    "agent_version",
    "evaluator_version",
    "inclusion_probability",
    "judge_model",
    "passed",
    "prompt_version",
)
HOLDING = ("holder", "held_until_ns")


def make_of_the_first_version(path: Path) -> None:
    """Take out of a closed store of this version what was added since the first."""
    with closing(sqlite3.connect(path)) as connection:
        for table in _TABLES:
            connection.execute(f"DROP TABLE {table}")
        for column in ("evaluator", "model", "trouble", *HOLDING):
            connection.execute(f"ALTER TABLE questions DROP COLUMN {column}")
        for column in HOLDING:
            connection.execute(f"ALTER TABLE outbox DROP COLUMN {column}")
        for column in _VERDICT_COLUMNS:
            connection.execute(f"ALTER TABLE verdicts DROP COLUMN {column}")
        connection.execute("ALTER TABLE sessions DROP COLUMN version")
        connection.execute("UPDATE schema_version SET version = 1")
        connection.commit()
