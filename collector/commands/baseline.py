"""`spanjudge baseline`: sessions of an agent version, kept to compare later ones with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from collector.attribution import version_of
from collector.clock import SystemClock
from collector.commands.baseline_choice import baseline_named
from collector.commands.candidate import candidate
from collector.commands.files import ConfigFile, DataDir, fail
from collector.commands.output import json_text
from collector.commands.selection import bad_input_exits_with_2, report_problems
from collector.commands.session_options import (
    MOST_STORED,
    AgentVersion,
    AsJson,
    AskJudge,
    Files,
    Limit,
    Service,
    Since,
    Stored,
    SuiteFiles,
    selection_of,
)
from collector.commands.sessions import time_text
from collector.commands.stored import open_existing_to_write, open_store, open_to_write, run_with
from collector.commands.terminal import NOT_RECORDED, console, safe, short, styled
from collector.offline import judged_session
from collector.store.baselines import Baseline, KeptSession
from judge.case_results import session_counts
from judge.describe import plural

baseline_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Keep what an agent version did, and compare later versions with it.

    The current baseline of a service is the one promoted last. Live traffic is compared with it in the metric
    spanjudge_baseline_delta; spanjudge diff and spanjudge gate compare by name or with the current one.

    \b
    Examples:
      spanjudge baseline save v7 recordings/ --suite suites/desk.yaml
      spanjudge baseline save v7 --stored --service desk --agent-version 7 --since 7d
      spanjudge baseline promote v7
      spanjudge baseline list
    """,
)

Name = Annotated[str, typer.Argument(help="Name of the baseline.", metavar="NAME")]


@baseline_app.command("save")
def baseline_save(
    name: Name,
    files: Files = None,
    stored: Stored = False,
    suite: SuiteFiles = None,
    service: Service = None,
    agent_version: AgentVersion = None,
    since: Since = None,
    limit: Limit = MOST_STORED,
    judge: AskJudge = False,
    note: Annotated[str, typer.Option(help="A remark for people.")] = "",
    promote: Annotated[bool, typer.Option("--promote", help="Make it the current one of its service.")] = False,
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
) -> None:
    """Keep sessions of one agent version, with their trajectories and verdicts, under a name.

    Recordings are judged first, by code unless --judge is given; stored sessions keep the verdicts they have. All
    must be of one service. The baseline is a copy: it stays when its sessions are purged.

    \b
    Examples:
      spanjudge baseline save v7 recordings/ --suite suites/desk.yaml --promote
      spanjudge baseline save v7 --stored --service desk --agent-version 7 --since 7d -c spanjudge.yaml

    Exits with 2 when the name is taken, no session fits, they are of several services, or the judge answered nothing.
    """
    with bad_input_exits_with_2():
        selection = selection_of(files, stored, service, agent_version, since, limit)
        found = candidate(selection, suite, config_file, data_dir, judge=judge)
        report_problems(found.problems, found.remarks)
        if found.problems:
            raise fail("a baseline of this would be one to mislead: nothing was saved")
        now_ns = SystemClock().now_ns()
        baseline = Baseline(name, _service(found.sessions), _version(found.sessions), now_ns, len(found.sessions), note)
        store = open_to_write(config_file, data_dir)

        async def save() -> bool:
            if not await store.baselines.save(baseline, found.sessions):
                return False
            return not promote or await store.baselines.promote(name, now_ns)

        if not run_with(store, save):
            raise fail(f"there is a baseline {safe(name)} already: choose another name, or delete it first")
    of = safe(baseline.agent_version) if baseline.agent_version is not None else NOT_RECORDED
    current = ", now the current one" if promote else ""
    what = f"{plural(len(found.sessions), 'session')} of {_named(baseline.service)}, version {of}{current}"
    typer.echo(f"saved {safe(name)}: {what}")


@baseline_app.command("list")
def baseline_list(
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the baselines, newest first; the current ones of their services are marked.

    \b
    Example:
      spanjudge baseline list -c spanjudge.yaml
    """
    with bad_input_exits_with_2():
        store = open_store(config_file, data_dir)
        found = run_with(store, store.baselines.all)
    if as_json:
        typer.echo(json_text({"baselines": [_document(one) for one in found]}), nl=False)
        return
    if not found:
        typer.echo("No baselines yet.", err=True)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("name", "service", "version", "saved (UTC)", "sessions", "current", "note"):
        table.add_column(column, justify="right" if column == "sessions" else "left", overflow="fold")
    for one in found:
        table.add_row(
            Text(safe(one.name), "cyan"),
            Text(_named(one.service)),
            Text(NOT_RECORDED if one.agent_version is None else short(one.agent_version, 60)),
            time_text(one.saved_ns),
            str(one.sessions),
            "" if one.promoted_ns is None else f"since {time_text(one.promoted_ns)}",
            Text(short(one.note, 120)),
        )
    console().print(table)


@baseline_app.command("show")
def baseline_show(
    name: Name,
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show one baseline: its pass rates by evaluator, and its sessions.

    \b
    Example:
      spanjudge baseline show v7 -c spanjudge.yaml
    """
    with bad_input_exits_with_2():
        store = open_store(config_file, data_dir)

        async def find() -> tuple[Baseline, list[KeptSession]]:
            found = await baseline_named(store, name, None)
            return found, await store.baselines.sessions(name)

        baseline, kept = run_with(store, find)
    counts = session_counts(map(judged_session, kept))
    if as_json:
        rates = {evaluator: {"passed": one.passed, "failed": one.failed} for evaluator, one in counts.items()}
        ids = [one.session.ref.session_id for one in kept]
        typer.echo(json_text({**_document(baseline), "rates": rates, "session_ids": ids}), nl=False)
        return
    screen = console()
    about = (
        _named(baseline.service),
        f"version {short(baseline.agent_version or 'not recorded', 80)}",
        short(baseline.note),
    )
    screen.print(styled((safe(baseline.name), "bold cyan"), "  " + ", ".join(filter(None, about))))
    for evaluator, one in sorted(counts.items()):
        screen.print(styled(f"  {evaluator:<28} {one.passed} of {plural(one.total, 'session')} passed"))
    for each in kept:
        task = each.session.trajectory.task if each.session.trajectory else None
        screen.print(styled("  ", (short(each.session.ref.session_id, 100), "cyan"), f"  {short(task or '', 80)}"))


@baseline_app.command("promote")
def baseline_promote(name: Name, config_file: ConfigFile = None, data_dir: DataDir = None) -> None:
    """Make a baseline the current one of its service, in place of the one before.

    \b
    Example:
      spanjudge baseline promote v7 -c spanjudge.yaml
    """
    with bad_input_exits_with_2():
        store = open_existing_to_write(config_file, data_dir)

        async def promote() -> Baseline:
            found = await baseline_named(store, name, None)
            await store.baselines.promote(name, SystemClock().now_ns())
            return found

        found = run_with(store, promote)
    typer.echo(f"{safe(name)} is the current baseline of {_named(found.service)}")


@baseline_app.command("delete")
def baseline_delete(name: Name, config_file: ConfigFile = None, data_dir: DataDir = None) -> None:
    """Delete a baseline with all it holds.

    \b
    Example:
      spanjudge baseline delete v6 -c spanjudge.yaml
    """
    with bad_input_exits_with_2():
        store = open_existing_to_write(config_file, data_dir)

        async def delete() -> None:
            await baseline_named(store, name, None)
            await store.baselines.delete(name)

        run_with(store, delete)
    typer.echo(f"deleted {safe(name)}")


def _service(sessions: Sequence[KeptSession]) -> str:
    services = {one.session.trajectory.versions.service or "" for one in sessions if one.session.trajectory}
    if len(services) > 1:
        names = ", ".join(sorted(_named(one) for one in services))
        raise fail(f"the sessions are of several services ({names}): a baseline is of one; choose with --service")
    return next(iter(services), "")


def _version(sessions: Sequence[KeptSession]) -> str | None:
    """The version that all of them have; None if they have several."""
    versions = {version_of(one.session.trajectory) for one in sessions if one.session.trajectory}
    return versions.pop() if len(versions) == 1 else None


def _named(service: str) -> str:
    return short(service, 80) if service else "a service without a name"


def _document(baseline: Baseline) -> dict[str, Any]:
    return {
        "name": baseline.name,
        "service": baseline.service,
        "agent_version": baseline.agent_version,
        "saved_ns": baseline.saved_ns,
        "promoted_ns": baseline.promoted_ns,
        "sessions": baseline.sessions,
        "note": baseline.note,
    }
