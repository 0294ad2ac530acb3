"""The tables of what was asked of a judge: votes, answers to be used again, spending, batches on their way, and what
keeps questions waiting."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from collector.store.metadata import Instant, Number, Words, metadata

votes = Table(
    "votes",
    metadata,
    Column("number", Number, primary_key=True),
    Column("question", Number, ForeignKey("questions.number", ondelete="CASCADE"), nullable=False),
    Column("vote", Integer, nullable=False),
    Column("record", Text, nullable=False),
    UniqueConstraint("question", "vote"),
)
"""They go with their question: when it is settled, the verdict has what they said."""

answers = Table(
    "answers",
    metadata,
    Column("key", Words, primary_key=True),
    Column("kept_ns", Instant, nullable=False),
    Column("record", Text, nullable=False),
    Index("answers_by_age", "kept_ns"),
)

spending = Table(
    "spending",
    metadata,
    Column("hour_ns", Instant, primary_key=True, autoincrement=False),
    Column("evaluator", Words, primary_key=True),
    Column("tokens", BigInteger, nullable=False),
    Column("nano_dollars", BigInteger, nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("id", Words, primary_key=True),
    Column("created_ns", Instant, nullable=False),
    Column("holder", Words),
    Column("held_until_ns", Instant, nullable=False, server_default="0"),
)

batch_items = Table(
    "batch_items",
    metadata,
    Column("id", Words, primary_key=True),
    Column("batch", Words, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("question", Number, ForeignKey("questions.number", ondelete="CASCADE"), nullable=False),
    Column("record", Text, nullable=False),
    Index("batch_items_of_batch", "batch"),
    Index("batch_items_of_question", "question"),
)

obstacles = Table(
    "obstacles",
    metadata,
    Column("number", Number, primary_key=True),
    Column("record", Text, nullable=False),
)
"""One row: what was told last."""
