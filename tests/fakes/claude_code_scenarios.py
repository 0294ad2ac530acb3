"""Conversations with Claude Code, played by the stand-in.

`python -m tests.fakes.claude_code_scenarios` writes them under `tests/fixtures/claude_code/`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.fakes.claude_code import FULL, NO_CONTENT, Call, Cli, Profile, Request
from tests.fakes.provenance import front_matter

FIXTURES = Path(__file__).parents[1] / "fixtures" / "claude_code"

CATALOG = (
    ("sourdough-plan", "Plan a loaf backwards from the hour it must be ready."),
    ("price-list", "Write the day's price board from the ledger.\nUse whole cents."),
    ("bakery:allergens", "Check a recipe for allergens."),
)
SKILL_TEXT = (
    "Base directory for this skill: /srv/bakery/.claude/skills/{name}\n\n# {name}\n\n1. Read the ledger.\n"
    "2. Write one line per bread.\n\n\nARGUMENTS: today"
)


def skill(name: str, **fields: object) -> Call:
    answer = f"Launching skill: {name}"
    return Call("Skill", {"skill": name}, **({"answer": answer} | fields))  # type: ignore[arg-type]


def bash(command: str, output: str = "", **fields: object) -> Call:
    held = {"bash_command": command, "output": output}
    return Call("Bash", {"command": command, "description": "Look"}, output, held, **fields)  # type: ignore[arg-type]


def read(path: str, content: str, **fields: object) -> Call:
    numbered = "\n".join(f"{at}\t{line}" for at, line in enumerate(content.split("\n"), 1))
    held = {"file_path": path, "content": content}
    return Call("Read", {"file_path": path}, numbered, held, **fields)  # type: ignore[arg-type]


def unknown(name: str) -> Call:
    return skill(name, ending="invalid", error=f"Unknown skill: {name}")


PRICES = (
    Request("The price-list skill fits.", [skill("price-list")], skill_text=SKILL_TEXT.format(name="price-list")),
    Request("", [bash("cat ledger.csv", "rye,4.20\nspelt,5.10"), read("/srv/bakery/date.txt", "2031-05-06")]),
    Request("Rye 4.20, spelt 5.10."),
)
ASK_PRICES = "Write today's price board."

UNKNOWN_FIRST = (
    Request("I will take board-writer.", [unknown("board-writer")]),
    Request(
        "There is none; price-list comes near.",
        [skill("price-list")],
        skill_text=SKILL_TEXT.format(name="price-list"),
    ),
    Request("Rye 4.20, spelt 5.10."),
)


def skill_then_tools(profile: Profile = FULL) -> Cli:
    """A skill is loaded, then Bash and Read are used in one turn; every content switch but bodies is on."""
    cli = Cli("skill-then-tools", profile, CATALOG)
    cli.prompt(ASK_PRICES, PRICES)
    return cli


def skill_then_tools_raw_bodies() -> Cli:
    """The same with the bodies of API requests and responses in the records."""
    return skill_then_tools(Profile(bodies=True))


def no_content() -> Cli:
    """The same with every content switch off: no texts, no names, no arguments."""
    return skill_then_tools(NO_CONTENT)


def logs_only() -> Cli:
    """The same without spans: no trace ids anywhere."""
    return skill_then_tools(Profile(spans=False))


def older_cli() -> Cli:
    """The same from CLI 2.1.197: fewer attributes, tool records without request ids."""
    return skill_then_tools(Profile(version="2.1.197"))


def unknown_skill(profile: Profile = FULL) -> Cli:
    """A skill that does not exist is asked for, which leaves nothing but a silent turn; then one that does."""
    cli = Cli("unknown-skill", profile, CATALOG)
    cli.prompt(ASK_PRICES, UNKNOWN_FIRST)
    return cli


def unknown_skill_raw_bodies() -> Cli:
    """The same with API bodies in the records, which hold the refused call and its text."""
    return unknown_skill(Profile(bodies=True))


def unknown_skill_detailed() -> Cli:
    """The same with detailed tracing, whose next request holds the refusal's text."""
    return unknown_skill(Profile(detailed=True))


def denied_by_rule(profile: Profile = FULL) -> Cli:
    """A rule of the settings rejects the skill."""
    cli = Cli("denied-by-rule", profile, CATALOG)
    denied = skill("price-list", ending="rejected", answer="This skill is blocked by a rule.")
    cli.prompt(ASK_PRICES, [Request("Taking price-list.", [denied]), Request("I may not do that here.")])
    return cli


def denied_by_rule_detailed() -> Cli:
    """The same with detailed tracing."""
    return denied_by_rule(Profile(detailed=True))


def two_turns() -> Cli:
    """Two prompts in two processes, the second resuming the session."""
    cli = Cli("two-turns", FULL, CATALOG)
    cli.prompt(ASK_PRICES, PRICES)
    cli.resume()
    plan = [Request("", [skill("sourdough-plan")]), Request("Start at noon.")]
    cli.prompt("And when must the dough start for seven?", plan)
    return cli


def sub_agents() -> Cli:
    """Two sub-agents; one loads a skill, the other is refused one."""
    cli = Cli("sub-agents", FULL, CATALOG)
    loads = [Request("", [skill("price-list", answer="Launching skill: price-list")]), Request("Board is written.")]
    denied = [Request("", [skill("sourdough-plan", ending="rejected")]), Request("Not allowed.")]
    first = Call("Agent", {"prompt": "Write the board.", "subagent_type": "writer"}, inside=loads, agent="a1")
    second = Call("Agent", {"prompt": "Plan a loaf.", "subagent_type": "planner"}, inside=denied, agent="a2")
    cli.prompt("Let helpers do board and plan.", [Request("", [first, second]), Request("Board yes, plan no.")])
    return cli


def forked_skill() -> Cli:
    """A skill that runs as an agent of its own."""
    cli = Cli("forked-skill", FULL, CATALOG)
    inside = [Request("", [bash("wc -l ledger.csv", "2")]), Request("Two breads.")]
    cli.prompt("Count the breads.", [Request("", [skill("count", inside=inside, agent="f1")]), Request("Two.")])
    return cli


def skill_file_read() -> Cli:
    """SKILL.md is read with Read instead of asking for the skill."""
    cli = Cli("skill-file-read", FULL, CATALOG)
    text = "---\nname: price-list\ndescription: Write the day's price board.\n---\n# Prices\n\nWhole cents only."
    path = "/srv/bakery/.claude/skills/price-list/SKILL.md"
    cli.prompt(ASK_PRICES, [Request("", [read(path, text)]), Request("Rye 4.20.")])
    return cli


def tool_error_and_retry() -> Cli:
    """A command fails, the same tool then works; one call names a tool that does not exist."""
    cli = Cli("tool-error-and-retry", FULL, CATALOG)
    fails = bash("cat ledgr.csv", ending="failed", error="Shell command failed")
    no_tool = Call("Oven", {}, ending="invalid", error="No such tool available: Oven")
    turns = [Request("", [fails]), Request("", [no_tool]), Request("A typo.", [bash("cat ledger.csv", "rye,4.20")])]
    cli.prompt("Show the ledger.", [*turns, Request("Rye costs 4.20.")])
    return cli


def slash_command() -> Cli:
    """The person starts a skill by name."""
    cli = Cli("slash-command", FULL, CATALOG)
    cli.prompt("/price-list today", [Request("Rye 4.20.")], command="price-list")
    return cli


def api_error() -> Cli:
    """The service refuses the second request for good."""
    cli = Cli("api-error", FULL, CATALOG)
    cli.prompt(ASK_PRICES, [PRICES[0], Request(failed="prompt is too long")])
    return cli


def killed() -> Cli:
    """The process is killed while a command runs: its span and the interaction never arrive."""
    cli = Cli("killed", FULL, CATALOG)
    cli.prompt("Bake.", [Request("Baking.", [bash("sleep 9000", ending="unfinished")])], killed=True)
    return cli


def mcp_tool() -> Cli:
    """Two calls of an MCP tool, one of which fails."""
    cli = Cli("mcp-tool", FULL, CATALOG)
    good = Call("mcp__mill__stock", {"flour": "rye"}, "12 sacks", {"output": "12 sacks"})
    bad = Call("mcp__mill__stock", {"flour": "oat"}, ending="failed", error="no oat here")
    cli.prompt("How much flour is there?", [Request("", [good, bad]), Request("Twelve sacks of rye.")])
    return cli


SCENARIOS: dict[str, Callable[[], Cli]] = {
    scenario.__name__.replace("_", "-"): scenario
    for scenario in (
        skill_then_tools,
        skill_then_tools_raw_bodies,
        no_content,
        logs_only,
        older_cli,
        unknown_skill,
        unknown_skill_raw_bodies,
        unknown_skill_detailed,
        denied_by_rule,
        denied_by_rule_detailed,
        two_turns,
        sub_agents,
        forked_skill,
        skill_file_read,
        tool_error_and_retry,
        slash_command,
        api_error,
        killed,
        mcp_tool,
    )
}


def write_all() -> None:
    """Write every scenario's export requests and provenance; expectations are not touched."""
    for name, play in SCENARIOS.items():
        directory = FIXTURES / name
        directory.mkdir(parents=True, exist_ok=True)
        for file in [*directory.glob("traces-*.json"), *directory.glob("logs-*.json")]:
            file.unlink()
        counts = {"traces": 0, "logs": 0}
        cli = play()
        for signal, request in cli.requests():
            counts[signal] += 1
            text = json.dumps(request, indent=1, ensure_ascii=False)
            (directory / f"{signal}-{counts[signal]:02}.json").write_text(text + "\n", encoding="utf-8")
        told = (play.__doc__ or "").strip()
        (directory / "provenance.md").write_text(
            front_matter(directory) + f"# {name}\n\n{told}\n\n- Harness: Claude Code {cli.profile.version}.\n"
            "- Played by `tests/fakes/claude_code.py`: names, nesting, value types and order are those of recorded\n"
            "  exports of that version; every text, name, id, number and time is invented.\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    write_all()
