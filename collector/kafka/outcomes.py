"""What became of a span or record that a router read."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from collector.journal.rows import Signal

Given: TypeAlias = Literal["session", "trace", "sampled_out", "no_session", "oversized"]
"""Went to a session, or to its trace as one; is of a session outside the sample, or of none at all; no message has room
for it."""
Outcome: TypeAlias = Given | Literal["parked", "own", "malformed", "lost"]
"""Beyond that: waits for a name; is ours; is damaged; Kafka did not have it any more when it was needed once more."""
Outcomes: TypeAlias = Counter[tuple[Signal, Outcome]]
UNPARKED: tuple[Outcome, ...] = ("session", "trace", "sampled_out", "no_session", "oversized", "lost")
"""What becomes of an item that was parked."""
READ: tuple[Outcome, ...] = (*UNPARKED[:-1], "parked", "own", "malformed")
"""What becomes of an item when it is read first."""
