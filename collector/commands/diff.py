"""`spanjudge diff`: what sessions do differently from a baseline, trajectory by trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from rich.text import Text

from collector.commands.baseline_choice import baseline_named
from collector.commands.candidate import candidate
from collector.commands.files import ConfigFile, DataDir, config_of, fail
from collector.commands.output import json_text
from collector.commands.selection import BAD_INPUT, FAILED, bad_input_exits_with_2, report_problems
from collector.commands.session_options import (
    MOST_STORED,
    AgentVersion,
    AsJson,
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
from collector.commands.terminal import console, safe, short, styled
from collector.judge_building import redaction_of
from collector.offline import judged_session
from collector.store.baselines import Baseline, KeptSession
from judge.case_results import JudgedSession
from judge.pairing import Pairs, pair
from judge.redaction import Redaction
from judge.trajectory_diff import Difference, Tolerance, differences

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Compared:
    """One pair, and what is different in it."""

    name: str
    before: JudgedSession
    after: JudgedSession
    differences: tuple[Difference, ...]

    @property
    def regression(self) -> bool:
        return any(one.regression for one in self.differences)


def diff(
    files: Files = None,
    stored: Stored = False,
    baseline: BaselineName = None,
    suite: SuiteFiles = None,
    service: Service = None,
    agent_version: AgentVersion = None,
    since: Since = None,
    limit: Limit = MOST_STORED,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Arguments that differ by nature, as a pattern of tool.argument; may be given again."),
    ] = None,
    slower_share: Annotated[
        float, typer.Option(help="Slower only counts past this share of the baseline's time ...", min=0)
    ] = 0.25,
    slower_seconds: Annotated[float, typer.Option(help="... and past so many seconds.", min=0)] = 1.0,
    as_json: AsJson = False,
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
) -> None:
    """Compare sessions with those of a baseline: tools added, removed or reordered, arguments changed, more steps, new
    recovery loops, more time. Each is a regression, also where the answer still passes.

    Sessions are set side by side by case and task; what has no counterpart is listed. Fewer steps, fewer recovery
    loops and less time are told and are no regression.

    \b
    Examples:
      spanjudge diff recordings/ --baseline v7 --suite suites/desk.yaml
      spanjudge diff --stored --service desk --agent-version 8 --since 24h
      spanjudge diff recordings/ --ignore "*.request_id" --ignore "search.now"

    \b
    Exits with
      0  no regression
      1  a regression
      2  the input cannot be used, or no session has a counterpart in the baseline
    """
    with bad_input_exits_with_2():
        selection = selection_of(files, stored, service, agent_version, since, limit)
        store = open_store(config_file, data_dir)

        async def find() -> tuple[Baseline, list[KeptSession]]:
            found = await baseline_named(store, baseline, service)
            return found, await store.baselines.sessions(found.name)

        against, kept = run_with(store, find)
        found = candidate(of_service(selection, against.service), suite, config_file, data_dir, judge=False)
        report_problems(found.problems, found.remarks)
        paired = pair([judged_session(one) for one in kept], found.judged)
        if not paired.pairs:
            raise fail(f"no session has a counterpart of the same case or task in baseline {safe(against.name)}")
    compared = compare_all(paired, Tolerance(slower_share, slower_seconds, tuple(ignore or ())))
    redaction = redaction_of(config_of(config_file, data_dir).judge)
    if as_json:
        typer.echo(json_text(document(against, compared, paired, redaction)), nl=False)
    else:
        screen = console()
        for line in _lines(against, compared, paired, redaction):
            screen.print(line)
    if any(one.regression for one in compared):
        raise typer.Exit(FAILED)
    if found.problems:
        raise typer.Exit(BAD_INPUT)


def compare_all(paired: Pairs, tolerance: Tolerance) -> list[Compared]:
    """Pairs without a trajectory on one side are left out: nothing can be said about them."""
    return [
        Compared(name, before, after, differences(before.trajectory, after.trajectory, tolerance))
        for name, before, after in paired.pairs
        if before.trajectory is not None and after.trajectory is not None
    ]


def document(baseline: Baseline, compared: Sequence[Compared], paired: Pairs, redaction: Redaction) -> dict[str, Any]:
    """The JSON document, without secrets; docs/baselines.md says what is in it."""
    return {
        "format": FORMAT,
        "baseline": baseline.name,
        "regression": any(one.regression for one in compared),
        "pairs": [
            {
                "name": redaction.text(one.name),
                "before": one.before.ref.session_id,
                "after": one.after.ref.session_id,
                "regression": one.regression,
                "differences": [
                    redaction.value({**asdict(each), "regression": each.regression, "text": str(each)})
                    for each in one.differences
                ],
            }
            for one in compared
        ],
        "only_in_baseline": [one.ref.session_id for one in paired.only_before],
        "only_now": [one.ref.session_id for one in paired.only_after],
    }


def _lines(baseline: Baseline, compared: Sequence[Compared], paired: Pairs, redaction: Redaction) -> Iterator[Text]:
    for one in compared:
        word = (
            ("WORSE", "bold red") if one.regression else ("other", "yellow") if one.differences else ("same ", "green")
        )
        ids = f"  {short(one.before.ref.session_id, 60)} → {short(one.after.ref.session_id, 60)}"
        yield styled(word, f"  {short(redaction.text(one.name), 100)}", (ids, "dim"))
        for each in one.differences:
            yield styled(
                "       ",
                (each.kind, "red" if each.regression else "dim"),
                f"  {short(redaction.text(str(each)), 1000)}",
            )
    for sessions, where in ((paired.only_before, "only in the baseline"), (paired.only_after, "only now")):
        for session in sessions:
            task = (session.trajectory.task if session.trajectory else None) or ""
            about = f"  {short(session.ref.session_id, 60)}  {short(redaction.cut_before(task, 80), 80)}"
            yield styled((f"{where}:", "dim"), about)
    worse = sum(one.regression for one in compared)
    yield styled((f"{worse} of {len(compared)} pairs are worse than in baseline {safe(baseline.name)}", "bold"))
