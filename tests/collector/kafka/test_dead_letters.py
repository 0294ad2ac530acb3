"""A message that nobody can read is kept with where it stood and why."""

from __future__ import annotations

from collector.kafka.dead_letters import dead_letter

_MOST = 64 * 1024


def test_a_letter_is_the_message_with_its_place_and_the_cause() -> None:
    letter = dead_letter("otlp_spans", (3, 42), b"key", b"value", "undecodable", "no OTLP at byte 0", _MOST)
    assert (letter.key, letter.value) == (b"key", b"value")
    assert dict(letter.headers) == {
        "spanjudge.topic": b"otlp_spans",
        "spanjudge.partition": b"3",
        "spanjudge.offset": b"42",
        "spanjudge.cause": b"undecodable",
        "spanjudge.detail": b"no OTLP at byte 0",
    }


def test_a_message_that_was_never_written_has_no_place() -> None:
    headers = dict(dead_letter("otlp_spans", None, None, b"value", "oversized", "too long", _MOST).headers)
    assert not headers.keys() & {"spanjudge.partition", "spanjudge.offset"}


def test_what_would_not_fit_is_cut_and_says_how_long_it_was() -> None:
    letter = dead_letter("otlp_spans", None, b"key", bytes(2 * _MOST), "oversized", "x" * 5000, _MOST)
    assert letter.value is not None
    assert len(letter.value) + sum(len(value) for _, value in letter.headers) < _MOST
    assert dict(letter.headers)["spanjudge.full_bytes"] == str(2 * _MOST).encode()


def test_no_value_stays_no_value() -> None:
    assert dead_letter("t", (0, 0), b"key", None, "malformed", "empty", _MOST).value is None
