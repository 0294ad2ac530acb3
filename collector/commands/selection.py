"""Which sessions a command is about: recordings, or what the store holds; judged as the server judges them."""

from __future__ import annotations

import asyncio
import glob
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from collector.attribution import version_of
from collector.clock import SystemClock
from collector.commands.files import fail
from collector.commands.grouping import Grouped, group
from collector.commands.judge_asking import ask_judge, require_key
from collector.commands.progress import progress
from collector.commands.session_options import Selection
from collector.commands.sessions import nanoseconds
from collector.commands.terminal import console, safe, short, styled
from collector.config import Config
from collector.judge_building import redaction_of
from collector.judging import Rules
from collector.offline import RECORDING, Examined, Measures, by_code, examine, with_earlier_answers
from collector.offline_answers import Asked
from collector.recordings import read_recordings
from collector.rules import load_rubrics
from collector.store.baselines import KeptSession
from collector.store.store import ClosedSession, SessionFilter, Store
from extractors.registry import extract
from extractors.trajectory import Trajectory
from judge.masking import masked_judged
from judge.redaction import NOTHING, Redaction
from judge.verdict import Judged, SessionRef

PASSED, FAILED, BAD_INPUT, NOT_ENOUGH = 0, 1, 2, 3
"""Exit codes of the commands that CI runs."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The sessions, without secrets in what is said about them. `problems` are what of the input could not be used,
    `remarks` what people should know; one line each. `asked` is what became of the questions, None where no judge was
    to be asked."""

    examined: list[Examined]
    problems: list[str]
    remarks: list[str]
    asked: Asked | None = None


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


async def choose_sessions(
    selection: Selection, store: Store | None, config: Config, rules: Rules, *, judge: bool
) -> Chosen:
    """Examined by the evaluators of `rules`; asked about with `judge`. Exits with 1 when there is no key for it."""
    if judge:
        require_key(config)
    rubrics = tuple(one.id for one in load_rubrics(config.rubrics, "the configuration"))
    evaluators = rules.evaluators if judge else by_code(rules.evaluators, rubrics)
    examined: list[Examined] = []
    problems: list[str] = []
    remarks: list[str] = []
    now_ns = SystemClock().now_ns()
    if selection.files:
        recorded, problems = await asyncio.to_thread(_recorded, selection, config, now_ns)
        with progress("sessions", len(recorded)) as told:
            for number, session in enumerate(recorded):
                if session.trajectory is not None:
                    examined.append(examine(session, session.trajectory, rules.suites, evaluators, now_ns))
                told(number + 1)
    elif store is not None:
        measures = _measures(rules, config)
        unused: list[str] = []
        for kept in await kept_in_store(store, selection):
            if (trajectory := kept.session.trajectory) is not None:
                one = examine(kept.session, trajectory, rules.suites, evaluators, now_ns)
                one, told_of_it = with_earlier_answers(one, kept.verdicts, measures)
                examined.append(one)
                unused += told_of_it
        remarks += _unused(unused, judge=judge)
    for one in examined:
        problems += [f"evaluator {name} failed: {type(error).__name__}: {error}" for name, error in one.defects]
    asked = None
    if judge:
        answers = await ask_judge(examined, config)
        examined, asked = answers.examined, answers.asked
        problems += [answers.problem] if answers.problem else []
        remarks += answers.remarks
    redaction = redaction_of(config.judge)
    return Chosen([_masked(one, redaction) for one in examined], problems, remarks, asked)


def _measures(rules: Rules, config: Config) -> Measures:
    versions = {one.id: one.version for one in rules.evaluators}
    own = {name: settings.model for name, settings in config.evaluators.items()}
    return Measures(versions, {name: own.get(name) or config.judge.model for name in versions})


def _unused(told: Sequence[str], *, judge: bool) -> Iterator[str]:
    """How many scores that a judge gave before do not count, and why."""
    if told:
        instead = "they are asked again" if judge else "--judge asks again"
        yield f"{len(told)} earlier answers of a judge were measured otherwise and do not count; {instead}:"
        yield from (f"  {count} x {why}" for why, count in Counter(told).most_common())


def _masked(examined: Examined, redaction: Redaction) -> Examined:
    return replace(examined, verdicts=tuple(_without_secrets(examined.verdicts, redaction)))


def _without_secrets(verdicts: Iterable[Judged], redaction: Redaction) -> Iterator[Judged]:
    return (masked_judged(one, redaction) for one in verdicts)


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


async def kept_in_store(store: Store, selection: Selection, redaction: Redaction = NOTHING) -> list[KeptSession]:
    """The newest closing of each session that fits, with the verdicts it has, secrets in them masked; oldest first."""
    since_ns = None if selection.since is None else SystemClock().now_ns() - nanoseconds(selection.since)
    where = SessionFilter(
        service=selection.service,
        version=selection.agent_version,
        since_ns=since_ns,
        newest_closing=True,
        limit=selection.limit,
    )
    found: list[KeptSession] = []
    summaries = await store.sessions(where)
    with progress("sessions", len(summaries)) as told:
        for number, summary in enumerate(summaries):
            closings = await store.session(summary.ref.session_id, summary.ref.tenant)
            closing = next((one for one in closings if one.ref == summary.ref), None)
            if closing is not None and closing.trajectory is not None:
                verdicts = _without_secrets(await store.verdicts(closing.ref), redaction)
                found.append(KeptSession(closing, tuple(verdicts)))
            told(number + 1)
    return found[::-1]


def _fits(trajectory: Trajectory, selection: Selection) -> bool:
    return selection.agent_version in {None, version_of(trajectory)} and selection.service in {
        None,
        trajectory.versions.service,
    }


def report_problems(problems: Sequence[str], remarks: Sequence[str] = ()) -> None:
    """To standard error, so that the output can be piped."""
    screen = console(to="stderr")
    for text, style in (*((one, "red") for one in problems), *((one, "yellow") for one in remarks)):
        for line in text.splitlines():
            screen.print(styled((short(line, 1000), style)))
