"""The newest record of a session says how far it was closed, and what is known of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from collector.kafka.verdict_records import Closed, SessionRecord, UnreadableRecord, decode, encode
from collector.sessions.keys import Kind, Owner
from judge.verdict import Judged, NotApplicable, NotJudged, Outcome, Score, SessionRef, Subject, Verdict

_OWNER = Owner(Kind.SESSION, "café\0", "acme")
_FIRST = Closed(1, "idle", 1_700_000_000_000, 41, 0.5)
_CLOSING = json.loads(encode(SessionRecord(_OWNER).with_closing(_FIRST)))["closings"][0]
_SECOND = replace(_FIRST, revision=2, last_offset=90)


def _judged(name: str, outcome: Outcome) -> Judged:
    verdict = Verdict(name, "1", Subject("session", "session"), outcome)
    return Judged(f"id of {name}", SessionRef("s"), verdict, "strands", "idle", 1.0, 5)


_VERDICTS = [
    _judged("a", Score(1.0, "yes", "a long explanation")),
    _judged("b", NotApplicable("nothing of the kind")),
    _judged("c", NotJudged("pending", "waiting for a judge")),
]


def test_a_record_is_read_as_it_was_written() -> None:
    record = SessionRecord(_OWNER).with_closing(_FIRST).judged(1, _VERDICTS).with_closing(_SECOND)
    assert decode(encode(record)) == record


def test_it_tells_ids_and_outcomes_and_no_content() -> None:
    record = SessionRecord(_OWNER).with_closing(_FIRST).judged(1, _VERDICTS)
    said = json.loads(encode(record))
    assert [(one["id"], one["outcome"]) for one in said["verdicts"]] == [
        ("id of a", "score"),
        ("id of b", "not_applicable"),
        ("id of c", "not_judged"),
    ]
    assert (said["revision"], said["last_offset"], said["judged"], said["pending"]) == (1, 41, True, 1)
    assert "explanation" not in encode(record).decode()


def test_a_closing_that_is_not_judged_is_kept_beside_the_newest_that_is() -> None:
    record = SessionRecord(_OWNER).with_closing(_FIRST).with_closing(_SECOND)
    assert not record.settled
    record = record.judged(1, _VERDICTS[:2])
    assert [(each.revision, each.judged) for each in record.closings] == [(1, True), (2, False)]
    record = record.judged(2, _VERDICTS[:2])
    assert [(each.revision, each.judged) for each in record.closings] == [(2, True)]
    assert record.settled


def test_verdicts_of_an_earlier_closing_do_not_replace_those_of_a_later_one() -> None:
    record = SessionRecord(_OWNER).with_closing(_FIRST).with_closing(_SECOND).judged(2, _VERDICTS[:1])
    assert record.judged(1, _VERDICTS) == record


def test_with_answers_that_wait_a_session_is_not_settled() -> None:
    record = SessionRecord(_OWNER).with_closing(_FIRST).judged(1, _VERDICTS)
    assert (record.pending, record.settled) == (1, False)
    assert record.judged(1, _VERDICTS[:2]).settled


def test_verdicts_that_no_message_has_room_for_are_left_out_and_counted() -> None:
    verdicts = [_judged(f"evaluator {number}", NotApplicable("")) for number in range(100)]
    record = SessionRecord(_OWNER).with_closing(_FIRST).judged(1, verdicts)
    assert json.loads(encode(record, 100_000))["verdicts_left_out"] == 0
    short = encode(record, 10_000)
    assert len(short) <= 10_000
    assert (json.loads(short)["verdicts"], json.loads(short)["verdicts_left_out"]) == ([], 100)
    assert decode(short) == record.without_verdicts()


@pytest.mark.parametrize(
    "strange",
    [
        {"session": 5},
        {"session": None},
        {"session": "\ud800"},
        {"tenant": []},
        {"kind": "tenant"},
        {"pending": -1},
        {"pending": 2**70},
        {"verdicts": None},
        {"closings": [{}]},
        *(
            {"closings": [{**_CLOSING, key: value}]}
            for key, value in (
                ("revision", 0),
                ("revision", 70_000),
                ("revision", True),
                ("closed_ms", -1),
                ("closed_ms", 2**60),
                ("last_offset", 2**63),
                ("last_offset", "7"),
                ("close_reason", 7),
                ("inclusion_probability", float("nan")),
                ("inclusion_probability", -1),
            )
        ),
    ],
    ids=str,
)
def test_what_no_worker_has_written_is_told(strange: dict[str, Any]) -> None:
    said = json.loads(encode(SessionRecord(_OWNER).with_closing(_FIRST)))
    with pytest.raises(UnreadableRecord):
        decode(json.dumps({**said, **strange}).encode())


@pytest.mark.parametrize(
    "value", [b"", b"null", b"[]", b"\xff", b'{"version":1}', b'{"version":2}', b'"text"', b"[" * 100_000], ids=range(8)
)
def test_a_record_that_cannot_be_read_is_told(value: bytes) -> None:
    with pytest.raises(UnreadableRecord):
        decode(value)
