"""How a store of an older version becomes one of this version, one version at a time. Never edited once released: a
store in the field has been through exactly these steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from sqlalchemy import Column, ColumnElement, Connection, insert, inspect, select, text, update

from collector.store.baseline_tables import baseline_counts, baseline_sessions, baselines
from collector.store.judge_tables import answers, batch_items, batches, obstacles, spending, votes
from collector.store.label_tables import labels
from collector.store.listing_tables import catalogs, skill_loads, traces
from collector.store.metadata import metadata
from collector.store.records import CLOSED_SESSION, JUDGED, readable
from collector.store.rows import catalog_row, load_rows, skill_of, trace_ids
from collector.store.schema import VERDICT_INDEXES, sessions, sessions_again, sessions_listed, verdicts
from collector.store.sql_baselines import count_rows
from extractors.trajectory import Trajectory

_AT_A_TIME = 500


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


def _from_5(connection: Connection) -> None:
    """Sessions by version, and the counts of baselines by yardstick."""
    connection.execute(text("ALTER TABLE sessions ADD COLUMN version TEXT"))
    names = ("agent_version", "service_version")
    versions = ", ".join(f"nullif(json_extract(record, '$.trajectory.versions.{name}'), '')" for name in names)
    connection.execute(text(f"UPDATE sessions SET version = coalesce({versions}) WHERE json_valid(record)"))  # noqa: S608 - constants
    connection.execute(text("DROP TABLE baseline_counts"))
    metadata.create_all(connection, tables=[baseline_counts])
    for number in list(connection.scalars(text("SELECT number FROM baselines"))):
        kept = select(baseline_sessions.c.verdicts).where(baseline_sessions.c.baseline == number)
        whole = connection.scalars(kept.where(text("json_valid(verdicts)")))
        read = [[readable(JUDGED, one) for one in json.loads(verdicts)] for verdicts in whole]
        rows = count_rows([[one for one in judged if one is not None] for judged in read])
        if rows:
            connection.execute(insert(baseline_counts), [{**row, "baseline": number} for row in rows])


def _from_6(connection: Connection) -> None:
    """What questions wait for."""
    connection.execute(text("ALTER TABLE questions ADD COLUMN trouble TEXT NOT NULL DEFAULT ''"))
    metadata.create_all(connection, tables=[obstacles])


def _from_7(connection: Connection) -> None:
    """Who works on what; nobody does in a file, which is one process's."""
    for table in ("questions", "outbox", "batches"):
        # The first step makes the table of batches as it is now.
        if "holder" not in {column["name"] for column in inspect(connection).get_columns(table)}:
            connection.execute(text(f"ALTER TABLE {table} ADD COLUMN holder TEXT"))
            connection.execute(text(f"ALTER TABLE {table} ADD COLUMN held_until_ns BIGINT NOT NULL DEFAULT 0"))


def _from_8(connection: Connection) -> None:
    """What sessions are listed, found and counted by."""
    kind = verdicts.c.skill.type.compile(connection.dialect)
    connection.execute(text(f"ALTER TABLE verdicts ADD COLUMN skill {kind}"))
    metadata.create_all(connection, tables=[traces, skill_loads, catalogs])
    for number, record in _records(connection, sessions.c.number, sessions.c.record):
        session = readable(CLOSED_SESSION, record)
        if session is not None and session.trajectory is not None:
            _enter_session(connection, number, session.trajectory)
    about_skills = verdicts.c.record.contains('"kind":"skill"')
    for number, record in _records(connection, verdicts.c.number, verdicts.c.record, about_skills):
        judged = readable(JUDGED, record)
        if judged is not None:
            named = update(verdicts).where(verdicts.c.number == number).values(skill=skill_of(judged))
            connection.execute(named)
    connection.execute(text("DROP INDEX verdicts_of_session"))
    for index in (sessions_listed, sessions_again, *VERDICT_INDEXES):
        index.create(connection)


def _records(
    connection: Connection, number: Column[int], record: Column[str], *where: ColumnElement[bool]
) -> Iterator[tuple[int, str]]:
    """A few at a time: all of them may be more than memory holds."""
    last = -1
    while rows := connection.execute(
        select(number, record).where(number > last, *where).order_by(number).limit(_AT_A_TIME)
    ).all():
        for row in rows:
            yield row[0], row[1]
        last = rows[-1][0]


def _enter_session(connection: Connection, number: int, trajectory: Trajectory) -> None:
    if found := trace_ids(trajectory):
        connection.execute(insert(traces), [{"trace": one, "session": number} for one in found])
    if loads := load_rows(trajectory):
        connection.execute(insert(skill_loads), [{**row, "session": number} for row in loads])
    if (catalog := catalog_row(trajectory)) is not None:
        connection.execute(insert(catalogs), {**catalog, "session": number})


MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {
    1: _from_1,
    2: _from_2,
    3: _from_3,
    4: _from_4,
    5: _from_5,
    6: _from_6,
    7: _from_7,
    8: _from_8,
}
"""Version of a SQLite file → the step to the next version."""

POSTGRESQL_MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {8: _from_8}
"""The same of a PostgreSQL database, of which version 8 is the first."""
