"""Conversations with an ADK agent, played by the stand-in.

`python -m tests.fakes.google_adk_scenarios` writes them under `tests/fixtures/google_adk/`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.fakes.google_adk import Adk, Call, Round, Run
from tests.fakes.otlp_json import Json
from tests.fakes.scenarios import write_scenarios

FIXTURES = Path(__file__).parents[1] / "fixtures" / "google_adk"

SKILLS = {
    "stone-dressing": "Recut a millstone's furrows & lands.",
    "flour-grading": "Grade a sack by its ash content.",
}
CATALOG = (
    "<available_skills>\n"
    + "".join(
        f"<skill>\n<name>\n{name}\n</name>\n<description>\n{told.replace('&', '&amp;')}\n</description>\n</skill>\n"
        for name, told in SKILLS.items()
    )
    + "</available_skills>"
)
LAZY = "You run the mill's desk.\n\nLook up skills before you work."
EAGER = f"You run the mill's desk.\n\n{CATALOG}"
LISTING = Call("list_skills", {}, {"result": CATALOG}, "ListSkillsTool")


def body(name: str) -> str:
    return f"# {name}\n\n1. Stop the stones.\n2. Call `weigh` once.\n\n---\n\nNever work alone."


def load(name: str) -> Call:
    source = f"file:///srv/mill/skills/{name}"
    told: Json = {"gen_ai.skill.name": name, "gen_ai.skill.description": SKILLS[name]}
    result = {"skill_name": name, "instructions": body(name), "frontmatter": {"name": name}}
    return Call(
        "load_skill", {"skill_name": name}, result, "LoadSkillTool", {**told, "gen_ai.skill.source.uri": source}
    )


def unknown(name: str) -> Call:
    result = {"error": f"Skill '{name}' not found.", "error_code": "SKILL_NOT_FOUND"}
    told = {"gen_ai.skill.name": name}
    return Call("load_skill", {"skill_name": name}, result, "LoadSkillTool", told, error="SKILL_NOT_FOUND")


def without_name() -> Call:
    result = {"error": "Argument 'skill_name' is required.", "error_code": "INVALID_ARGUMENTS"}
    return Call("load_skill", {"skill_name": ""}, result, "LoadSkillTool", error="INVALID_ARGUMENTS")


def forbidden(name: str) -> Call:
    """A callback answers in the place of the tool, and not in the form of an error."""
    return Call("load_skill", {"skill_name": name}, {"message": "Only the miller may do that."}, "LoadSkillTool")


def weigh(sack: str, kilos: int) -> Call:
    return Call("weigh", {"sack": sack}, {"kilos": kilos})


BROKEN_SCALE = Call("weigh", {"sack": "Z"}, {"status": "error", "error_message": "there is no sack Z"})
RESOURCE = Call(
    "load_skill_resource",
    {"skill_name": "stone-dressing", "file_path": "references/tools.md"},
    {"skill_name": "stone-dressing", "file_path": "references/tools.md", "content": "# Tools\n\nA mill bill."},
    "LoadSkillResourceTool",
    {"gen_ai.skill.name": "stone-dressing", "gen_ai.skill.resource.name": "references/tools.md"},
)

LONG_WORK = (
    Round("", [LISTING]),
    Round("Both apply.", [load("stone-dressing"), load("flour-grading")]),
    Round("", [RESOURCE, weigh("A", 40), weigh("B", 25)]),
    Round("", [BROKEN_SCALE]),
    Round("", [weigh("C", 30)]),
    Round("Stones are dressed; 95 kilos graded."),
)
REFUSALS = (
    Round("", [unknown("wind-reading")]),
    Round("", [without_name()]),
    Round("", [forbidden("flour-grading")]),
    Round("I have no way to do that."),
)
ASK = "Dress the stones and grade sacks A, B and C."


def schema_1() -> Adk:
    """Skills, parallel calls and a failed call; the model gives calls no ids."""
    adk = Adk("schema-1", schema=1, content="spans")
    adk.turn(ASK, [Run("miller", LONG_WORK, LAZY)])
    return adk


def schema_1_logs() -> Adk:
    """The same with content in log events only."""
    adk = Adk("schema-1-logs", schema=1, content="events")
    adk.turn(ASK, [Run("miller", LONG_WORK, LAZY)])
    return adk


def schema_1_no_content() -> Adk:
    """Content switched off: every text is elided."""
    adk = Adk("schema-1-no-content", schema=1, content="none")
    adk.turn(ASK, [Run("miller", LONG_WORK, LAZY)])
    return adk


def schema_2_events() -> Adk:
    """Content in log events only, catalog in the prompt, two turns; schema 2 makes up ids, the same ones again."""
    adk = Adk("schema-2-events", content="events")
    adk.turn(ASK, [Run("miller", LONG_WORK[1:], EAGER)])
    adk.turn("Weigh sack D, too.", [Run("miller", [Round("", [weigh("D", 20)]), Round("Twenty kilos.")], EAGER)])
    return adk


def schema_2_spans() -> Adk:
    """Content in spans and events, catalog by `list_skills`; the model gives calls ids."""
    adk = Adk("schema-2-spans", content="both", model_ids=True)
    adk.turn(ASK, [Run("miller", LONG_WORK, LAZY)])
    return adk


def refusals() -> Adk:
    """An unknown skill, one without a name, one that a callback forbids; content in events."""
    adk = Adk("refusals", content="events")
    adk.turn("Read the wind and grade the flour.", [Run("miller", REFUSALS, EAGER)])
    return adk


def refusals_no_content() -> Adk:
    """The same with content switched off."""
    adk = Adk("refusals-no-content", content="none")
    adk.turn("Read the wind and grade the flour.", [Run("miller", REFUSALS, EAGER)])
    return adk


def handed_over() -> Adk:
    """The agent hands the conversation to another one with skills of its own, which keeps it in the next turn."""
    only = CATALOG.replace("stone-dressing", "bread-scoring")
    transfer = Call("transfer_to_agent", {"agent_name": "baker"}, {"result": None}, "TransferToAgentTool")
    first = Run("miller", [Round("The baker knows.", [transfer])], EAGER)
    adk = Adk("handed-over", content="events")
    adk.turn(
        "Grade this dough.", [first, Run("baker", [Round("", [load("flour-grading")]), Round("Grade two.")], only)]
    )
    adk.turn("And this one?", [Run("baker", [Round("Grade three.")], only)])
    return adk


def handed_over_schema_1() -> Adk:
    """The same in schema 1."""
    adk = Adk("handed-over-schema-1", schema=1, content="spans")
    transfer = Call("transfer_to_agent", {"agent_name": "baker"}, {"result": None}, "TransferToAgentTool")
    first = Run("miller", [Round("The baker knows.", [transfer])], EAGER)
    adk.turn("Grade this dough.", [first, Run("baker", [Round("", [load("flour-grading")]), Round("Grade two.")])])
    adk.turn("And this one?", [Run("baker", [Round("Grade three.")])])
    return adk


def killed() -> Adk:
    """The process dies in the second turn, while the second agent works: no agent's span arrives."""
    transfer = Call("transfer_to_agent", {"agent_name": "baker"}, {"result": None}, "TransferToAgentTool")
    adk = Adk("killed", content="both")
    adk.turn("Good morning!", [Run("miller", [Round("Good morning.")], EAGER)])
    working = Run("baker", [Round("", [weigh("A", 40)])], "Bake well.")
    adk.turn("Bake something.", [Run("miller", [Round("", [transfer])], EAGER), working], killed=True)
    return adk


def raised() -> Adk:
    """A tool raises, which ends the run."""
    adk = Adk("raised", content="both")
    adk.turn(
        "Weigh it.", [Run("miller", [Round("", [Call("weigh", {"sack": "A"}, raises="the scale is gone")])], LAZY)]
    )
    return adk


SCENARIOS: dict[str, Callable[[], Adk]] = {
    scenario.__name__.replace("_", "-"): scenario
    for scenario in (
        schema_1,
        schema_1_logs,
        schema_1_no_content,
        schema_2_events,
        schema_2_spans,
        refusals,
        refusals_no_content,
        handed_over,
        handed_over_schema_1,
        killed,
        raised,
    )
}


if __name__ == "__main__":
    write_scenarios(FIXTURES, SCENARIOS, "Google ADK (Python) 2.13.0", "tests/fakes/google_adk.py")
