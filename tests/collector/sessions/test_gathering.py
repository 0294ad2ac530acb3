"""A closing reads all of its session, and no more of others than there is room for; what is left out is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.journal.segments import MissingRow
from collector.sessions.book import Claim
from collector.sessions.gathering import Gathered, gather
from tests.collector.sessions.desk import Desk
from tests.collector.sessions.telemetry import log_request, record, span, trace_request

ROOMY = 2**30


def _say(desk: Desk, number: int, trace: int, session: str = "", *, text: str = "") -> None:
    said = span(trace, number, text=text, session__id=session) if session else span(trace, number, text=text)
    desk.send("traces", trace_request([said]))


def _rows(gathered: Gathered) -> int:
    return sum(key.items for key, _ in gathered.own)


def _claim_of(desk: Desk, session: str) -> Claim:
    return next(claim for claim in desk.claims if desk.read(claim).session_id == session)


def _shared() -> tuple[Desk, Claim]:
    """Ann shares her trace with bob, who says little, and carl, who says much."""
    desk = Desk()
    _say(desk, 1, 1, "ann")
    _say(desk, 2, 1, "bob")
    _say(desk, 3, 1, "carl", text="much " * 1000)
    desk.wait(11)
    return desk, _claim_of(desk, "ann")


def test_with_room_for_all_nothing_is_left_out() -> None:
    desk, claim = _shared()
    gathered = gather(claim, desk.rows, ROOMY)
    assert (len(gathered.own), len(gathered.neighbours), gathered.notes) == (1, 2, ())


def test_neighbours_there_is_no_room_for_are_left_out_whole_and_told() -> None:
    desk, claim = _shared()
    gathered = gather(claim, desk.rows, 1000)
    assert (len(gathered.own), len(gathered.neighbours)) == (1, 1)
    (note,) = gathered.notes
    assert "sessions that share its traces (1)" in note
    assert (gathered.lost_spans, gathered.lost_records) == (0, 0)  # they are not this session's


def test_the_room_is_for_all_neighbours_together() -> None:
    desk, claim = _shared()
    (small,) = gather(claim, desk.rows, 1000).neighbours
    every = gather(claim, desk.rows, ROOMY).neighbours
    size = sum(key.size for key, _ in every)
    assert len(gather(claim, desk.rows, size).neighbours) == 2
    assert len(gather(claim, desk.rows, size - 1).neighbours) == 1
    assert small in every


def test_neighbours_that_are_gone_are_told() -> None:
    desk, claim = _shared()
    only = desk.rows.chain(claim.heads[0])[0][0].row
    desk.rows.forget_all_but(only)
    gathered = gather(claim, desk.rows, ROOMY)
    assert "forgotten: sessions that shared its traces (2)" in gathered.notes[0]


def test_a_session_is_read_whole_however_large_it_is() -> None:
    desk = Desk()
    for number in range(1, 4):
        _say(desk, number, 1, "ann", text="much " * 1000)
    (claim,) = desk.wait(11)
    gathered = gather(claim, desk.rows, 1000)
    assert (_rows(gathered), gathered.notes) == (3, ())


def test_traces_of_the_session_there_is_no_room_for_are_told_and_counted() -> None:
    desk = Desk()
    _say(desk, 1, 1, "ann")
    _say(desk, 2, 2, "ann")
    _say(desk, 3, 1)
    for number in range(4, 7):
        _say(desk, number, 2, text="much " * 1000)
    desk.send("logs", log_request([record(2, "said", body="much")]))
    (claim,) = desk.wait(11)
    gathered = gather(claim, desk.rows, 1000)
    assert _rows(gathered) == 3
    assert (gathered.lost_spans, gathered.lost_records) == (3, 1)
    assert "traces of the session (1), with 3 spans and 1 log records" in gathered.notes[0]


def test_what_came_behind_the_closing_is_not_missed() -> None:
    desk = Desk()
    _say(desk, 1, 1, "ann")
    _say(desk, 2, 1, text="much " * 1000)
    (claim,) = desk.wait(11)
    _say(desk, 3, 1, text="much " * 1000)
    _, head = claim.heads
    newest = desk.rows.last_row()
    assert newest > head
    later = replace(claim, heads=(claim.heads[0], newest))  # as after a crash, see `Claim.upto`
    assert gather(later, desk.rows, 1000).lost_spans == 1


def test_a_session_whose_own_rows_are_gone_cannot_be_gathered() -> None:
    desk, claim = _shared()
    desk.rows.forget_all_but(10**9)
    with pytest.raises(MissingRow):
        gather(claim, desk.rows, ROOMY)
