from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.labelling import MAX_REASON, NotALabel, Said, label_of, people_say
from collector.store.labels import Label
from judge.question import Scale
from judge.verdict import NotApplicable, NotJudged, Score
from tests.fakes.verdicts import NOW_NS, judged

SCALE = Scale({"Complete": 1.0, "Partial": 0.5, "Failed": 0.0})
COMPLETE = judged(evaluator="goal_completion", outcome=Score(1.0, "Complete", "All done."))


def label(said: Said, scale: Scale | None = SCALE, seen: Mapping[str, Set[bool]] | None = None) -> Label:
    return label_of(COMPLETE, said, NOW_NS, scale, seen or {})


def test_agreeing_keeps_what_the_evaluator_said() -> None:
    said = label(Said(True, " I read it. ", " ana "))
    assert said == Label(COMPLETE.id, "ana", NOW_NS, agrees=True, passes=True, reason="I read it.")
    assert label(Said(True, "r", "a", right_label="Complete")).right_label is None


def test_disagreeing_alone_turns_pass_into_fail() -> None:
    assert not label(Said(False, "r", "a")).passes


@pytest.mark.parametrize(("right", "passes"), [("Partial", True), ("Failed", False)])
def test_the_right_label_says_whether_it_passes(right: str, passes: bool) -> None:
    said = label(Said(False, "r", "a", right))
    assert (said.right_label, said.passes) == (right, passes)


@pytest.mark.parametrize(
    ("seen", "passes"),
    [({"fair": {True}}, True), ({"fair": {False}}, False), ({"fair": {True, False}}, False), ({}, False)],
)
def test_without_a_scale_verdicts_seen_so_far_say_it(seen: dict[str, set[bool]], passes: bool) -> None:
    assert label(Said(False, "r", "a", "fair"), scale=None, seen=seen).passes == passes


@pytest.mark.parametrize(
    ("said", "field", "told"),
    [
        (Said(True, "r", "a", "Failed"), "label", "disagree with it"),
        (Said(False, "r", "a", "Complete"), "label", "agree with it"),
        (Said(False, "r", "a", "Done"), "label", "has no label Done; it has Complete, Partial, Failed"),
        (Said(False, " ", "a"), "reason", "reason is missing"),
        (Said(True, "r", ""), "author", "author is missing"),
        (Said(True, "r", "a\u200bna"), "author", "cannot be seen"),
        (Said(True, "r", "a\x00"), "author", "cannot be seen"),
        (Said(True, "r" * (MAX_REASON + 1), "a"), "reason", "4000 are allowed"),
    ],
)
def test_what_makes_no_label_says_what_to_mend(said: Said, field: str, told: str) -> None:
    with pytest.raises(NotALabel, match=told) as caught:
        label(said)
    assert caught.value.field == field


@pytest.mark.parametrize("outcome", [NotApplicable("none"), NotJudged("pending")])
def test_a_verdict_without_a_score_takes_no_label(outcome: NotApplicable | NotJudged) -> None:
    with pytest.raises(NotALabel, match="has no score"):
        label_of(judged(outcome=outcome), Said(True, "r", "a"), NOW_NS, SCALE, {})


YES = Label("v", "ana", 1, agrees=True, passes=True, reason="r")


def test_the_newest_word_of_an_author_counts() -> None:
    assert people_say([replace(YES, at_ns=2, passes=False), YES]) is False


def test_the_majority_decides_and_a_tie_decides_nothing() -> None:
    others = [replace(YES, author=name, passes=False) for name in ("bo", "cy")]
    assert people_say([YES, *others]) is False
    assert people_say([YES, others[0]]) is None
    assert people_say([]) is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.booleans()), unique_by=lambda one: one[:2]))
def test_what_people_say_does_not_depend_on_the_order(words: list[tuple[str, int, bool]]) -> None:
    labels = [replace(YES, author=author, at_ns=at_ns, passes=passes) for author, at_ns, passes in words]
    assert people_say(labels) == people_say(labels[::-1])
