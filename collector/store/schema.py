"""The tables of the verdict store. What is filtered by has a column; the whole record is JSON beside it.

`holder` and `held_until_ns` are for a database that several processes share: see `leases`.

Records are kept under a number of their own: session ids are long, and several tables refer to them. Only types
and constraints that SQLite and PostgreSQL share are used.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from collector.store import (  # noqa: F401 - register their tables with the metadata
    baseline_tables,
    judge_tables,
    label_tables,
    listing_tables,
)
from collector.store.metadata import Instant, Number, Words, metadata

SCHEMA_VERSION = 9
"""Goes up with every change of the tables, with a step in `migrations`; see `tables`."""

schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("number", Number, primary_key=True),
    Column("tenant", Words, nullable=False),
    Column("session_id", Words, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("closed_ns", Instant, nullable=False),
    Column("judged", Boolean, nullable=False),
    Column("harness", Words, nullable=False),
    Column("service", Words),
    Column("agent", Words),
    Column("version", Words),
    Column("task", Words),
    Column("close_reason", Words, nullable=False),
    Column("spans", Integer, nullable=False),
    Column("records", Integer, nullable=False),
    Column("note", Words, nullable=False),
    Column("record", Text, nullable=False),
    UniqueConstraint("session_id", "tenant", "revision"),
    Index("sessions_by_closing", "closed_ns"),
)

sessions_listed = Index(
    "sessions_listed",
    *(sessions.c[name] for name in ("closed_ns", "number", "tenant", "service", "version", "harness", "judged")),
).ddl_if(dialect="sqlite")
"""SQLite keeps a record in its row, so reading rows to filter them reads the records too: filters are answered from
here. PostgreSQL keeps long texts elsewhere, and could not index names of any length."""

sessions_again = Index(
    "sessions_again",
    *(sessions.c[name] for name in ("session_id", "tenant", "revision", "judged")),
    sqlite_where=sessions.c.revision > 1,
    postgresql_where=sessions.c.revision > 1,
)
"""Few sessions are closed more than once, so which closings were superseded is found from these."""

verdicts = Table(
    "verdicts",
    metadata,
    Column("number", Number, primary_key=True),
    Column("id", Words, nullable=False, unique=True),
    Column("session", Number, ForeignKey("sessions.number", ondelete="CASCADE"), nullable=False),
    Column("evaluator", Words, nullable=False),
    Column("label", Words, nullable=False),
    Column("score", Float),
    Column("passed", Boolean),
    Column("skill", Words),
    Column("evaluator_version", Words, nullable=False, server_default=""),
    Column("judge_model", Words),
    Column("prompt_version", Words),
    Column("agent_version", Words),
    Column("inclusion_probability", Float, nullable=False, server_default="1"),
    Column("record", Text, nullable=False),
)
"""`skill` is set where the verdict is about one; a long name is cut, see `rows.MAX_NAME`."""

VERDICT_INDEXES = (
    Index(
        "verdicts_of_session",
        *(verdicts.c[name] for name in ("session", "evaluator", "skill", "label", "passed")),
    ),
    Index(
        "verdicts_by_finding",
        *(verdicts.c[name] for name in ("evaluator", "label", "skill", "passed", "session")),
    ),
    Index(
        "verdicts_by_skill",
        *(verdicts.c[name] for name in ("skill", "evaluator", "label", "passed", "session")),
        sqlite_where=verdicts.c.skill.is_not(None),
        postgresql_where=verdicts.c.skill.is_not(None),
    ),
    Index(
        "verdicts_by_chance",
        *(verdicts.c[name] for name in ("evaluator", "passed", "id")),
        sqlite_where=verdicts.c.passed.is_not(None),
        postgresql_where=verdicts.c.passed.is_not(None),
    ),
    Index(
        "verdicts_failed",
        verdicts.c.session,
        verdicts.c.passed,
        sqlite_where=verdicts.c.passed.is_(False),
        postgresql_where=verdicts.c.passed.is_(False),
    ),
)
"""Each answers its questions without reading rows, which hold whole records."""

questions = Table(
    "questions",
    metadata,
    Column("number", Number, primary_key=True),
    Column("id", Words, nullable=False, unique=True),
    Column("session", Number, ForeignKey("sessions.number", ondelete="CASCADE"), nullable=False),
    Column("evaluator", Words, nullable=False, server_default=""),
    Column("model", Words),
    Column("high_risk", Boolean, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("next_ns", Instant, nullable=False),
    Column("created_ns", Instant, nullable=False),
    Column("trouble", Words, nullable=False, server_default=""),
    Column("holder", Words),
    Column("held_until_ns", Instant, nullable=False, server_default="0"),
    Column("record", Text, nullable=False),
    Index("questions_of_session", "session"),
    Index("questions_by_priority", "high_risk", "created_ns"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("number", Number, primary_key=True),
    Column("exporter", Words, nullable=False),
    Column("verdict", Number, ForeignKey("verdicts.number", ondelete="CASCADE"), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_ns", Instant, nullable=False),
    Column("created_ns", Instant, nullable=False),
    Column("holder", Words),
    Column("held_until_ns", Instant, nullable=False, server_default="0"),
    UniqueConstraint("exporter", "verdict"),
    Index("outbox_of_verdict", "verdict"),
    Index("outbox_by_age", "exporter", "number"),
)
