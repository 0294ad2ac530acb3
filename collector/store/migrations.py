"""How a file of an older version becomes one of this version, one version at a time. Never edited once released: a
file in the field has been through exactly these steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, text

from collector.store.baseline_tables import baseline_counts, baseline_sessions, baselines
from collector.store.judge_tables import answers, batch_items, batches, spending, votes
from collector.store.label_tables import labels
from collector.store.metadata import metadata


def _from_1(connection: Connection) -> None:
    """Questions by evaluator, and what was asked of the judge."""
    connection.execute(text("ALTER TABLE questions ADD COLUMN evaluator TEXT NOT NULL DEFAULT ''"))
    connection.execute(text("UPDATE questions SET evaluator = json_extract(record, '$.question.evaluator')"))
    metadata.create_all(connection, tables=[votes, answers, spending, batches, batch_items])


def _from_2(connection: Connection) -> None:
    """What people say about verdicts, and what of a verdict is counted by."""
    for column, kind, path in (
        ("evaluator_version", "TEXT NOT NULL DEFAULT ''", "$.verdict.evaluator_version"),
        ("judge_model", "TEXT", "$.verdict.judge_model"),
        ("prompt_version", "TEXT", "$.verdict.prompt_version"),
        ("agent_version", "TEXT", "$.agent_version"),
        ("inclusion_probability", "FLOAT NOT NULL DEFAULT 1", "$.inclusion_probability"),
    ):
        connection.execute(text(f"ALTER TABLE verdicts ADD COLUMN {column} {kind}"))
        connection.execute(text(f"UPDATE verdicts SET {column} = json_extract(record, '{path}')"))  # noqa: S608 - constants
    connection.execute(text("ALTER TABLE verdicts ADD COLUMN passed BOOLEAN"))
    connection.execute(text("UPDATE verdicts SET passed = (score >= 0.5) WHERE score IS NOT NULL"))
    metadata.create_all(connection, tables=[labels])


def _from_3(connection: Connection) -> None:
    """Baselines."""
    metadata.create_all(connection, tables=[baselines, baseline_sessions, baseline_counts])


def _from_4(connection: Connection) -> None:
    """Questions by the model they bring."""
    connection.execute(text("ALTER TABLE questions ADD COLUMN model TEXT"))
    # A damaged record must not keep the server from starting; its question is ended when its turn comes.
    model = "CASE WHEN json_valid(record) THEN json_extract(record, '$.question.model') END"
    connection.execute(text(f"UPDATE questions SET model = {model}"))  # noqa: S608 - a constant


MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {1: _from_1, 2: _from_2, 3: _from_3, 4: _from_4}
"""Version of the file → the step to the next version."""
