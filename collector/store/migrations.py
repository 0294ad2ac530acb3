"""How a file of an older version becomes one of this version, one version at a time. Never edited once released: a
file in the field has been through exactly these steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, text

from collector.store.judge_tables import answers, batch_items, batches, spending, votes
from collector.store.metadata import metadata


def _from_1(connection: Connection) -> None:
    """Questions by evaluator, and what was asked of the judge."""
    connection.execute(text("ALTER TABLE questions ADD COLUMN evaluator TEXT NOT NULL DEFAULT ''"))
    connection.execute(text("UPDATE questions SET evaluator = json_extract(record, '$.question.evaluator')"))
    metadata.create_all(connection, tables=[votes, answers, spending, batches, batch_items])


MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {1: _from_1}
"""Version of the file → the step to the next version."""
