from __future__ import annotations

from dataclasses import replace

from collector.page.texts import Texts
from collector.page.timeline import Entry, agents_of, entries, happenings
from extractors.trajectory import Agent, Trajectory
from judge.redaction import NOTHING, Redaction
from judge.verdict import SessionRef
from tests.fakes.rich_session import rich_session
from tests.judge.trajectories import call

TEXTS = Texts(SessionRef("s-1"), Redaction())


def shown(trajectory: Trajectory) -> list[Entry]:
    return list(entries(trajectory, happenings(trajectory), TEXTS, "https://traces.example/{trace_id}/{span_id}"))


def rich() -> Trajectory:
    trajectory = rich_session().trajectory
    assert trajectory is not None
    return trajectory


def test_things_stand_in_the_order_in_which_they_happened() -> None:
    told = [(entry.kind, entry.title, entry.word) for entry in shown(rich())]
    assert told[:6] == [
        ("person", "Turn 1", ""),
        ("model", "model-l-2", ""),
        ("tool", "Skill", "ok"),
        ("skill", "refunds", "loaded"),
        ("model", "model-l-2", ""),
        ("tool", "Skill", "refused"),
    ]
    assert told[-1] == ("answer", "", "")


def test_a_sub_agent_is_named_and_one_deeper() -> None:
    (helper,) = [entry for entry in shown(rich()) if entry.title == "find_order"]
    assert (helper.agent, helper.depth) == ("order-finder", 1)
    (own,) = [entry for entry in shown(rich()) if entry.title == "notify"]
    assert (own.agent, own.depth) == ("", 0)


def test_agents_that_are_above_each_other_have_a_depth() -> None:
    agents = (Agent("a", parent="b"), Agent("b", parent="a"), Agent("c", parent="a"))
    depths = agents_of(replace(rich(), agents=agents)).depths
    assert all(depth <= 2 for depth in depths.values())


def test_not_recorded_is_told_apart_from_empty() -> None:
    (unanswered,) = [entry for entry in shown(rich()) if entry.title == "notify"]
    assert [(name, piece.text) for name, piece in unanswered.details] == [("arguments", None), ("result", None)]
    silent = replace(rich(), answer="")
    assert shown(silent)[-1].said is not None
    assert shown(silent)[-1].said.text == ""  # type: ignore[union-attr]


def test_a_refusal_is_told_in_its_own_words() -> None:
    (ledger,) = [entry for entry in shown(rich()) if entry.title == "ledger"]
    assert dict(ledger.details)["refusal"].text == "The skill ledger is not enabled for this desk."


def test_secrets_in_arguments_are_masked_by_the_name_of_their_field() -> None:
    trajectory = replace(rich(), tool_calls=(call("login", {"password": "tulip"}),), skill_invocations=())
    (entry,) = [entry for entry in shown(trajectory) if entry.kind == "tool"]
    assert "tulip" not in str(entry)


def test_a_long_text_is_cut_and_has_an_address_of_its_own() -> None:
    trajectory = replace(rich(), answer="x" * 5_000_000)
    said = shown(trajectory)[-1].said
    assert said is not None
    assert len(said.text or "") < 5_000
    assert said.left_out > 4_900_000
    assert said.url == "/text?session=s-1&revision=1&of=answer"


def test_ids_that_differ_look_different() -> None:
    texts = Texts(SessionRef("s-1"), NOTHING)
    shown = [texts.identifier(one) for one in ("a b", "a\nb", "a\r\nb", "a\tb", "a\u202eb", "")]
    assert shown == ["a b", "a\\x0ab", "a\\x0d\\x0ab", "a\\x09b", "a\\u202eb", '""']


def test_a_text_of_many_short_lines_is_cut_as_well() -> None:
    trajectory = replace(rich(), answer="\n".join(map(str, range(200))))
    said = shown(trajectory)[-1].said
    assert said is not None
    assert (said.text or "").endswith("\n39")
    assert said.left_out == len(trajectory.answer or "") - len(said.text or "")


def test_what_cannot_be_seen_is_spelled_out() -> None:
    said = shown(replace(rich(), answer="pay \u202e321 now\x1b[2J"))[-1].said
    assert said is not None
    assert said.text == "pay \\u202e321 now\\x1b[2J"


def test_where_no_beginning_was_recorded_there_is_no_time_since() -> None:
    assert {entry.offset for entry in shown(replace(rich(), started_ns=0))} == {""}
    assert shown(rich())[0].offset == "+200 ms"
