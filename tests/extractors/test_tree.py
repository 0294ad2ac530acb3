from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from extractors.spans import Span
from extractors.tree import key_of, owning_agents, tree_of
from tests.extractors.spans import TRACE, span

FAMILY = [
    span("top", at_s=1),
    span("left", "top", at_s=2),
    span("right", "top", at_s=3),
    span("leaf", "left", at_s=4),
    span("orphan", "never-arrived", at_s=5),
    span("top", trace="b" * 32, at_s=6),
]


def names(spans: object) -> list[str]:
    assert hasattr(spans, "__iter__")
    return [one.span_id for one in spans]


def test_parents_and_children_stay_within_their_trace() -> None:
    tree = tree_of(FAMILY)
    assert names(tree.children(FAMILY[0])) == ["left", "right"]
    assert tree.children(FAMILY[5]) == ()
    assert tree.parent(FAMILY[3]) == FAMILY[1]


def test_a_span_whose_parent_never_arrived_is_a_root() -> None:
    assert names(tree_of(FAMILY).roots()) == ["top", "orphan", "top"]


def test_ancestors_go_up_and_descendants_down() -> None:
    tree = tree_of(FAMILY)
    assert names(tree.ancestors(FAMILY[3])) == ["left", "top"]
    assert names(tree.descendants(FAMILY[0])) == ["left", "right", "leaf"]
    assert tree.top(FAMILY[3]) == FAMILY[0]
    assert tree.top(FAMILY[4]) == FAMILY[4]


@given(arrivals=st.permutations(FAMILY + FAMILY[:2]))
def test_a_tree_does_not_depend_on_arrival_or_repetition(arrivals: list[Span]) -> None:
    assert tree_of(arrivals) == tree_of(FAMILY)


def test_walking_visits_every_span_once_and_parents_first() -> None:
    walked = names(tree_of(FAMILY).walk())
    assert sorted(walked) == sorted(names(FAMILY))
    assert walked.index("top") < walked.index("left") < walked.index("leaf")


def test_spans_that_are_each_others_parents_end_no_walk() -> None:
    circle = [span("one", "two"), span("two", "one"), span("self", "self")]
    tree = tree_of(circle)
    assert sorted(names(tree.walk())) == ["one", "self", "two"]
    assert names(tree.ancestors(circle[0])) == ["two"]
    assert names(tree.descendants(circle[0])) == ["two"]


def test_the_nearest_agent_span_owns_what_is_below_it() -> None:
    owners = owning_agents(tree_of(FAMILY), lambda one: one.span_id in {"top", "left"})
    assert owners[TRACE, "leaf"].span_id == "left"
    assert owners[TRACE, "right"].span_id == "top"
    assert owners[TRACE, "left"].span_id == "left"
    assert key_of(FAMILY[4]) not in owners


def test_a_chain_of_many_thousand_spans_is_walked() -> None:
    chain = [span(str(number), str(number - 1), at_s=number) for number in range(1, 20_000)]
    owners = owning_agents(tree_of(chain), lambda one: one.span_id == "1")
    assert owners[TRACE, "19999"].span_id == "1"
