from __future__ import annotations

from collector.page.plots import HEIGHT, WIDTH, Series, Share, plot
from tests.fakes.verdicts import NOW_NS

HOUR_NS = 3_600 * 10**9


def test_a_line_is_broken_where_nothing_was_judged() -> None:
    shares = [Share(1, 2), Share(3, 3), Share(), Share(0, 1)]
    made = plot([Series("accuracy", shares)], NOW_NS, HOUR_NS)
    (line,) = made.lines
    assert len(line.paths) == 1
    assert len(line.dots) == 3
    assert all(0 <= dot.x <= WIDTH and 0 <= dot.y <= HEIGHT for dot in line.dots)


def test_a_drawing_says_in_words_what_can_be_seen() -> None:
    made = plot([Series("accuracy", [Share(9, 10), Share(1, 4), Share(3, 4)])], NOW_NS, HOUR_NS)
    assert made.words == "accuracy: 75 % of 4 at the end (2026-01-01 02:00), lowest 25 % of 4 (2026-01-01 01:00)"
    assert [row.start for row in made.rows] == ["2026-01-01 00:00", "2026-01-01 01:00", "2026-01-01 02:00"]


def test_nothing_is_no_share() -> None:
    assert Share().percent is None
    assert plot([Series("accuracy", [Share()])], NOW_NS, HOUR_NS).words == "accuracy: nothing to show"
