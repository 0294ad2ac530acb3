"""Conversations with Codex, played by the stand-in.

`python -m tests.fakes.codex_scenarios` writes them under `tests/fixtures/codex/`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.fakes.codex import Call, Codex, Profile, Turn

FIXTURES = Path(__file__).parents[1] / "fixtures" / "codex"
ROOT = "/srv/dock/.agents/skills"
FULL = Profile()
OLD = Profile(version="0.148.0")


def skill_file(name: str) -> str:
    return f"---\nname: {name}\ndescription: How the dock does {name}.\n---\n\n# {name}\n\n1. Read the tide table.\n"


def load(name: str, **fields: object) -> Call:
    """A read of the skill's file that Codex announces."""
    given = {"output": skill_file(name), "skill": name} | fields
    return Call({"cmd": f"sed -n '1,200p' {ROOT}/{name}/SKILL.md"}, **given)  # type: ignore[arg-type]


def sh(command: str, output: str = "", **fields: object) -> Call:
    return Call({"cmd": command}, output, **fields)  # type: ignore[arg-type]


BERTH = (
    Turn([load("berth-plan")]),
    Turn([sh("bin/tides today", "high 06:10 low 12:25\n")]),
    Turn(text="Berth 3 is free at high water, 06:10."),
)
ASK = "Where can the Petrel lie tomorrow?"


def skill_then_tool(profile: Profile = FULL) -> Codex:
    """A skill is read, then a command is run."""
    codex = Codex("skill-then-tool", profile)
    codex.prompt(ASK, BERTH)
    return codex


def logs_only() -> Codex:
    """The same without spans and with the default content switches: no prompt, no answer, no trace ids."""
    return skill_then_tool(Profile(spans=False, prompts=False, answers=False))


def traces_only() -> Codex:
    """The same without records: names, ids and times only."""
    return skill_then_tool(Profile(records=False))


def older_version() -> Codex:
    """The same from 0.148.0: no skill event, no answer, fewer attributes."""
    return skill_then_tool(OLD)


def code_mode() -> Codex:
    """The same with a script around every call; each tool is recorded twice."""
    codex = Codex("code-mode", code_mode=True)
    codex.prompt(ASK, BERTH)
    return codex


def unknown_skill() -> Codex:
    """A skill that is not there: its file cannot be read, which Codex counts as success."""
    codex = Codex("unknown-skill")
    missing = f"sed: can't read {ROOT}/knot-chart/SKILL.md: No such file or directory\n"
    codex.prompt(
        "Use knot-chart.", [Turn([load("knot-chart", output=missing, exit_code=2, skill=None)]), Turn(text="No.")]
    )
    return codex


def denied_by_rule() -> Codex:
    """A rule forbids the read after Codex has announced it."""
    codex = Codex("denied-by-rule")
    said = 'exec_command failed: CreateProcess { message: "Rejected(\\"`sed` rejected: The skills are locked.\\")" }'
    codex.prompt(ASK, [Turn([load("berth-plan", output=said, ending="rejected")]), Turn(text="I may not.")])
    return codex


def parallel_loads() -> Codex:
    """Two skills are read in one turn; the second read ends first."""
    codex = Codex("parallel-loads", Profile(spans=False))
    both = [load("berth-plan"), load("crane-hours")]
    codex.prompt("Plan berth and crane.", [Turn(both), Turn(text="Berth 3, crane at seven.")])
    return codex


def mentioned() -> Codex:
    """The person mentions a skill, whose text is put into the prompt: nothing is read."""
    codex = Codex("mentioned")
    codex.prompt("$berth-plan for the Petrel", [Turn(text="Berth 3.")], mentioned=["berth-plan"])
    return codex


def mentioned_older_version() -> Codex:
    """The same from 0.148.0, where only a span tells that a skill was put in, and the prompt which."""
    codex = Codex("mentioned-older-version", OLD)
    codex.prompt("$berth-plan for the Petrel", [Turn(text="Berth 3.")], mentioned=["berth-plan"])
    return codex


def script_only() -> Codex:
    """A script of a skill is run and its instructions are never read; Codex announces the skill all the same."""
    codex = Codex("script-only")
    codex.prompt("Count the crates.", [Turn([sh(f"bash {ROOT}/crates/scripts/count.sh", "9\n", skill="crates")])])
    return codex


def read_after_cd() -> Codex:
    """The file is read by a relative path, which Codex does not notice."""
    codex = Codex("read-after-cd")
    command = f"cd {ROOT}/berth-plan && cat SKILL.md"
    codex.prompt(ASK, [Turn([sh(command, skill_file("berth-plan"))]), Turn(text="Berth 3.")])
    return codex


def cut_output() -> Codex:
    """The skill's text is longer than Codex records."""
    codex = Codex("cut-output")
    codex.prompt(ASK, [Turn([load("berth-plan", is_cut=True)]), Turn(text="Berth 3.")])
    return codex


def tool_error_and_retry() -> Codex:
    """A command fails, an escalation is rejected, an MCP tool fails, and the service is overloaded once."""
    codex = Codex("tool-error-and-retry")
    policy = "approval policy is Never; reject command"
    mcp = Call({"ship": "Petrel"}, "no such ship", name="draught", namespace="mcp__register", ending="failed")
    codex.prompt(
        ASK,
        [
            Turn([sh("bin/berth 3.5", "berth: whole numbers only\n", exit_code=2)]),
            Turn([sh("bin/berth 3", policy, ending="rejected"), mcp], statuses=[503]),
            Turn(text="Neither the berth nor the draught can be had."),
        ],
    )
    return codex


def two_turns() -> Codex:
    """The conversation is resumed by another process."""
    codex = Codex("two-turns")
    codex.prompt(ASK, BERTH)
    codex.resume()
    codex.prompt("And the crane?", [Turn([load("crane-hours")]), Turn(text="From seven.")])
    return codex


def killed() -> Codex:
    """The process is killed while the skill is being read."""
    codex = Codex("killed")
    codex.prompt(ASK, [Turn([load("berth-plan", ending="unfinished")])], killed=True)
    return codex


def sub_agent() -> Codex:
    """The conversation of a sub-agent, which is a session of its own."""
    codex = Codex("sub-agent", agent="Gannet", parent="the-conversation-above")
    codex.prompt("Find a berth.", [Turn([load("berth-plan")]), Turn(text="Berth 3.")])
    return codex


SCENARIOS: dict[str, Callable[[], Codex]] = {
    scenario.__name__.replace("_", "-"): scenario
    for scenario in (
        skill_then_tool,
        logs_only,
        traces_only,
        older_version,
        code_mode,
        unknown_skill,
        denied_by_rule,
        parallel_loads,
        mentioned,
        mentioned_older_version,
        script_only,
        read_after_cd,
        cut_output,
        tool_error_and_retry,
        two_turns,
        killed,
        sub_agent,
    )
}


if __name__ == "__main__":
    for name, play in SCENARIOS.items():
        codex = play()
        harness = f"Codex {codex.profile.version}"
        codex.tape.write(FIXTURES / name, play.__doc__ or "", harness, "tests/fakes/codex.py")
