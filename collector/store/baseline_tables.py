"""The tables of baselines. They hold copies: a baseline outlives the sessions that it was made of."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from collector.store.metadata import Instant, Number, Words, metadata

baselines = Table(
    "baselines",
    metadata,
    Column("number", Number, primary_key=True),
    Column("name", Words, nullable=False, unique=True),
    Column("service", Words, nullable=False),
    Column("agent_version", Words),
    Column("saved_ns", Instant, nullable=False),
    Column("promoted_ns", Instant),
    Column("sessions", Integer, nullable=False),
    Column("note", Words, nullable=False),
)
"""At most one of a service is promoted: its current baseline."""

baseline_sessions = Table(
    "baseline_sessions",
    metadata,
    Column("number", Number, primary_key=True),
    Column("baseline", Number, ForeignKey("baselines.number", ondelete="CASCADE"), nullable=False),
    Column("session", Text, nullable=False),
    Column("verdicts", Text, nullable=False),
    Index("baseline_sessions_of_baseline", "baseline"),
)

baseline_counts = Table(
    "baseline_counts",
    metadata,
    Column("number", Number, primary_key=True),
    Column("baseline", Number, ForeignKey("baselines.number", ondelete="CASCADE"), nullable=False),
    Column("evaluator", Words, nullable=False),
    Column("evaluator_version", Words, nullable=False),
    Column("judge_model", Words),
    Column("prompt_version", Words),
    Column("passed", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Index("baseline_counts_of_baseline", "baseline"),
)
"""What live traffic is compared with, by yardstick, so that watching it reads no trajectories."""
