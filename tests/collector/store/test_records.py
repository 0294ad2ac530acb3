"""Records survive being written as JSON, and odd values cost no more than themselves."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from collector.store.records import CLOSED_SESSION, CUT, JUDGED, PENDING_QUESTION, tame
from extractors.anchors import Anchor
from extractors.skills import LoadedBy, LoadOutcome, Skill, SkillInvocation
from extractors.trajectory import Agent, CallOutcome, Failure, Step, ToolCall, ToolDefinition, Versions
from judge.verdict import NotApplicable, NotJudged, Score
from tests.fakes.verdicts import ANCHOR, closed, judged, pending

_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_a_full_trajectory_reads_back_the_same() -> None:
    session = closed()
    assert session.trajectory
    trajectory = replace(
        session.trajectory,
        offered_skills=(Skill("refunds", "Gives money back", "project"),),
        catalog_anchor=ANCHOR,
        skill_invocations=(
            SkillInvocation(
                "refunds", LoadOutcome.REFUSED, ANCHOR, "root", LoadedBy.FILE, "c1", refusal="no such skill"
            ),
        ),
        steps=(Step(ANCHOR, "root", 1, 2, "text", ("c1",), "model-a", "model-b", "stop", 10, 20),),
        tool_calls=(ToolCall("t", Anchor("record", None, None, 3), "root", CallOutcome.FAILED, arguments={"a": [1]}),),
        tool_definitions=(ToolDefinition("t", None, {"type": "object"}),),
        agents=(Agent("root", offered_skills=()),),
        failures=(Failure("model", None, ANCHOR, "root", 5),),
        versions=Versions(models_answered=("model-b",), skill_bodies={"refunds": "0" * 16}),
    )
    session = replace(session, trajectory=trajectory)
    assert CLOSED_SESSION.load(CLOSED_SESSION.dump(session)) == session


def test_not_recorded_and_none_stay_different() -> None:
    session = closed()
    assert session.trajectory
    for catalog in (None, ()):
        written = replace(session, trajectory=replace(session.trajectory, offered_skills=catalog))
        read = CLOSED_SESSION.load(CLOSED_SESSION.dump(written)).trajectory
        assert read
        assert read.offered_skills == catalog


@given(st.sampled_from([Score(0.5, "half", "why"), NotApplicable("none"), NotJudged("judge_refused", "policy")]))
def test_every_outcome_reads_back_as_its_own_kind(outcome: Score | NotApplicable | NotJudged) -> None:
    assert JUDGED.load(JUDGED.dump(judged(outcome=outcome))) == judged(outcome=outcome)


def test_a_question_reads_back_with_its_scale_in_order() -> None:
    read = PENDING_QUESTION.load(PENDING_QUESTION.dump(pending()))
    assert read == pending()
    assert read.question.scale.labels == ("Yes", "No")


@given(st.dictionaries(st.text(), _PLAIN, max_size=3))
def test_arguments_read_back_the_same(arguments: dict[str, object]) -> None:
    assert _arguments_after(arguments) == arguments


@given(st.text(st.characters(), max_size=20), st.integers(0, 400))
def test_any_text_at_any_depth_can_be_written_and_read(text: str, depth: int) -> None:
    value: object = text
    for _ in range(depth):
        value = [value]
    assert set(_arguments_after({"value": value})) == {"value"}


def test_taming_leaves_plain_values_alone_and_marks_a_cut() -> None:
    assert tame({"a": [1, 2.5, True, None, "x"]}) == {"a": [1, 2.5, True, None, "x"]}
    nested: object = 1
    for _ in range(200):
        nested = {"in": nested}
    assert CUT in str(tame(nested))


def _arguments_after(arguments: dict[str, object]) -> dict[str, object]:
    session = closed()
    assert session.trajectory
    call = ToolCall("t", ANCHOR, "root", CallOutcome.OK, arguments=arguments)  # type: ignore[arg-type]
    written = replace(session, trajectory=replace(session.trajectory, tool_calls=(call,)))
    read = CLOSED_SESSION.load(CLOSED_SESSION.dump(written)).trajectory
    assert read
    return dict(read.tool_calls[0].arguments or {})
