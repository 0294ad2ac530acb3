"""How long does a page take with very many sessions? `python -m benchmarks.page [--sessions 100000]`.

A SQLite store is filled with sessions of one month: each of 25 spans with some 10 verdicts and the records that the
product would write (about 8 KB a session, 1 KB a verdict), of 5 services, 4 versions and 40 skills; one session in
30,000 has a verdict with a rare label, and is of a rare service. What is written of a session is made from 50 sessions
by giving each its own id, time and service, since making 100,000 of them is not what is measured.

Then each page is asked for over HTTP from the real application, several times, on the file as it is in the kernel's
cache. *wall* is the least time from request to the last byte, *CPU* the least that the whole process, client included,
took for it: where others use the machine, that is what compares. Bytes are those of the page.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import httpx

from benchmarks import machine
from collector.access.access import Access
from collector.access.settings import AccessSettings
from collector.admin import admin_app
from collector.metrics import Metrics
from collector.page.means import Means
from collector.page.rendering import Rendering
from collector.page.routes import page_routes
from collector.page.settings import PageSettings
from collector.store.finishing import Finishing, finishing
from collector.store.sqlite import SqliteStore
from judge.redaction import Redaction
from judge.scales import scales
from judge.verdict import Score
from tests.fakes.clock import FakeClock
from tests.fakes.page import RULES
from tests.fakes.rich_session import TRACE, rich_session, rich_verdicts
from tests.fakes.verdicts import NOW_NS

_MODELS, _AT_A_TIME, _RARE = 50, 500, 30_000
_MONTH_NS = 30 * 86_400 * 10**9
_SERVICES, _VERSIONS, _SKILLS = 5, 4, 40

PAGES: Mapping[str, str] = {
    "newest": "/sessions",
    "a page in the middle": "/sessions?after={middle}",
    "a service": "/sessions?service=desk-3",
    "a rare service": "/sessions?service=rare",
    "service, version, harness": "/sessions?service=desk-1&version=v2&harness=claude_code",
    "nothing fits": "/sessions?service=desk-1&version=v0&harness=codex",
    "failed": "/sessions?outcome=failed",
    "passed": "/sessions?outcome=passed",
    "an alert's link": "/sessions?service=desk-1&skill=skill-1&evaluator=skill_selection&label=No&since=7d",
    "a frequent label": "/sessions?evaluator=composite&label=fail",
    "a rare label": "/sessions?evaluator=composite&label=rare",
    "a label of any evaluator": "/sessions?label=rare",
    "a skill": "/sessions?skill=skill-7",
    "a text that is frequent": "/sessions?text=kettle",
    "a text that is nowhere": "/sessions?text=zeppelin",
    "one session": "/sessions/s-77",
    "the session of a trace": "/traces/{trace}",
    "skills, 7 days": "/skills?within=7d",
    "skills, 30 days": "/skills?within=30d",
    "versions, 30 days": "/versions?within=30d",
    "next to label": "/label?evaluator=skill_selection",
}


@dataclass(frozen=True, slots=True)
class Taken:
    wall_ms: float
    cpu_ms: float
    size: int


def sessions(count: int, chance: Random) -> Iterator[Finishing]:
    """Oldest first."""
    models = [_model(number) for number in range(_MODELS)]
    for number in range(count):
        model = models[chance.randrange(_MODELS)]
        rare = number % _RARE == 7
        at_ns = NOW_NS - _MONTH_NS + (_MONTH_NS * number) // count
        was, name = model.session["session_id"], f"s-{number}"
        named = {
            "session_id": name,
            "record": _renamed(model.session["record"], was, name),
            "closed_ns": at_ns,
            "service": "rare" if rare else f"desk-{number % _SERVICES}",
            "version": f"v{number * _VERSIONS // count}",
        }
        yield replace(
            model,
            session={**model.session, **named},
            verdicts=[_verdict(row, was, number, rare) for row in model.verdicts],
            questions=[{**row, "id": _id(row["id"], number)} for row in model.questions] if number % 100 == 0 else (),
            traces=[{"trace": _id(TRACE, number)}],
        )


def _model(number: int) -> Finishing:
    """As the product writes it, of a session with other skills than those before."""
    session = rich_session(f"model-{number}")
    assert session.trajectory is not None
    names = {"refunds": f"skill-{number % _SKILLS}", "ledger": f"skill-{(number + 1) % _SKILLS}"}
    loads = tuple(
        replace(load, name=names.get(load.name or "", load.name)) for load in session.trajectory.skill_invocations
    )
    session = replace(session, trajectory=replace(session.trajectory, skill_invocations=loads))
    verdicts, questions = rich_verdicts(session)
    good = Score(1.0, "pass", "all good")
    passing = [
        replace(one, verdict=replace(one.verdict, outcome=good))
        if number % 4 and isinstance(one.verdict.outcome, Score)
        else one
        for one in verdicts
    ]
    return finishing(session, passing, questions)


def _verdict(row: Mapping[str, Any], was: str, number: int, rare: bool) -> dict[str, Any]:
    label = {"label": "rare"} if rare and row["evaluator"] == "composite" else {}
    identity = _id(row["id"], number)
    record = _renamed(_renamed(row["record"], was, f"s-{number}"), row["id"], identity)
    return {**row, **label, "id": identity, "record": record}


def _renamed(record: str, was: str, name: str) -> str:
    return record.replace(f'"{was}"', f'"{name}"')


def _id(of: str, number: int) -> str:
    return hashlib.sha256(f"{of} {number}".encode()).hexdigest()[:32]


async def fill(store: SqliteStore, count: int) -> None:
    waiting: list[Finishing] = []
    for one in sessions(count, Random(7)):
        waiting.append(one)
        if len(waiting) == _AT_A_TIME:
            await store.finish_all(waiting, [])
            waiting = []
    await store.finish_all(waiting, [])


def application(store: SqliteStore) -> Any:
    clock, metrics = FakeClock(NOW_NS), Metrics()
    means = Means(store, clock, scales(), lambda: RULES, PageSettings(), Redaction(), Rendering())
    access = Access(AccessSettings(), "127.0.0.1:9464", clock, metrics.access)
    return admin_app(metrics, {}, routes=page_routes(means), access=access)


async def measure(store: SqliteStore, count: int, rounds: int) -> dict[str, Taken]:
    places = {"middle": f"{NOW_NS - _MONTH_NS // 2}.{count}", "trace": _id(TRACE, count // 2)}
    transport = httpx.ASGITransport(application(store))
    taken: dict[str, Taken] = {}
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9464", timeout=120) as client:
        for name, path in PAGES.items():
            taken[name] = await _least(client, path.format(**places), rounds)
    return taken


async def _least(client: httpx.AsyncClient, path: str, rounds: int) -> Taken:
    walls, cpus, size = [], [], 0
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        answer = await client.get(path)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        if answer.status_code not in {200, 303}:
            raise SystemExit(f"{path}: {answer.status_code}")
        size = len(answer.content)
    return Taken(1_000 * min(walls), 1_000 * min(cpus), size)


def table(taken: Mapping[str, Taken]) -> str:
    rows = [f"| {name} | {one.wall_ms:.0f} | {one.cpu_ms:.0f} | {one.size / 1024:.0f} |" for name, one in taken.items()]
    return "\n".join(["| page | wall ms | CPU ms | KiB |", "|---|---|---|---|", *rows])


async def run(directory: Path, count: int, rounds: int) -> None:
    file = directory / "verdicts.sqlite3"
    there = file.exists()
    store = SqliteStore.open(file)
    began = time.perf_counter()
    if not there:
        await fill(store, count)
        print(f"filled in {time.perf_counter() - began:.0f} s, {file.stat().st_size / 2**30:.2f} GiB")
    print(table(await measure(store, count, rounds)))
    await store.close()
    for name, value in machine.describe(directory).items():
        print(f"{name}: {value}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", type=Path, help="where the store is, or is made; default: one that is removed")
    given = parser.parse_args(arguments)
    if given.directory is not None:
        asyncio.run(run(given.directory, given.sessions, given.rounds))
        return
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(run(Path(directory), given.sessions, given.rounds))


if __name__ == "__main__":
    main()
