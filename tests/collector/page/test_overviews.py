from __future__ import annotations

from collector.page.overviews import FOLLOWING, MOST_VERSIONS, SELECTION, Rate, services, skills
from collector.page.plots import Share
from collector.store.listing import Counts, LoadsCounted, Offered, SessionsCounted, Stretch, VerdictsCounted

STRETCH = Stretch(0, 10)


def test_a_skill_has_a_row_for_each_version_with_offers_loads_and_shares() -> None:
    counts = Counts(
        verdicts=[
            VerdictsCounted("desk", "1", SELECTION, "refunds", 0, 3, 1, 0),
            VerdictsCounted("desk", "1", SELECTION, "refunds", 2, 1, 0, 5),
            VerdictsCounted("desk", "2", FOLLOWING, "refunds", 2, 0, 2, 0),
        ],
        loads=[LoadsCounted("desk", "1", "refunds", 0, 4, 1, 0), LoadsCounted("desk", "1", "refunds", 2, 1, 0, 2)],
        offered=[Offered("desk", "1", ("maps", "refunds"), 7), Offered("desk", "2", None, 3)],
    )
    found, left_out = skills(counts, STRETCH)
    assert (left_out, [one.name for one in found]) == (0, ["refunds", "maps"])
    first, second = found[0].rows
    assert (first.offered, first.loaded, first.refused, first.unanswered) == (7, 5, 1, 2)
    assert (first.selection, first.following) == (Rate(Share(4, 5), 5), Rate())
    assert (second.offered, second.loaded, second.following) == (None, 0, Rate(Share(0, 2)))
    assert found[0].plot is not None
    assert found[1].plot is None


def test_a_catalog_that_does_not_have_the_skill_is_none_and_no_gap() -> None:
    counts = Counts(
        loads=[LoadsCounted("desk", "1", "refunds", 0, 1, 0, 0)], offered=[Offered("desk", "1", ("maps",), 2)]
    )
    found, _ = skills(counts, STRETCH)
    assert {one.name: one.rows[0].offered for one in found} == {"refunds": 0, "maps": 2}


def test_services_come_with_the_versions_seen_last_in_the_order_they_came() -> None:
    counts = Counts(
        sessions=[SessionsCounted("desk", f"v{number:02}", number, 5) for number in range(MOST_VERSIONS + 2)]
        + [SessionsCounted("shop", None, 1, 99)],
        verdicts=[VerdictsCounted("desk", "v03", "goal_completion", None, 3, 4, 1, 2)],
    )
    (shop, desk), left_out = services(counts, STRETCH)
    assert (shop.service, desk.service, left_out) == ("shop", "desk", 0)
    assert [column.version for column in desk.versions] == [f"v{number:02}" for number in range(2, MOST_VERSIONS + 2)]
    assert desk.more_versions == 2
    (row,) = desk.rows
    assert row.rates[1] == Rate(Share(4, 5), 2)
