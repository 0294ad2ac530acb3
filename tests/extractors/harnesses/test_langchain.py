from __future__ import annotations

import json
from dataclasses import replace

from extractors import registry
from extractors.harnesses import langchain
from extractors.skills import LoadOutcome
from extractors.spans import Session, Span, Value
from extractors.trajectory import CallOutcome
from tests.extractors.fixtures import session
from tests.extractors.openinference import llm, oi, says, user
from tests.extractors.spans import session as session_of

SCOPE = "openinference.instrumentation.langchain"


def without(source: Session, *keys: str) -> Session:
    def stripped(one: Span) -> Span:
        kept = {key: value for key, value in one.attributes.items() if not key.startswith(keys)}
        return replace(one, attributes=kept)

    return replace(source, spans=tuple(stripped(one) for one in source.spans))


def test_it_is_recognized_by_its_scope_unless_deepagents_built_the_graph() -> None:
    about = json.dumps({"ls_integration": "deepagents"})
    plain, deep = oi("CHAIN", "a", scope=SCOPE), oi("CHAIN", "b", scope=SCOPE, metadata=about)
    assert registry.recognizers(session_of([plain])) == ("langchain",)
    assert registry.recognizers(session_of([deep])) == ("deepagents",)
    assert registry.recognizers(session_of([oi("CHAIN", "c", scope=f"{SCOPE}.copy")])) == ()


def test_a_graph_named_like_an_agent_is_one_agent_and_a_tool_so_named_a_tool() -> None:
    found = registry.extract(session("langchain/stopped-calls"))
    assert [(agent.id, agent.name) for agent in found.agents] == [("root", "plot_agent")]
    assert found.tool_calls[-1].name == "ask_agent"
    assert found.tool_calls[-1].arguments == {"question": "bees?"}


def test_a_lone_argument_gets_its_name_back() -> None:
    for source in (session("langchain/skill-then-tool"), without(session("langchain/skill-then-tool"), "llm.output")):
        load = registry.extract(source).tool_calls[0]
        assert (load.arguments, load.arguments_text) == ({"skill_name": "frost-watch"}, None)


def test_a_lone_argument_of_a_skill_tool_is_named_where_only_the_tool_was_recorded() -> None:
    one = oi("TOOL", "t1", scope=SCOPE, tool__name="load_skill", input__value="frost-watch", output__value="# Rules")
    (load,) = langchain.extract(session_of([one])).skill_invocations
    assert (load.name, load.outcome) == ("frost-watch", LoadOutcome.LOADED)


def test_parallel_loads_get_their_own_texts() -> None:
    first, second = registry.extract(session("langchain/two-skills-one-turn")).skill_invocations
    assert (first.name, (first.body or "").splitlines()[0]) == ("frost-watch", "# Frost watch")
    assert (second.name, (second.body or "").splitlines()[0]) == ("seed-swap", "# Seed swap")


def test_what_a_tool_raised_is_told_without_its_traceback() -> None:
    found = registry.extract(session("langchain/refused-unknown-name"))
    (load,), (call,) = found.skill_invocations, found.tool_calls
    assert (load.outcome, load.refusal) == (LoadOutcome.REFUSED, "KeyError: no skill named hail-watch")
    assert (call.outcome, call.error) == (CallOutcome.REFUSED, "no skill named hail-watch")


def test_a_call_that_waited_for_a_person_and_ran_again_is_one_call() -> None:
    load, *_ = registry.extract(session("langchain/stopped-calls")).tool_calls
    assert (load.name, load.outcome, load.call_id) == ("load_skill", CallOutcome.OK, "call_pl100")


def test_a_call_that_still_waits_for_a_person_is_unanswered() -> None:
    source = session("langchain/stopped-calls")
    first = next(one for one in source.spans if one.name == "load_skill")
    waiting = replace(source, spans=tuple(one for one in source.spans if one.end_ns <= first.end_ns))
    (load,) = registry.extract(waiting).skill_invocations
    assert load.outcome is LoadOutcome.UNANSWERED


def test_a_call_answered_without_a_span_was_refused() -> None:
    call = registry.extract(session("langchain/stopped-calls")).tool_calls[1]
    assert (call.name, call.outcome, call.start_ns) == ("thermometer", CallOutcome.REFUSED, None)
    assert (call.error or "").startswith("Error: thermometer is not a valid tool")


def test_a_state_that_repeats_earlier_turns_repeats_nothing() -> None:
    found = registry.extract(session("langchain/two-turns"))
    assert [prompt.text for prompt in found.prompts] == ["Will my beans survive the night?", "And tomorrow?"]
    assert [call.turn for call in found.tool_calls] == [0, 0, 1]
    assert found.answer == "The same tomorrow."


def test_the_nodes_of_a_graph_whose_root_never_arrived_are_no_turns() -> None:
    source = session("langchain/skill-then-tool")
    found = registry.extract(replace(source, spans=tuple(one for one in source.spans if one.parent_id is not None)))
    assert [prompt.text for prompt in found.prompts] == ["Will my beans survive the night?"]
    assert [agent.id for agent in found.agents] == ["root"]


def test_a_cut_result_is_taken_from_the_next_request() -> None:
    source = session("langchain/skill-then-tool")

    def cut(one: Span) -> Span:
        told: Value = one.attributes.get("output.value")
        return replace(one, attributes={**one.attributes, "output.value": str(told)[:60]}) if told else one

    (load,) = registry.extract(replace(source, spans=tuple(map(cut, source.spans)))).skill_invocations
    assert (load.body or "").endswith("Below 2 degrees, name the plots to cover.")


def test_a_graph_below_a_tool_is_a_sub_agent() -> None:
    found = langchain.extract(
        session_of(
            [
                oi("CHAIN", "g1", scope=SCOPE, name="outer", lasts_s=9),
                oi("TOOL", "t1", "g1", at_s=2, lasts_s=5, scope=SCOPE, tool__name="delegate", output__value="done"),
                oi("CHAIN", "g2", "t1", at_s=3, lasts_s=3, scope=SCOPE, name="inner"),
                llm("m1", "g2", [user("sub task")], [says("done")], at_s=4, scope=SCOPE),
            ]
        )
    )
    assert [agent.id for agent in found.agents] == ["root", "root/inner"]
    assert [step.agent for step in found.steps] == ["root/inner"]


def test_the_version_is_the_frameworks_not_the_instrumentations() -> None:
    assert registry.extract(session("langchain/two-turns")).versions.harness_version == "1.5.2"
    assert registry.extract(without(session("langchain/two-turns"), "metadata")).versions.harness_version is None
