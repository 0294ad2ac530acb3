"""Time passes for traces only as far as everything has been read."""

from __future__ import annotations

from collector.kafka.progress import Progress


def test_what_stood_there_has_to_be_read_first() -> None:
    progress = Progress(("spans",), now_ms=0)
    progress.seen("spans", end=10, heard=1, now_ms=100)
    progress.read("spans", 9)
    assert progress.read_ms() == 0
    progress.read("spans", 10)
    assert progress.read_ms() == 100


def test_a_partition_that_grows_faster_than_it_is_read_still_gets_on() -> None:
    progress = Progress(("spans",), now_ms=0)
    progress.seen("spans", end=10, heard=1, now_ms=100)
    progress.seen("spans", end=500, heard=2, now_ms=200)
    progress.read("spans", 12)
    assert progress.read_ms() == 100
    progress.seen("spans", end=900, heard=3, now_ms=300)
    progress.read("spans", 899)
    assert progress.read_ms() == 100


def test_without_word_from_the_broker_no_time_passes() -> None:
    progress = Progress(("spans",), now_ms=0)
    progress.seen("spans", end=10, heard=1, now_ms=100)
    progress.read("spans", 10)
    progress.seen("spans", end=10, heard=1, now_ms=9_000)
    progress.read("spans", 10)
    assert progress.read_ms() == 100


def test_the_slowest_topic_counts() -> None:
    progress = Progress(("spans", "logs"), now_ms=0)
    progress.seen("spans", end=0, heard=1, now_ms=100)
    progress.read("spans", 0)
    assert progress.read_ms() == 0
    progress.seen("logs", end=0, heard=1, now_ms=50)
    progress.read("logs", 0)
    assert progress.read_ms() == 50


def test_the_end_of_a_topic_that_was_made_anew_is_not_waited_for() -> None:
    progress = Progress(("spans",), now_ms=0)
    progress.read("spans", 900)
    progress.seen("spans", end=1000, heard=1, now_ms=100)
    progress.read("spans", 3)
    progress.seen("spans", end=3, heard=2, now_ms=200)
    progress.read("spans", 3)
    assert progress.read_ms() == 200
