"""The table of what people said about verdicts."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Index, Integer, Table, Text, UniqueConstraint

from collector.store.metadata import Instant, Number, metadata

labels = Table(
    "labels",
    metadata,
    Column("number", Number, primary_key=True),
    Column("verdict", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("at_ns", Instant, nullable=False),
    Column("agrees", Boolean, nullable=False),
    Column("right_label", Text),
    Column("passes", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("evaluator", Text, nullable=False),
    Column("evaluator_version", Text, nullable=False),
    Column("judge_model", Text),
    Column("prompt_version", Text),
    Column("label", Text, nullable=False),
    Column("passed", Boolean, nullable=False),
    UniqueConstraint("verdict", "author", "at_ns"),
    Index("labels_of_evaluator", "evaluator"),
)
"""Nothing here refers to the verdicts table: people's work outlives the sessions it was done on, so what calibration
needs to know of the verdict is copied."""
