"""Messages wait in order, and are taken in amounts that fit."""

from __future__ import annotations

from dataclasses import dataclass

from collector.kafka.inbox import Inbox


@dataclass
class _Record:
    offset: int
    value: bytes | None


def _filled(*sizes: int) -> Inbox:
    inbox = Inbox()
    inbox.put([_Record(offset, b"x" * size) for offset, size in enumerate(sizes)])
    inbox.reached("spans", len(sizes))
    return inbox


def test_as_much_is_taken_as_fits_and_positions_count_when_nothing_is_left() -> None:
    inbox = _filled(4, 4, 4)
    first = inbox.take(8)
    assert ([record.offset for record in first.records], first.size, first.positions) == ([0, 1], 8, {})
    rest = inbox.take(8)
    assert ([record.offset for record in rest.records], rest.positions) == ([2], {"spans": 3})
    assert (inbox.size, len(inbox)) == (0, 0)


def test_one_is_taken_however_large() -> None:
    assert len(_filled(99, 1).take(8).records) == 1


def test_a_message_without_a_value_has_no_size() -> None:
    inbox = Inbox()
    inbox.put([_Record(0, None)])
    assert (inbox.size, len(inbox.take(1).records)) == (0, 1)


def test_what_is_thrown_away_is_not_taken_for_read() -> None:
    inbox = _filled(4)
    inbox.clear()
    taken = inbox.take(8)
    assert (list(taken.records), taken.positions) == ([], {})
