"""`spanjudge suite add`: a case from a session that went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from collector.commands.case_from_session import CaseOptions, add_case
from collector.commands.files import ConfigFile, DataDir, fail, problems
from collector.commands.output import write
from collector.commands.selection import bad_input_exits_with_2
from collector.commands.stored import choose, open_store, run_with
from collector.commands.terminal import safe
from judge.documents import DocumentError


def suite_add(
    session: Annotated[str, typer.Argument(help="Session id, or its beginning.", metavar="SESSION")],
    suite: Annotated[Path, typer.Option("--suite", help="Suite file; made when there is none.", metavar="FILE")],
    case_id: Annotated[str | None, typer.Option("--id", help="Id of the case. Default: from the task.")] = None,
    expect: Annotated[
        str | None, typer.Option(help="The skill that should be loaded, or none. Default: what was loaded.")
    ] = None,
    step: Annotated[
        list[str] | None,
        typer.Option(help="A tool that must be called; may be given again. Default: those called with success."),
    ] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="The steps must happen in this order.")] = False,
    forbid: Annotated[
        list[str] | None, typer.Option(help="A tool (pattern) that must not be called; may be given again.")
    ] = None,
    answer: Annotated[
        list[str] | None, typer.Option(help="A text that the answer must have; may be given again.")
    ] = None,
    high_risk: Annotated[bool, typer.Option("--high-risk", help="No failure of this case is tolerated.")] = False,
    revision: Annotated[int | None, typer.Option(help="An earlier closing of the session.", metavar="N")] = None,
    tenant: Annotated[str | None, typer.Option(help="Where several tenants have a session of this id.")] = None,
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
) -> None:
    """Turn a stored session, usually one that went wrong, into a case of a suite file.

    The case is about sessions of the same service with the same task. What is not said by options is filled in from
    what happened, and marked so in the file: read it, for what happened may be what was wrong. Comments and order of
    the file stay as they are.

    \b
    Examples:
      spanjudge suite add 4711 --suite suites/desk.yaml --expect refunds --step find_order --step pay_back --ordered
      spanjudge suite add 4711 --suite suites/desk.yaml --forbid "delete_*" --high-risk --id never-delete

    Exits with 2 when there is no such session, or the file cannot be added to.
    """
    with bad_input_exits_with_2():
        store = open_store(config_file, data_dir)
        closed = run_with(store, lambda: choose(store, session, tenant, revision)).session
        trajectory = closed.trajectory
        if trajectory is None:
            raise fail(f"session {safe(session)} has no trajectory: {safe(closed.note)}")
        options = CaseOptions(
            case_id, expect, tuple(step or ()), ordered, tuple(forbid or ()), tuple(answer or ()), high_risk
        )
        try:
            before = suite.read_text(encoding="utf-8") if suite.exists() else None
            added = add_case(before, str(suite), suite.stem, trajectory, options)
        except DocumentError as error:
            raise problems(error) from error
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise fail(str(error)) from error
        write(suite, added.text)
    typer.echo(f"added {added.suite}/{added.case['id']} to {safe(str(suite))}; read it before you rely on it")
    for key, remark in added.remarks.items():
        typer.echo(f"  {key}: {remark}")
