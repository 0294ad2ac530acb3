"""Conversations with agents under OpenInference, played by the stand-ins.

`python -m tests.fakes.openinference_scenarios` writes them under `tests/fixtures/`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.fakes.langchain import Graph
from tests.fakes.openinference import Call, Json, Recording, Says, Tape, Turn, flat, usage
from tests.fakes.openinference_agents import Claude, Runner, Smol
from tests.fakes.provenance import front_matter

FIXTURES = Path(__file__).parents[1] / "fixtures"

SKILLS = {
    "frost-watch": "Decide tonight's covers from the forecast.",
    "seed-swap": "Match members who want and have the same seed.",
}
BODIES = {
    "frost-watch": "# Frost watch\n\n1. Ask `forecast` for tonight.\n2. Below 2 degrees, name the plots to cover.\n",
    "seed-swap": "# Seed swap\n\nList offers first, then wishes. Never swap the last packet.\n",
    "club:frost-watch": "# Frost watch of the club\n\nRing the bell.\n",
}
ASK = "Will my beans survive the night?"
ANSWER = "One degree tonight: cover plots 4 and 9."
FORECAST = Call("forecast", {"night": "tonight", "plots": [4, 9]}, '{"low": 1}')
LOAD = Call("load_skill", {"skill_name": "frost-watch"}, BODIES["frost-watch"])
UNKNOWN = Call("load_skill", {"skill_name": "hail-watch"}, error=("KeyError", "no skill named hail-watch"))


def listed(head: str, mark: str = "**") -> str:
    return f"{head}\n\n" + "\n".join(f"- {mark}{name}{mark}: {text}" for name, text in SKILLS.items())


def file_of(name: str) -> str:
    return f"---\nname: {name}\ndescription: {SKILLS[name]}\n---\n\n{BODIES[name]}"


LANGCHAIN_SCOPE = "openinference.instrumentation.langchain"


def langchain(session: str) -> Graph:
    system = f"You help the allotment club.\n\n{listed('## Available Skills')}\n\nLoad a skill before you act on it."
    return Graph(Tape(LANGCHAIN_SCOPE, "0.1.80", session), "plot_agent", system, ["load_skill", "forecast"])


def langchain_skill_then_tool() -> Tape:
    """A skill is loaded, then a tool is used. The agent's name has `agent` in it."""
    graph = langchain("plot-1")
    graph.play(Turn(ASK, [Says("Let me see.", [LOAD]), Says(calls=[FORECAST]), Says(ANSWER)]))
    return graph.tape


def langchain_two_skills_one_turn() -> Tape:
    """Two skills are loaded by one answer; the tools node runs once for each."""
    graph = langchain("plot-2")
    swap = Call("load_skill", {"skill_name": "seed-swap"}, BODIES["seed-swap"])
    graph.play(
        Turn("Frost tonight? And who has leeks?", [Says(calls=[LOAD, swap]), Says("Cover them; Ida has leeks.")])
    )
    return graph.tape


def langchain_refused_unknown_name() -> Tape:
    """The tool raises on an unknown skill; the model is told by the agent's error handler."""
    graph = langchain("plot-3")
    graph.play(Turn("Hail?", [Says(calls=[UNKNOWN]), Says("I have no rules for hail.")]))
    return graph.tape


def langchain_two_turns() -> Tape:
    """Two invocations of one thread: the second one's state repeats the first."""
    graph = langchain("plot-4")
    graph.play(Turn(ASK, [Says(calls=[LOAD]), Says(calls=[FORECAST]), Says(ANSWER)]))
    graph.play(Turn("And tomorrow?", [Says(calls=[FORECAST]), Says("The same tomorrow.")]))
    return graph.tape


def langchain_stopped_calls() -> Tape:
    """A tool that asks a person first, one that does not exist, one that fails, one that is named like an agent."""
    graph = langchain("plot-5")
    calls = [
        Call("load_skill", {"skill_name": "frost-watch"}, BODIES["frost-watch"], interrupted=True),
        Call("thermometer", {"plot": 4}, told="Error: thermometer is not a valid tool, try forecast.", spanless=True),
        Call("forecast", {"night": "never"}, error=("ValueError", "no such night")),
        Call("ask_agent", {"question": "bees?"}, "all asleep"),
    ]
    graph.play(Turn(ASK, [*(Says(calls=[call]) for call in calls), Says("I cannot tell.")]))
    return graph.tape


DEEP_PARTS = (
    "You help the allotment club.",
    "\n\n## Skills System\n\n**Available Skills:**\n\n"
    + "\n".join(
        f"- **{name}**: {text}\n  -> Read `/skills/{name}/SKILL.md` for full instructions"
        for name, text in SKILLS.items()
    )
    + "\n\n**How to Use Skills:**\n\n- Read: the file first.",
)


def deepagents(session: str) -> Graph:
    skills = [{"name": name, "description": text, "path": f"/skills/{name}/SKILL.md"} for name, text in SKILLS.items()]
    tape = Tape(LANGCHAIN_SCOPE, "0.1.80", session)
    sub = Graph(tape, "bed_digger", "You dig.", ["read_file", "dig"], deep=True)
    names = ["read_file", "task", "forecast"]
    return Graph(tape, "plot_helper", "", names, DEEP_PARTS, skills, deep=True, subs={"bed_digger": sub})


def reads(name: str, text: str | None = None, *, failed: bool = False) -> Call:
    lines = file_of(name).count("\n") + 1 if name in SKILLS else 0
    told = text if text is not None else f"@@ lines 1-{lines} of {lines} @@\n{file_of(name)}"
    return Call("read_file", {"file_path": f"/skills/{name}/SKILL.md", "limit": 1000}, told, failed=failed)


def deepagents_skill_then_tool() -> Tape:
    """The skill's file is read, then a tool is used."""
    graph = deepagents("plot-6")
    graph.play(Turn(ASK, [Says(calls=[reads("frost-watch")]), Says(calls=[FORECAST]), Says(ANSWER)]))
    return graph.tape


def deepagents_refused() -> Tape:
    """The file of an unknown skill and one that may not be read."""
    graph = deepagents("plot-7")
    unknown = reads("hail-watch", "Error: File '/skills/hail-watch/SKILL.md' not found", failed=True)
    denied = reads("seed-swap", "Error: permission denied for read on /skills/seed-swap/SKILL.md", failed=True)
    graph.play(Turn("Hail? Seeds?", [Says(calls=[unknown, denied]), Says("I may not.")]))
    return graph.tape


def deepagents_sub_agent() -> Tape:
    """A sub-agent works in the tool `task`; it is offered no skills and looks for one all the same."""
    graph = deepagents("plot-8")
    look = reads("frost-watch", "Error: File '/skills/frost-watch/SKILL.md' not found", failed=True)
    inside = [Says(calls=[look]), Says(calls=[Call("dig", {"bed": 4, "deep": True})]), Says("Bed 4 is dug.")]
    task = Call("task", {"description": "Dig bed 4.", "subagent_type": "bed_digger"}, inside=inside)
    graph.play(Turn("Prepare bed 4.", [Says(calls=[reads("frost-watch"), task]), Says("Done, and no frost.")]))
    return graph.tape


def runner(session: str) -> Runner:
    listing = "\n".join(f"- {name}: {text} (file: .agents/{name})" for name, text in SKILLS.items())
    first = (
        f"You help the club.\n\n## Skills\n### Available skills\n{listing}\n### How to use skills\n- Load: then read."
    )
    tape = Tape("openinference.instrumentation.openai_agents", "2.6.0", session)
    return Runner(
        tape, {"plot_helper": first, "Seed Desk": "You swap seeds."}, ["load_skill", "exec_command", "forecast"]
    )


def staged(name: str, status: str = "loaded") -> Call:
    return Call("load_skill", {"skill_name": name}, json.dumps({"status": status, "path": f".agents/{name}"}))


def printed(name: str) -> Call:
    text = f"Chunk ID: 0a1b\nWall time: 0.0040 seconds\nProcess exited with code 0\nOutput:\n{file_of(name)}"
    return Call("exec_command", {"cmd": f"cat .agents/{name}/SKILL.md"}, text)


def openai_agents_skill_then_tool() -> Tape:
    """A skill is staged and its file printed; both are one load. Then a tool is used."""
    agents = runner("plot-9")
    says = [Says("First the rules.", [staged("frost-watch")]), Says(calls=[printed("frost-watch")])]
    agents.play(Turn(ASK, [*says, Says(calls=[FORECAST]), Says(ANSWER)]))
    return agents.tape


def openai_agents_refused_unknown_name() -> Tape:
    """An unknown skill ends the run without an answer."""
    agents = runner("plot-10")
    load = Call("load_skill", {"skill_name": "hail-watch"}, error=("UserError", "lazy skill not found"))
    agents.play(Turn("Hail?", [Says(calls=[load])]), dies="Error running tool load_skill: lazy skill not found")
    return agents.tape


def openai_agents_handoff() -> Tape:
    """A second agent takes over, by a tool of another name than usual; it loads a skill the first was offered."""
    agents = runner("plot-11")
    handoff = Call("pass_to_seeds", {}, "{'assistant': 'Seed Desk'}")
    says = [Says(calls=[FORECAST, handoff]), Says(calls=[staged("seed-swap")]), Says("Ida has leeks.")]
    agents.play(Turn("Who has leeks?", says), {0: "Seed Desk"})
    return agents.tape


def openai_agents_two_turns() -> Tape:
    """Two runs with a session store, two equal calls at once, and one of a tool that does not exist."""
    agents = runner("plot-12")
    other = Call("forecast", {"night": "tomorrow", "plots": []}, '{"low": 7}')
    agents.play(Turn(ASK, [Says(calls=[other, FORECAST]), Says(ANSWER)]))
    missing = Call("thermometer", {}, error=("ModelBehaviorError", "Tool thermometer not found"), spanless=True)
    refused = Call("forecast", {"night": "later"}, told="Tool execution was not approved.", spanless=True)
    agents.play(Turn("And later?", [Says(calls=[refused]), Says(calls=[missing])]))
    return agents.tape


def smol(session: str, *, code: bool = False) -> Smol:
    listing = "".join(f'<skill name="{name}">{text}</skill>\n' for name, text in SKILLS.items())
    tape = Tape("openinference.instrumentation.smolagents", "0.1.43", session)
    names = ["load_skill", "forecast", "final_answer"]
    digger = Smol(tape, "bed_digger", "You dig.", ["dig", "final_answer"])
    return Smol(tape, "plot_helper", f"Solve it.\n<skills>\n{listing}</skills>", names, code, {"bed_digger": digger})


def final(text: str) -> Call:
    return Call("final_answer", {"answer": text}, text)


def smolagents_skill_then_tool() -> Tape:
    """A skill is loaded, then a tool is used; a second run goes on without reset."""
    agent = smol("plot-13")
    agent.play(Turn(ASK, [Says("Rules first.", [LOAD]), Says(calls=[FORECAST]), Says(calls=[final(ANSWER)])]))
    agent.play(Turn("And tomorrow?", [Says(calls=[FORECAST]), Says(calls=[final("The same.")])]))
    return agent.tape


def smolagents_refused_and_managed() -> Tape:
    """An unknown skill, a tool that does not exist, and an agent that is managed by the first."""
    agent = smol("plot-14")
    unknown = Call("load_skill", {"skill_name": "hail-watch"}, error=("ValueError", "Unknown skill: hail-watch"))
    missing = Call("spade", {"bed": 4}, error=("", "Unknown tool spade, should be one of: forecast."), spanless=True)
    inside = [Says(calls=[Call("dig", {"bed": "4"})]), Says(calls=[final("Bed 4 is dug.")])]
    dug = Call("bed_digger", {"task": "Dig bed 4."}, "Bed 4 is dug.", inside=inside)
    calls = [unknown, missing, dug, final("Dug.")]
    agent.play(Turn("Hail? Dig bed 4.", [Says(calls=[call]) for call in calls]))
    return agent.tape


def smolagents_code_agent() -> Tape:
    """A code agent: the model's text is code, arguments are unnamed, calls have no ids."""
    agent = smol("plot-15", code=True)
    agent.play(
        Turn(
            ASK, [Says("Thought: load\nload_skill('frost-watch')", [LOAD]), Says("final_answer('Yes')", [final("Yes")])]
        )
    )
    return agent.tape


def claude(session: str) -> Claude:
    return Claude(Tape("openinference.instrumentation.claude_agent_sdk", "0.1.22", session), BODIES)


def skill(name: str, error: tuple[str, str] | None = None) -> Call:
    return Call("Skill", {"skill": name}, output=json.dumps({"success": True, "commandName": name}), error=error)


def claude_agent_sdk_skill_then_tools() -> Tape:
    """A skill is loaded, then tools are used; a second query goes on in the same session."""
    sdk = claude("6b1f6a52-0000-4000-8000-000000000001")
    surcharges = {"type": "text", "file": {"filePath": "/srv/plots/list.md", "content": "4 beans\n9 leeks\n"}}
    look = Call("Read", {"file_path": "/srv/plots/list.md"}, output=json.dumps(surcharges))
    low = Call("mcp__club__forecast", {"night": "tonight"}, '{"low": 1}')
    listing = Call(
        "Bash", {"command": "ls"}, output=json.dumps({"stdout": "list.md", "stderr": "", "interrupted": False})
    )
    sdk.play(Turn(ASK, [Says("Rules first.", [skill("frost-watch")]), Says(calls=[look, low]), Says(ANSWER)]))
    sdk.play(Turn("And tomorrow?", [Says(calls=[listing, low]), Says("The same.")]))
    return sdk.tape


def claude_agent_sdk_two_skills_one_turn() -> Tape:
    """Two skills are loaded at once, one of a plugin; the texts come after both calls."""
    sdk = claude("6b1f6a52-0000-4000-8000-000000000002")
    sdk.play(Turn("Frost? Leeks?", [Says(calls=[skill("club:frost-watch"), skill("seed-swap")]), Says("Ring; Ida.")]))
    return sdk.tape


def claude_agent_sdk_refused() -> Tape:
    """An unknown skill, one denied by a hook, a tool that fails and one that a person declined."""
    sdk = claude("6b1f6a52-0000-4000-8000-000000000003")
    marked = "<tool_use_error>Unknown skill: hail-watch</tool_use_error>"
    calls = [
        skill("hail-watch", error=("", marked)),
        skill("seed-swap", error=("", "PreToolUse:Skill hook error: closed on Sundays")),
        Call("mcp__club__forecast", {"night": "never"}, error=("", "no such night")),
        Call("Bash", {"command": "rm list.md"}, error=("", "The user doesn't want to proceed with this tool use.")),
    ]
    sdk.play(Turn("Hail?", [*(Says(calls=[call]) for call in calls), Says("I may not.")]))
    return sdk.tape


def claude_agent_sdk_sub_agent() -> Tape:
    """A sub-agent uses a tool and loads a skill; the run is stopped before its second tool ends."""
    sdk = claude("6b1f6a52-0000-4000-8000-000000000004")
    inside = [
        Says(calls=[skill("frost-watch")]),
        Says(calls=[Call("Bash", {"command": "dig"}, error=("", "Abandoned"))]),
    ]
    task = Call(
        "Agent", {"prompt": "Dig bed 4.", "subagent_type": "bed-digger"}, error=("", "Abandoned"), inside=inside
    )
    sdk.play(Turn("Dig bed 4.", [Says("I will have it dug.", [task])]), ends=False)
    return sdk.tape


def openinference_crew() -> Tape:
    """A framework nobody knows: a chain of two agents, a retriever that is a tool, contents that repeat the calls."""
    tape = Tape("openinference.instrumentation.made_up_crew", "1.0", "plot-16")
    asked = {"role": "user", "content": ASK}
    with tape.span("crew", "CHAIN", session__id=tape.session) as crew:
        with tape.span("a1", "AGENT", crew, agent__name="forecaster") as agent:
            _crew_request(
                tape, agent, [{"role": "system", "content": listed("### Available skills", "")}, asked], "", FORECAST
            )
            with tape.span(
                "lookup", "RETRIEVER", agent, tool__name="forecast", input__value="{'night': 'tonight'}"
            ) as span:
                span.attributes |= {"tool.id": "crew-call", "output.value": "1 degree"}
        with tape.span("a2", "AGENT", crew, agent__name="writer", input__value="Write it down.") as agent:
            _crew_request(tape, agent, [{"role": "user", "content": "Write it down."}], ANSWER)
    return tape


def _crew_request(tape: Tape, agent: Recording, asked: Sequence[Json], text: str, call: Call | None = None) -> None:
    calls = [("crew-call", call.name, call.arguments)] if call is not None else []
    with tape.span("completion", "LLM", agent, llm__model_name="made-up-mini") as request:
        request.attributes |= flat("llm.input_messages", asked) | usage()
        request.attributes |= flat("llm.output_messages", [{"role": "assistant", "content": text, "calls": calls}])
        for call_id, name, given in calls:
            part = "llm.output_messages.0.message.contents.0"
            request.attributes |= {f"{part}.message_content.type": "tool_use", f"{part}.tool_call.id": call_id}
            request.attributes |= {f"{part}.tool_call.function.name": name}
            request.attributes |= {f"{part}.tool_call.function.arguments": json.dumps(given)}


PACKAGES = {
    "langchain": "langchain 1.5.2 with openinference-instrumentation-langchain 0.1.80",
    "deepagents": "deepagents 0.7.32 with openinference-instrumentation-langchain 0.1.80",
    "openai_agents": "openai-agents 0.24.0 with openinference-instrumentation-openai-agents 2.6.0",
    "smolagents": "smolagents 1.26.0 with openinference-instrumentation-smolagents 0.1.43",
    "claude_agent_sdk": "claude-agent-sdk 0.2.189 with openinference-instrumentation-claude-agent-sdk 0.1.22",
    "openinference": "an invented framework that follows openinference-semantic-conventions 0.1.42",
}

SCENARIOS: tuple[Callable[[], Tape], ...] = (
    langchain_skill_then_tool,
    langchain_two_skills_one_turn,
    langchain_refused_unknown_name,
    langchain_two_turns,
    langchain_stopped_calls,
    deepagents_skill_then_tool,
    deepagents_refused,
    deepagents_sub_agent,
    openai_agents_skill_then_tool,
    openai_agents_refused_unknown_name,
    openai_agents_handoff,
    openai_agents_two_turns,
    smolagents_skill_then_tool,
    smolagents_refused_and_managed,
    smolagents_code_agent,
    claude_agent_sdk_skill_then_tools,
    claude_agent_sdk_two_skills_one_turn,
    claude_agent_sdk_refused,
    claude_agent_sdk_sub_agent,
    openinference_crew,
)


def write_all() -> None:
    """Write every scenario's export requests and provenance; expectations are not touched."""
    for play in SCENARIOS:
        harness = next(name for name in PACKAGES if play.__name__.startswith(f"{name}_"))
        scenario = play.__name__.removeprefix(f"{harness}_").replace("_", "-")
        directory = FIXTURES / harness / scenario
        directory.mkdir(parents=True, exist_ok=True)
        for file in directory.glob("traces-*.json"):
            file.unlink()
        for number, request in enumerate(play().requests(), 1):
            text = json.dumps(request, indent=1, ensure_ascii=False)
            (directory / f"traces-{number:02}.json").write_text(text + "\n", encoding="utf-8")
        told = " ".join((play.__doc__ or "").split())
        (directory / "provenance.md").write_text(
            front_matter(directory) + f"# {scenario}\n\n{told}\n\n- Emitted by: {PACKAGES[harness]}.\n"
            "- Played by `tests/fakes/`: names, nesting, value types and order are those of exports of these\n"
            "  versions; every text, name, id, number and time is invented.\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    write_all()
