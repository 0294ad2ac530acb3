"""`spanjudge suite`: expectations, held against recordings or stored sessions, and grown from failures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from collector.commands.baseline_choice import sessions_of_baseline
from collector.commands.files import ConfigFile, DataDir, config_of, fail, rules_of
from collector.commands.gates_view import run_lines
from collector.commands.output import STANDARD_OUTPUT, json_text, write
from collector.commands.selection import (
    BAD_INPUT,
    FAILED,
    Chosen,
    bad_input_exits_with_2,
    choose_sessions,
    report_problems,
    with_suites,
)
from collector.commands.session_options import (
    MOST_STORED,
    AgentVersion,
    AskJudge,
    Files,
    Limit,
    Service,
    Since,
    Stored,
    SuiteFiles,
    selection_of,
)
from collector.commands.stored import open_store, run_with
from collector.commands.suite_add import suite_add
from collector.commands.terminal import console
from collector.store.baselines import KeptSession
from collector.suite_report import document, junit, run_of
from judge.gates import Status

suite_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Hold sessions against what you expect of them, and make cases of what went wrong.

    \b
    Examples:
      spanjudge suite run recordings/ --suite suites/desk.yaml
      spanjudge suite add 4711 --suite suites/desk.yaml --expect refunds
    """,
)


suite_app.command("add")(suite_add)


@suite_app.command("run")
def suite_run(
    files: Files = None,
    stored: Stored = False,
    suite: SuiteFiles = None,
    service: Service = None,
    agent_version: AgentVersion = None,
    since: Since = None,
    limit: Limit = MOST_STORED,
    judge: AskJudge = False,
    baseline: Annotated[
        str | None, typer.Option(help="Also: no rate may have fallen against this baseline.", metavar="NAME")
    ] = None,
    require_all: Annotated[
        bool, typer.Option("--require-all", help="A case that no session falls under is a failure.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the results as JSON; - for standard output.", metavar="FILE")
    ] = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", help="Write the results as JUnit XML.", metavar="FILE")
    ] = None,
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
) -> None:
    """Judge recorded or stored sessions by suites, as the server would, and say whether all gates pass.

    Code decides unless --judge is given, so a run costs nothing and is the same every time. A case passes when its
    composite does and it is within its budgets, without anything forbidden. The gates: enough cases pass, every case
    of high risk is right, nothing forbidden happened at all, adherence reaches its threshold, and with --baseline no
    rate fell beyond chance. Thresholds are in the configuration, under gates. A case of high risk that no session
    falls under leaves its gate open. With --judge, an evaluator without a single answer leaves one open, too.

    For stored sessions, what a judge found before counts where it was measured as this configuration would: the same
    version, prompt and model. With --judge, only the rest is asked.

    \b
    Examples:
      spanjudge suite run recordings/ --suite suites/desk.yaml
      spanjudge suite run recordings/ -c spanjudge.yaml --junit results.xml --json results.json
      spanjudge suite run --stored --service desk --since 24h -c spanjudge.yaml
      ANTHROPIC_API_KEY=... spanjudge suite run recordings/ --suite suites/desk.yaml --judge

    \b
    Exits with
      0  every gate passed
      1  a gate failed, or could not be decided
      2  the input cannot be used: no sessions, a damaged file, a mistake in a suite or option; or the judge answered
         nothing
    """
    with bad_input_exits_with_2():
        selection = selection_of(files, stored, service, agent_version, since, limit)
        config = with_suites(config_of(config_file, data_dir), suite)
        rules = rules_of(config, config_file)
        if not rules.suites:
            raise fail("no suite: name one with --suite, or list them under suites in the configuration")
        needs_store = stored or baseline is not None
        store = open_store(config_file, data_dir) if needs_store else None

        async def find() -> tuple[Chosen, list[KeptSession] | None]:
            chosen = await choose_sessions(selection, store, config, rules, judge=judge)
            kept = None if store is None or baseline is None else await sessions_of_baseline(store, baseline)
            return chosen, kept

        chosen, kept = run_with(store, find)
        report_problems(chosen.problems, chosen.remarks)
        if not chosen.examined:
            raise fail("there is no session to judge" + (" in the files" if files else " that fits"))
        composite, gates = config.composite.rules(), config.gates.rules()
        run = run_of(
            chosen.examined,
            rules.suites,
            composite,
            gates,
            baseline=kept,
            require_all=require_all,
            asked=chosen.asked,
        )
        if junit_file is not None:
            write(junit_file, junit(run))
        if json_file is not None:
            write(json_file, json_text(document(run)))
    if json_file != STANDARD_OUTPUT:
        screen = console()
        for line in run_lines(run):
            screen.print(line)
    if any(gate.status is Status.FAILED for gate in run.gates):
        raise typer.Exit(FAILED)
    if chosen.problems:
        raise typer.Exit(BAD_INPUT)
    if not run.passed:
        raise typer.Exit(FAILED)
