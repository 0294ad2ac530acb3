"""The tables of baselines. They hold copies: a baseline outlives the sessions that it was made of."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from collector.store.metadata import Instant, Number, metadata

baselines = Table(
    "baselines",
    metadata,
    Column("number", Number, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("service", Text, nullable=False),
    Column("agent_version", Text),
    Column("saved_ns", Instant, nullable=False),
    Column("promoted_ns", Instant),
    Column("sessions", Integer, nullable=False),
    Column("note", Text, nullable=False),
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
    Column("evaluator", Text, nullable=False),
    Column("evaluator_version", Text, nullable=False),
    Column("judge_model", Text),
    Column("prompt_version", Text),
    Column("passed", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Index("baseline_counts_of_baseline", "baseline"),
)
"""What live traffic is compared with, by yardstick, so that watching it reads no trajectories."""
