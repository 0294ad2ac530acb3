"""`spanjudge show`: one session as the engineer on call needs it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from collector.commands.files import ConfigFile, DataDir, fail
from collector.commands.session_view import session_lines
from collector.commands.stored import Chosen, choose, open_store
from collector.commands.terminal import LONG, console
from collector.errors import StoreUnavailable
from collector.store.records import CLOSED_SESSION, JUDGED
from judge.verdict import Judged

_FULL = 1_000_000


@dataclass(frozen=True, slots=True)
class _Found:
    chosen: Chosen
    verdicts: list[Judged]


def show(
    session: Annotated[str, typer.Argument(help="Session id, or its beginning.", metavar="SESSION")],
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
    revision: Annotated[
        int | None, typer.Option(help="An earlier closing of the session. Default: the newest.", metavar="N")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Where several tenants have a session of this id.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long texts.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: session, trajectory, verdicts, revisions.")
    ] = False,
) -> None:
    """Show one session: what ran, what happened in order, and each verdict beside what it judges, with its reason.

    Verdicts without a score say why, and what to do about it. Reads the verdict store; the server may be running.

    \b
    Examples:
      spanjudge show 4711 -c spanjudge.yaml
      spanjudge show 4711 --data-dir data --full
      spanjudge show 4711 --revision 1 --json
    """

    async def find() -> _Found:
        store = open_store(config_file, data_dir)
        try:
            chosen = await choose(store, session, tenant, revision)
            return _Found(chosen, await store.verdicts(chosen.session.ref))
        except StoreUnavailable as error:
            raise fail(str(error)) from error
        finally:
            await store.close()

    found = asyncio.run(find())
    if as_json:
        document: dict[str, Any] = {
            "session": json.loads(CLOSED_SESSION.dump(found.chosen.session)),
            "revisions": found.chosen.revisions,
            "verdicts": [json.loads(JUDGED.dump(one)) for one in found.verdicts],
        }
        typer.echo(TypeAdapter(dict[str, Any]).dump_json(document))
        return
    screen = console()
    for line in session_lines(found.chosen, found.verdicts, _FULL if full else LONG):
        screen.print(line)
