"""Which sessions a command is about: recordings, or what the store holds; judged as the server judges them."""

from __future__ import annotations

import asyncio
import glob
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from collector.clock import SystemClock
from collector.commands.files import fail
from collector.commands.grouping import Grouped, group
from collector.commands.sessions import nanoseconds
from collector.commands.terminal import console, safe, short, styled
from collector.config import Config
from collector.judging import Rules
from collector.offline import ALWAYS_ASKING, RECORDING, Examined, by_code, examine, with_earlier_answers
from collector.recordings import read_recordings
from collector.rules import load_rubrics
from collector.store.baselines import KeptSession
from collector.store.store import ClosedSession, SessionFilter, Store
from extractors.registry import extract
from extractors.trajectory import Trajectory
from judge.verdict import SessionRef

PASSED, FAILED, BAD_INPUT, NOT_ENOUGH = 0, 1, 2, 3
"""Exit codes of the commands that CI runs."""

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Recorded OTLP: protobuf requests, OTLP/JSON, JSON lines, gzip of any; directories are walked.",
        metavar="FILE...",
    ),
]
Stored = Annotated[bool, typer.Option("--stored", help="Sessions of the verdict store instead of files.")]
Service = Annotated[str | None, typer.Option(help="Sessions of this service (service.name).")]
AgentVersion = Annotated[
    str | None, typer.Option(help="Sessions of this agent version, or service version where agents have none.")
]
Since = Annotated[
    str | None, typer.Option(help="Stored sessions that closed within this long: 30m, 12h, 7d.", metavar="DURATION")
]
Limit = Annotated[int, typer.Option(help="At most so many stored sessions, newest first.", min=1)]
SuiteFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--suite", help="Suite file; may be given again. Default: those of the configuration.", metavar="FILE"
    ),
]
AskJudge = Annotated[
    bool, typer.Option("--judge", help="Also ask the judge, which costs money; needs its key. Default: code only.")
]


@dataclass(frozen=True, slots=True)
class Selection:
    """`files` is empty when sessions of the store are wanted; the rest says which of them."""

    files: tuple[Path, ...] = ()
    service: str | None = None
    agent_version: str | None = None
    since: str | None = None
    limit: int = 1000


def of_service(selection: Selection, service: str) -> Selection:
    """Stored sessions of this service unless another is named; of a service without a name, of any."""
    return selection if selection.files or selection.service else replace(selection, service=service or None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The sessions, and what of the input could not be used, one line each."""

    examined: list[Examined]
    problems: list[str]


@contextmanager
def bad_input_exits_with_2() -> Iterator[None]:
    """For commands of CI, where 1 says that the agent is at fault."""
    try:
        yield
    except typer.Exit as end:
        raise typer.Exit(BAD_INPUT if end.exit_code == 1 else end.exit_code) from None


def with_suites(config: Config, suites: Sequence[Path] | None) -> Config:
    """The configuration with these suite files in place of its own, if any are given."""
    if not suites:
        return config
    for path in suites:
        if not path.is_file():
            raise fail(f"there is no suite file {safe(str(path))}")
    return config.model_copy(update={"suites": tuple(_literal(path) for path in suites)})


def _literal(path: Path) -> str:
    """A pattern that fits this file only."""
    return glob.escape(str(path.resolve()))


def check_source(files: Sequence[Path] | None, stored: bool) -> None:
    if bool(files) == stored:
        raise fail("give either files to read, or --stored for sessions of the verdict store")


async def choose_sessions(
    selection: Selection, store: Store | None, config: Config, rules: Rules, *, judge: bool
) -> Chosen:
    """Examined by the evaluators of `rules`; asked about with `judge`. Exits with 1 when there is no key for it."""
    if judge and not _has_key(config):
        raise fail("--judge needs a key: set ANTHROPIC_API_KEY, or judge.api_key in the configuration")
    rubrics = frozenset(one.id for one in load_rubrics(config.rubrics, "the configuration"))
    evaluators = rules.evaluators if judge else by_code(rules.evaluators, tuple(rubrics))
    clock = SystemClock()
    examined: list[Examined] = []
    problems: list[str] = []
    if selection.files:
        recorded, problems = await asyncio.to_thread(_recorded, selection, config, clock.now_ns())
        with _progress("sessions", len(recorded)) as told:
            for number, session in enumerate(recorded):
                if session.trajectory is not None:
                    examined.append(examine(session, session.trajectory, rules.suites, evaluators, clock.now_ns()))
                told(number + 1)
    elif store is not None:
        for kept in await kept_in_store(store, selection):
            trajectory = kept.session.trajectory
            if trajectory is None:
                continue
            one = examine(kept.session, trajectory, rules.suites, evaluators, clock.now_ns())
            examined.append(with_earlier_answers(one, kept.verdicts, ALWAYS_ASKING | rubrics))
    for one in examined:
        problems += [f"evaluator {name} failed: {type(error).__name__}: {error}" for name, error in one.defects]
    if judge:
        examined, problem = await _asked(examined, config)
        problems += [f"the judge did not answer everything: {problem}"] if problem else []
    return Chosen(examined, problems)


def _has_key(config: Config) -> bool:
    from collector.judge_building import build_judge  # as below

    return build_judge(config.judge) is not None


async def _asked(examined: list[Examined], config: Config) -> tuple[list[Examined], str | None]:
    from collector.judge_building import build_judge  # its client takes a second to load
    from collector.offline_asking import ask

    judge = build_judge(config.judge)
    if judge is None:
        return examined, "there is no key"
    try:
        with _progress("questions", sum(len(one.questions) for one in examined)) as told:
            return await ask(examined, config.judge, judge, SystemClock(), lambda done, _: told(done))
    finally:
        await judge.aclose()


def _recorded(selection: Selection, config: Config, now_ns: int) -> tuple[list[ClosedSession], list[str]]:
    grouped = group(read_recordings(selection.files), config)
    closed = []
    for session in grouped.sessions:
        trajectory = extract(session)
        if _fits(trajectory, selection):
            ref = SessionRef(session.session_id, 1, session.tenant)
            at_ns = trajectory.ended_ns or now_ns
            counts = len(session.spans), len(session.records)
            closed.append(ClosedSession(ref, at_ns, RECORDING, 1.0, trajectory, *counts))
    return closed, _defects(grouped)


def _defects(grouped: Grouped) -> list[str]:
    found = [f"{one.where}: {one.cause}" for one in grouped.unreadable if not one.skipped]
    return [*found, *grouped.causes]


def version_of(trajectory: Trajectory) -> str | None:
    """The agent's version, or the service's where the agent has none; as `version` in suites."""
    return trajectory.versions.agent_version or trajectory.versions.service_version


async def kept_in_store(store: Store, selection: Selection) -> list[KeptSession]:
    """The newest closing of each session that fits, with its verdicts as they are; oldest first."""
    since_ns = None if selection.since is None else SystemClock().now_ns() - nanoseconds(selection.since)
    where = SessionFilter(service=selection.service, since_ns=since_ns, limit=selection.limit)
    found: dict[tuple[str, str], KeptSession] = {}
    summaries = await store.sessions(where)
    with _progress("sessions", len(summaries)) as told:
        for number, summary in enumerate(summaries):
            ref = summary.ref
            key = (ref.tenant, ref.session_id)
            if key not in found:
                judged = [one for one in await store.session(ref.session_id, ref.tenant) if one.judged]
                if judged and judged[0].trajectory and _fits(judged[0].trajectory, selection):
                    verdicts = tuple(await store.verdicts(judged[0].ref))
                    found[key] = KeptSession(judged[0], verdicts)
            told(number + 1)
    return sorted(found.values(), key=lambda one: one.session.closed_ns)


def _fits(trajectory: Trajectory, selection: Selection) -> bool:
    return selection.agent_version in {None, version_of(trajectory)} and selection.service in {
        None,
        trajectory.versions.service,
    }


def report_problems(problems: Sequence[str]) -> None:
    """To standard error, so that the output can be piped."""
    screen = console(to="stderr")
    for text in problems:
        screen.print(styled((short(text, 1000), "red")))


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    screen = console(to="stderr")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
