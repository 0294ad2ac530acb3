"""`spanjudge gate`: may this agent version go on, measured against a baseline?"""

from __future__ import annotations

from typing import Annotated

import typer

from collector.commands.baseline_choice import baseline_named
from collector.commands.candidate import candidate
from collector.commands.files import ConfigFile, DataDir, config_of
from collector.commands.gates_view import gate_lines
from collector.commands.output import json_text
from collector.commands.selection import BAD_INPUT, FAILED, NOT_ENOUGH, bad_input_exits_with_2, report_problems
from collector.commands.session_options import (
    MOST_STORED,
    AgentVersion,
    AsJson,
    AskJudge,
    BaselineName,
    Files,
    Limit,
    Service,
    Since,
    Stored,
    SuiteFiles,
    of_service,
    selection_of,
)
from collector.commands.stored import open_store, run_with
from collector.commands.terminal import console, safe, styled
from collector.offline_answers import judge_gate
from collector.store.baselines import Baseline, KeptSession
from collector.suite_report import against, gate_document
from judge.case_results import case_results
from judge.describe import plural
from judge.gates import Status, forbidden_gate, high_risk_gate

FORMAT = 1


def gate(
    files: Files = None,
    stored: Stored = False,
    baseline: BaselineName = None,
    suite: SuiteFiles = None,
    service: Service = None,
    agent_version: AgentVersion = None,
    since: Since = None,
    limit: Limit = MOST_STORED,
    judge: AskJudge = False,
    level: Annotated[
        float | None,
        typer.Option(help="Chance of a false alarm. Default: gates.level of the configuration.", min=0.0, max=1.0),
    ] = None,
    min_sample: Annotated[
        int | None, typer.Option(help="Least sessions on both sides. Default: gates.min_sample.", min=1)
    ] = None,
    as_json: AsJson = False,
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
) -> None:
    """Say whether sessions are as good as those of a baseline.

    The share of sessions that pass is compared for each evaluator by Fisher's exact test, one-sided, with Holm's
    correction: all rates together raise a false alarm in at most 5 of 100 cases (--level). A rate is tested only with
    enough sessions on both sides (--min-sample), and only where it was measured alike: by the same version of the
    evaluator, the same prompt and the same judge. Two rules need no statistics: every case of high risk is right, and
    nothing forbidden happened.

    \b
    Examples:
      spanjudge gate recordings/ --baseline v7 --suite suites/desk.yaml
      spanjudge gate --stored --service desk --agent-version 8 --since 24h -c spanjudge.yaml

    \b
    Exits with
      0  nothing fell, and both absolute rules hold
      1  a rate fell, a case of high risk is not right, or something forbidden happened
      2  the input cannot be used, or the judge answered nothing
      3  nothing fell that could be seen, but there is not enough data, or not enough answers of the judge, to tell
    """
    with bad_input_exits_with_2():
        config = config_of(config_file, data_dir)
        changed = {"level": level, "min_sample": min_sample}
        settings = config.gates.model_copy(update={key: value for key, value in changed.items() if value is not None})
        rules = settings.rules()
        selection = selection_of(files, stored, service, agent_version, since, limit)
        store = open_store(config_file, data_dir)

        async def find() -> tuple[Baseline, list[KeptSession]]:
            found = await baseline_named(store, baseline, service)
            return found, await store.baselines.sessions(found.name)

        chosen, kept = run_with(store, find)
        found = candidate(of_service(selection, chosen.service), suite, config_file, data_dir, judge=judge)
        report_problems(found.problems, found.remarks)
    results = case_results(found.judged, found.high_risk, config.composite.rules())
    compared = against(kept, found.judged, rules)
    absolute = (high_risk_gate(results, found.unmatched), forbidden_gate(found.judged))
    answered = () if found.asked is None else (judge_gate(found.asked),)
    gates = (compared, *absolute, *answered)
    if as_json:
        document = {
            "format": FORMAT,
            "baseline": chosen.name,
            "sessions": len(found.sessions),
            "gates": [gate_document(one) for one in gates],
        }
        typer.echo(json_text(document), nl=False)
    else:
        screen = console()
        screen.print(styled(f"{plural(len(found.sessions), 'session')} against baseline ", (safe(chosen.name), "cyan")))
        for line in gate_lines(gates):
            screen.print(line)
    if any(one.status is Status.FAILED for one in gates):
        raise typer.Exit(FAILED)
    if found.problems:
        raise typer.Exit(BAD_INPUT)
    if any(one.status is Status.UNDECIDED for one in absolute):
        raise typer.Exit(FAILED)
    if any(one.status is Status.UNDECIDED for one in gates):
        raise typer.Exit(NOT_ENOUGH)
