"""A message that nobody can read is kept with where it stood and why."""

from __future__ import annotations

from collector.kafka.dead_letters import dead_letter

_MOST = 64 * 1024


def test_a_letter_is_the_message_with_its_place_and_the_cause() -> None:
    letter = dead_letter("otlp_spans", (3, 42), b"key", b"value", "undecodable", "no OTLP at byte 0", _MOST)
    assert letter.value == b"value"
    assert dict(letter.headers) == {
        "spanjudge.key": b"key",
        "spanjudge.topic": b"otlp_spans",
        "spanjudge.partition": b"3",
        "spanjudge.offset": b"42",
        "spanjudge.cause": b"undecodable",
        "spanjudge.detail": b"no OTLP at byte 0",
    }


def test_letters_about_one_message_share_a_key_and_those_about_others_do_not() -> None:
    places = [("a", (3, 42)), ("a", (3, 42)), ("a", (3, 43)), ("a", (34, 2)), ("b", (3, 42))]
    keys = [dead_letter(topic, at, b"key", b"", "malformed", "", _MOST).key for topic, at in places]
    assert keys[0] == b"a/3/42"
    assert (keys[0] == keys[1], len(set(keys))) == (True, 4)


def test_no_key_is_told_from_an_empty_one() -> None:
    assert "spanjudge.key" not in dict(dead_letter("t", (0, 0), None, b"", "malformed", "", _MOST).headers)
    assert dict(dead_letter("t", (0, 0), b"", b"", "malformed", "", _MOST).headers)["spanjudge.key"] == b""


def test_a_message_that_was_never_written_has_no_place_and_keeps_its_key() -> None:
    letter = dead_letter("otlp_spans", None, b"key", b"value", "oversized", "too long", _MOST)
    assert letter.key == b"key"
    assert not dict(letter.headers).keys() & {"spanjudge.partition", "spanjudge.offset", "spanjudge.key"}


def test_what_would_not_fit_is_cut_and_says_how_long_it_was() -> None:
    letter = dead_letter("otlp_spans", None, b"key", bytes(2 * _MOST), "oversized", "x" * 5000, _MOST)
    assert letter.value is not None
    assert len(letter.value) + sum(len(value or b"") for _, value in letter.headers) < _MOST
    assert dict(letter.headers)["spanjudge.full_bytes"] == str(2 * _MOST).encode()


def test_no_value_stays_no_value() -> None:
    assert dead_letter("t", (0, 0), b"key", None, "malformed", "empty", _MOST).value is None


def test_the_headers_of_the_message_come_along() -> None:
    letter = dead_letter("t", (0, 0), b"key", b"", "malformed", "", _MOST, [("tenant", b"acme"), ("empty", None)])
    assert letter.headers[:2] == [("tenant", b"acme"), ("empty", None)]


def test_a_key_and_headers_of_any_size_leave_a_letter_that_fits() -> None:
    own = [(f"header-{number}", b"x" * 500) for number in range(5_000)]
    letter = dead_letter("t", (0, 0), b"k" * 5_000_000, b"v" * 5_000_000, "malformed", "d" * 5_000, _MOST, own)
    assert letter.key is not None
    assert letter.value is not None
    around = sum(len(name) + len(value or b"") for name, value in letter.headers)
    assert len(letter.key) + len(letter.value) + around < _MOST
    assert dict(letter.headers)["spanjudge.key"] == b"k" * 4096
