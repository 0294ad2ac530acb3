"""Old messages with facts come up to be taken away, oldest first; what is left says where reading begins."""

from __future__ import annotations

from collector.kafka.link_log import Chunk, LinkLog


def _chunk(offset: int, written_ms: int) -> Chunk:
    return Chunk(f"k{offset}".encode(), (), written_ms, offset)


def test_messages_come_up_when_they_are_old() -> None:
    links = LinkLog(0, [_chunk(3, 0)], renew_ms=100)
    links.written(_chunk(5, 50))
    links.written(_chunk(9, 120))
    assert links.old(99) == []
    assert [chunk.offset for chunk in links.old(150)] == [3, 5]
    assert links.old(150) == []
    assert (links.oldest(), len(links)) == (9, 1)


def test_nothing_is_needed_when_all_is_taken_away() -> None:
    links = LinkLog(0, [_chunk(3, 0)], renew_ms=100)
    links.old(100)
    assert links.oldest() is None


def test_keys_are_never_used_again() -> None:
    before, after = LinkLog(7, (), 100), LinkLog(8, (), 100)
    assert len({links.next_key() for links in (before, after) for _ in range(3)}) == 6
