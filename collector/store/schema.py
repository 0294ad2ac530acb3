"""The tables of the verdict store. What is filtered by has a column; the whole record is JSON beside it.

Records are kept under a number of their own: session ids are long, and several tables refer to them. Only types
and constraints that SQLite and PostgreSQL share are used.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from collector.store import baseline_tables, judge_tables, label_tables  # noqa: F401 - register their tables with the metadata
from collector.store.metadata import Instant, Number, metadata

SCHEMA_VERSION = 7
"""Goes up with every change of the tables, with a step in `migrations`; see `sqlite.SqliteStore.open`."""

schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("number", Number, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("closed_ns", Instant, nullable=False),
    Column("judged", Boolean, nullable=False),
    Column("harness", Text, nullable=False),
    Column("service", Text),
    Column("agent", Text),
    Column("version", Text),
    Column("task", Text),
    Column("close_reason", Text, nullable=False),
    Column("spans", Integer, nullable=False),
    Column("records", Integer, nullable=False),
    Column("note", Text, nullable=False),
    Column("record", Text, nullable=False),
    UniqueConstraint("session_id", "tenant", "revision"),
    Index("sessions_by_closing", "closed_ns"),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("number", Number, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("session", Number, ForeignKey("sessions.number", ondelete="CASCADE"), nullable=False),
    Column("evaluator", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("score", Float),
    Column("passed", Boolean),
    Column("evaluator_version", Text, nullable=False, server_default=""),
    Column("judge_model", Text),
    Column("prompt_version", Text),
    Column("agent_version", Text),
    Column("inclusion_probability", Float, nullable=False, server_default="1"),
    Column("record", Text, nullable=False),
    Index("verdicts_of_session", "session"),
)

questions = Table(
    "questions",
    metadata,
    Column("number", Number, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("session", Number, ForeignKey("sessions.number", ondelete="CASCADE"), nullable=False),
    Column("evaluator", Text, nullable=False, server_default=""),
    Column("model", Text),
    Column("high_risk", Boolean, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("next_ns", Instant, nullable=False),
    Column("created_ns", Instant, nullable=False),
    Column("trouble", Text, nullable=False, server_default=""),
    Column("record", Text, nullable=False),
    Index("questions_of_session", "session"),
    Index("questions_by_priority", "high_risk", "created_ns"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("number", Number, primary_key=True),
    Column("exporter", Text, nullable=False),
    Column("verdict", Number, ForeignKey("verdicts.number", ondelete="CASCADE"), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_ns", Instant, nullable=False),
    Column("created_ns", Instant, nullable=False),
    UniqueConstraint("exporter", "verdict"),
    Index("outbox_of_verdict", "verdict"),
    Index("outbox_by_age", "exporter", "number"),
)
