"""Verdict stores as earlier versions left them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol

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
_INDEXES = (
    "sessions_listed",
    "sessions_again",
    "verdicts_by_chance",
    "verdicts_of_session",
    "verdicts_by_finding",
    "verdicts_by_skill",
    "verdicts_failed",
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
        make_of_version_8(connection)
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


class _Executes(Protocol):
    def execute(self, statement: str, /) -> object: ...


def make_of_version_8(connection: _Executes) -> None:
    """Take out of a store of this version what was added since."""
    for index in _INDEXES:
        connection.execute(f"DROP INDEX IF EXISTS {index}")
    connection.execute("CREATE INDEX verdicts_of_session ON verdicts (session)")
    for table in ("traces", "skill_loads", "catalogs"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("ALTER TABLE verdicts DROP COLUMN skill")
    connection.execute("UPDATE schema_version SET version = 8")
