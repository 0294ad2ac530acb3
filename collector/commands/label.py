"""`spanjudge label`: say whether verdicts are right."""

from __future__ import annotations

import asyncio
import getpass
import re
from pathlib import Path
from typing import Annotated

import typer

from collector.clock import SystemClock
from collector.commands.files import DEFAULTS, ConfigFile, DataDir, config_of, fail, problems
from collector.commands.label_walk import Desk, about, label_one_by_one, told
from collector.commands.stored import choose, open_existing_to_write
from collector.commands.terminal import console, safe
from collector.errors import StoreUnavailable
from collector.labelling import NotALabel, Said
from collector.rules import load_scales
from collector.store.sql_store import SqlStore
from collector.store.store import VerdictFilter
from judge.documents import DocumentError
from judge.verdict import Judged, Score

_VERDICT = re.compile(r"[0-9a-f]{8,32}")
_WHOLE_ID = 32


def label(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Verdict ids or their beginnings (8 characters), or session ids.", metavar="VERDICT|SESSION..."
        ),
    ] = None,
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
    agree: Annotated[bool | None, typer.Option("--agree/--disagree", help="Is the verdict right?")] = None,
    right_label: Annotated[
        str | None, typer.Option("--label", help="With --disagree: the label that would have been right.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why; needed, for whoever reads it later.")] = None,
    author: Annotated[
        str | None, typer.Option(help="Who says so. Default: your login name.", envvar="SPANJUDGE_AUTHOR")
    ] = None,
    evaluator: Annotated[str | None, typer.Option(help="With a session id: the verdict of this evaluator.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Where several tenants have a session of this id.")] = None,
    walk: Annotated[
        str | None,
        typer.Option(
            "--next",
            help="Show one unlabelled verdict of this evaluator after the other, and ask.",
            metavar="EVALUATOR",
        ),
    ] = None,
) -> None:
    """Say whether verdicts are right, so that their accuracy can be told (see `spanjudge calibrate`).

    Disagreeing says that a verdict that passed should have failed, or the other way round; where another label would
    have been right, name it with --label. Several people may label one verdict; of each, the newest word counts, and
    all are kept. The server may be running.

    \b
    Examples:
      spanjudge label --next goal_completion -c spanjudge.yaml
      spanjudge label 3f2a9c01 --agree --reason "refunded, and said so"
      spanjudge label 4711 --evaluator goal_completion --disagree --label Partial --reason "no receipt was sent"
    """
    if bool(targets) == (walk is not None):
        raise fail("name verdicts or sessions to label, or an evaluator with --next")
    if targets and (agree is None or reason is None):
        raise fail("say --agree or --disagree, and why with --reason")
    if walk is not None and (agree is not None or reason is not None or right_label is not None):
        raise fail("--next asks for these; leave out --agree, --disagree, --label and --reason")

    async def run() -> None:
        desk = await _desk(config_file, data_dir, author)
        try:
            if walk is not None:
                await label_one_by_one(desk, walk)
            elif targets and agree is not None and reason is not None:
                said = Said(agree, reason, desk.author, right_label)
                await _label(desk, [await _find(desk.store, one, evaluator, tenant) for one in targets], said)
        except StoreUnavailable as error:
            raise fail(str(error)) from error
        finally:
            await desk.store.close()

    asyncio.run(run())


async def _desk(config_file: Path | None, data_dir: Path | None, author: str | None) -> Desk:
    config = config_of(config_file, data_dir)
    try:
        scales = load_scales(config, str(config_file or DEFAULTS))
    except DocumentError as error:
        raise problems(error) from error
    store = open_existing_to_write(config_file, data_dir)
    return Desk(store, scales, SystemClock(), author or getpass.getuser(), console())


async def _find(store: SqlStore, target: str, evaluator: str | None, tenant: str | None) -> Judged:
    """The verdict that is meant. Exits with 1, listing what there is, when that is not one."""
    if _VERDICT.fullmatch(target):
        found = await store.find_verdicts(VerdictFilter(id_prefix=target, limit=2))
        if len(found) == 1:
            return found[0]
        if found:
            raise fail(f"{target} begins the ids of several verdicts: give more of it")
        if len(target) == _WHOLE_ID and not await store.session(target, tenant):
            raise fail(f"no verdict and no session {target} in the store; spanjudge explain SESSION prints verdict ids")
    chosen = await choose(store, target, tenant, None)
    verdicts = [one for one in await store.verdicts(chosen.session.ref) if isinstance(one.verdict.outcome, Score)]
    fitting = [one for one in verdicts if evaluator in {None, one.verdict.evaluator}]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        of = f" of {safe(evaluator)}" if evaluator else ""
        raise fail(f"session {safe(chosen.session.ref.session_id)} has no verdict{of} with a score")
    listed = "\n".join(f"  {one.id}  {one.verdict.evaluator}  {about(one)}" for one in fitting)
    raise fail(f"session {safe(target)} has {len(fitting)} verdicts; name one of them:\n{listed}")


async def _label(desk: Desk, verdicts: list[Judged], said: Said) -> None:
    for judged in verdicts:
        try:
            kept = await desk.keep(judged, said)
        except NotALabel as error:
            raise fail(f"verdict {judged.id}: {error}") from error
        typer.echo(told(judged, kept))
