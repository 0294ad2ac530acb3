"""What a claim reads stays where it is until the claim is judged."""

from __future__ import annotations

from collector.sessions.claims import Claim, Holds
from collector.sessions.keys import Kind
from collector.sessions.needed import RowsNeeded

ANN = b"a" * 15


def _claim(revision: int) -> Claim:
    return Claim(ANN, Kind.SESSION, revision, "idle", 0, 1.0, upto=9_000, heads=(8_000,))


def test_a_claim_holds_the_first_row_it_reads_until_it_is_released() -> None:
    needed = RowsNeeded()
    holds = Holds(needed)
    holds.hold(_claim(1), [5_000, 300], (7,))
    assert needed.below(301) == 1
    holds.release(ANN, 1)
    assert needed.lowest() is None


def test_what_two_claims_read_is_held_until_both_are_released() -> None:
    holds = Holds(RowsNeeded())
    holds.hold(_claim(1), [300], (7, 8))
    holds.hold(_claim(2), [300], (7,))
    holds.release(ANN, 1)
    assert (7 in holds, 8 in holds) == (True, False)
    holds.release(ANN, 2)
    assert 7 not in holds


def test_releasing_what_is_not_held_changes_nothing() -> None:
    holds = Holds(RowsNeeded())
    holds.hold(_claim(1), [300], (7,))
    holds.release(ANN, 3)
    assert 7 in holds
