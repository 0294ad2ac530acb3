"""The table of what people said about verdicts."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Index, Integer, Table, UniqueConstraint

from collector.store.metadata import Instant, Number, Words, metadata

labels = Table(
    "labels",
    metadata,
    Column("number", Number, primary_key=True),
    Column("verdict", Words, nullable=False),
    Column("author", Words, nullable=False),
    Column("at_ns", Instant, nullable=False),
    Column("agrees", Boolean, nullable=False),
    Column("right_label", Words),
    Column("passes", Boolean, nullable=False),
    Column("reason", Words, nullable=False),
    Column("tenant", Words, nullable=False),
    Column("session_id", Words, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("evaluator", Words, nullable=False),
    Column("evaluator_version", Words, nullable=False),
    Column("judge_model", Words),
    Column("prompt_version", Words),
    Column("label", Words, nullable=False),
    Column("passed", Boolean, nullable=False),
    UniqueConstraint("verdict", "author", "at_ns"),
    Index("labels_of_evaluator", "evaluator"),
)
"""Nothing here refers to the verdicts table: people's work outlives the sessions it was done on, so what calibration
needs to know of the verdict is copied."""
