"""The tables of what sessions are found and counted by besides their own columns. Their rows go with the session's."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from collector.store.metadata import Number, Words, metadata

traces = Table(
    "traces",
    metadata,
    Column("trace", Words, primary_key=True),
    Column("session", Number, ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True),
    Index("traces_of_session", "session"),
)
"""The traces that a session's trajectory was read from."""

skill_loads = Table(
    "skill_loads",
    metadata,
    Column("number", Number, primary_key=True),
    Column("session", Number, ForeignKey("sessions.number", ondelete="CASCADE"), nullable=False),
    Column("skill", Words),
    Column("loaded", Integer, nullable=False),
    Column("refused", Integer, nullable=False),
    Column("unanswered", Integer, nullable=False),
    Index("skill_loads_of_session", "session", "skill", "loaded", "refused", "unanswered"),
)
"""Attempts to load a skill, by skill; `skill` is null where the name was not recorded."""

catalogs = Table(
    "catalogs",
    metadata,
    Column("session", Number, ForeignKey("sessions.number", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("skills", Text, nullable=False),
)
"""The names of all skills on offer in a session, sorted, as a JSON list. Without a row: not recorded."""
