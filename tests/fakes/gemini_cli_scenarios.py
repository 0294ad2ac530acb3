"""Conversations with Gemini CLI, played by the stand-in.

`python -m tests.fakes.gemini_cli_scenarios` writes them under `tests/fixtures/gemini_cli/`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.fakes.gemini_cli import Call, Gemini, Profile, Turn

FIXTURES = Path(__file__).parents[1] / "fixtures" / "gemini_cli"
FULL = Profile()
CATALOG = (("net-mending", "Mend a net by its mesh size."), ("fish-prices", "Write the price board of the morning."))
NOT_ALLOWED = "params/name must be equal to one of the allowed values"


def skill_text(name: str) -> str:
    return (
        f'<activated_skill name="{name}">\n  <instructions>\n    # {name}\n\n1. Weigh first.\n2. Whole cents.\n'
        "  </instructions>\n\n  <available_resources>\n    SKILL.md\n  </available_resources>\n</activated_skill>"
    )


def load(name: str, **fields: object) -> Call:
    given = {"output": skill_text(name)} | fields
    return Call("activate_skill", {"name": name}, **given)  # type: ignore[arg-type]


def refused(name: str, error: str = NOT_ALLOWED, kind: str = "invalid_tool_params", ran: bool = False) -> Call:
    return Call("activate_skill", {"name": name}, error=error, error_type=kind, ran=ran)


def sh(command: str, output: str = "", **fields: object) -> Call:
    text = f"<untrusted_context>\nOutput: {output}\n</untrusted_context>"
    return Call("run_shell_command", {"command": command}, text, **fields)  # type: ignore[arg-type]


PRICES = (
    Turn("I will take the price skill.", [load("fish-prices")]),
    Turn(calls=[sh("bin/scale cod", "12 kg")]),
    Turn("Cod, 12 kg, at 9.40."),
)
ASK = "Write this morning's prices."


def skill_then_tool(profile: Profile = FULL) -> Gemini:
    """A skill is activated, then a command is run; everything is recorded."""
    gemini = Gemini("skill-then-tool", profile, CATALOG)
    gemini.prompt(ASK, PRICES)
    return gemini


def default_settings() -> Gemini:
    """The same at default settings: content in records only."""
    return skill_then_tool(Profile(traces=False))


def no_prompts() -> Gemini:
    """The same with `logPrompts: false`: not even the skill's name."""
    return skill_then_tool(Profile(content=False))


def logs_only() -> Gemini:
    """The same, records alone."""
    return skill_then_tool(Profile(spans=False))


def traces_only() -> Gemini:
    """The same, spans alone."""
    return skill_then_tool(Profile(records=False))


def refusals(profile: Profile = FULL) -> Gemini:
    """An unknown skill, one that a policy denies, an empty name; then one that is loaded, twice."""
    gemini = Gemini("refusals", profile, CATALOG)
    denied = refused("net-mending", "Tool execution denied by policy. Nets are for Monday.", "policy_violation")
    turns = [Turn(calls=[one]) for one in (refused("tide-table"), denied, refused(""))]
    again = Turn(calls=[load("fish-prices"), load("fish-prices")])
    gemini.prompt(ASK, [*turns, again, Turn("Cod at 9.40.")])
    return gemini


def refusals_no_prompts() -> Gemini:
    """The same with `logPrompts: false`: which calls were refused is known, their names are not."""
    return refusals(Profile(content=False))


def skills_off() -> Gemini:
    """Skills are switched off and the tool is there all the same: it runs and finds nothing."""
    gemini = Gemini("skills-off", FULL, None)
    call = refused("fish-prices", 'Skill "fish-prices" not found. Available skills are: ', ran=True)
    gemini.prompt(ASK, [Turn(calls=[call]), Turn("There are no skills here.")])
    return gemini


def parallel_loads() -> Gemini:
    """Two skills in one turn, each with its own text."""
    gemini = Gemini("parallel-loads", FULL, CATALOG)
    gemini.prompt(ASK, [Turn(calls=[load("fish-prices"), load("net-mending")]), Turn("Done.")])
    return gemini


def cut_content() -> Gemini:
    """A result so long that the spans' JSON is cut, and the records are lost."""
    gemini = Gemini("cut-content", Profile(records=False), CATALOG)
    text = skill_text("fish-prices").replace(
        "2. Whole cents.", "\n".join(f"{at}. Whole cents." for at in range(2, 700))
    )
    gemini.prompt(ASK, [Turn(calls=[load("fish-prices", output=text)]), Turn("Cod at 9.40.")])
    return gemini


def tool_error_and_retry() -> Gemini:
    """A command fails, an MCP tool fails, and the service is overloaded once."""
    gemini = Gemini("tool-error-and-retry", FULL, CATALOG)
    mcp = Call("mcp_harbour_berth", {"boat": "Tern"}, error="no such boat", error_type="mcp_tool_error")
    failing = sh("bin/scale 1.5", "whole kilos only\nExit Code: 2", exit_code=2)
    overloaded = Turn(failed='{"error":{"code":503,"message":"busy"}}')
    gemini.prompt(ASK, [Turn(calls=[failing]), overloaded, Turn(calls=[mcp]), Turn("I cannot tell.")])
    return gemini


def two_turns() -> Gemini:
    """The session is resumed by another process; histories repeat the first turn."""
    gemini = Gemini("two-turns", FULL, CATALOG)
    gemini.prompt(ASK, PRICES)
    gemini.resume()
    gemini.prompt("And mend the net.", [Turn(calls=[load("net-mending"), sh("bin/mesh", "40 mm")]), Turn("Mended.")])
    return gemini


def sub_agent() -> Gemini:
    """A sub-agent loads the skill; its calls, steps and texts are not the main agent's."""
    gemini = Gemini("sub-agent", FULL, CATALOG)
    inside = [Turn(calls=[load("net-mending")]), Turn("The mesh is 40 mm.")]
    asked = Call("invoke_agent", {"agent_name": "mender"}, "40 mm", agent="mender", inside=inside)
    gemini.prompt("How wide is the mesh?", [Turn(calls=[asked]), Turn("40 mm.")])
    return gemini


def killed() -> Gemini:
    """The process is killed after the model asked for a skill."""
    gemini = Gemini("killed", FULL, CATALOG)
    gemini.prompt(ASK, [Turn(calls=[load("fish-prices")], killed=True)])
    return gemini


SCENARIOS: dict[str, Callable[[], Gemini]] = {
    scenario.__name__.replace("_", "-"): scenario
    for scenario in (
        skill_then_tool,
        default_settings,
        no_prompts,
        logs_only,
        traces_only,
        refusals,
        refusals_no_prompts,
        skills_off,
        parallel_loads,
        cut_content,
        tool_error_and_retry,
        two_turns,
        sub_agent,
        killed,
    )
}


if __name__ == "__main__":
    for name, play in SCENARIOS.items():
        told = play.__doc__ or ""
        play().tape.write(FIXTURES / name, told, "Gemini CLI 0.61.0", "tests/fakes/gemini_cli.py")
