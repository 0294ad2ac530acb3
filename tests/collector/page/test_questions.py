from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.page.questions import FILTERS, asked, instant, number, place_text
from collector.store.listing import Place, Wanted
from tests.fakes.verdicts import NOW_NS

HOUR_NS = 3_600 * 10**9


def test_empty_fields_of_a_form_and_foreign_names_ask_for_nothing() -> None:
    question = asked({**dict.fromkeys(FILTERS, " "), "utm": "x"}, None, NOW_NS)
    assert question.wanted == Wanted()
    assert question.link() == "/sessions"


def test_every_filter_becomes_what_is_wanted() -> None:
    query = {
        "service": "shop",
        "version": "7",
        "harness": "strands",
        "skill": "refunds",
        "evaluator": "skill_selection",
        "label": "No",
        "outcome": "failed",
        "tenant": "north",
        "text": "order 7",
        "since": "2h",
        "until": "2025-12-31T23:30Z",
    }
    question = asked(query, frozenset({"north"}), NOW_NS)
    assert not question.problems
    assert question.wanted == Wanted(
        "shop",
        "7",
        "strands",
        "north",
        "skill_selection",
        "No",
        "refunds",
        "failed",
        "order 7",
        NOW_NS - 2 * HOUR_NS,
        NOW_NS - HOUR_NS // 2,
        frozenset({"north"}),
    )
    again = dict(parse_qsl(question.link().partition("?")[2]))
    assert asked(again, frozenset({"north"}), NOW_NS).wanted == question.wanted


def test_what_is_wrong_is_told_by_name_and_left_out() -> None:
    question = asked({"since": "tomorrow", "outcome": "odd", "after": "x", "service": "y" * 1_001}, None, NOW_NS)
    assert set(question.problems) == {"since", "outcome", "after", "service"}
    assert question.wanted == Wanted()


def test_a_place_in_the_list_survives_its_address() -> None:
    place = Place(NOW_NS, 77)
    assert asked({"after": place_text(place)}, None, NOW_NS).wanted.after == place


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90m", NOW_NS - 90 * 60 * 10**9),
        ("7d", NOW_NS - 7 * 24 * HOUR_NS),
        ("2026-01-01", NOW_NS),
        ("2026-01-01T01:00", NOW_NS + HOUR_NS),
        ("2026-01-01T01:00+01:00", NOW_NS),
        ("0001-01-01", None),
        ("h", None),
        ("-5h", None),
    ],
)
def test_moments_are_lengths_of_time_or_instants(text: str, moment: int | None) -> None:
    assert instant(text, NOW_NS) == moment
    assert datetime.fromtimestamp(NOW_NS / 1e9, UTC).hour == 0


@given(st.dictionaries(st.sampled_from([*FILTERS, "after"]), st.text(max_size=40)))
def test_any_address_is_answered(query: dict[str, str]) -> None:
    question = asked(query, None, NOW_NS)
    assert question.link().startswith("/sessions")


@given(st.text(max_size=20))
def test_a_number_is_never_out_of_bounds(text: str) -> None:
    assert 0 <= number(text, 3, 100) <= 100
