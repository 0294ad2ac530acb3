"""Putting the questions of a command to the judge, on the budget of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from collector.clock import SystemClock
from collector.commands.files import fail
from collector.commands.progress import progress
from collector.commands.remedies import remedy
from collector.commands.stored import open_if_there
from collector.commands.terminal import safe
from collector.config import Config
from collector.offline import Examined
from collector.offline_answers import Asked, asked_about
from collector.tls.errors import CredentialsUnusable
from judge.describe import plural


@dataclass(frozen=True, slots=True)
class Answers:
    """The sessions with what the judge found, and what became of the questions. `problem` says that it answered nothing
    at all, and what to do; None otherwise. `remarks` are what else people should know, one line each."""

    examined: list[Examined]
    asked: Asked
    problem: str | None
    remarks: tuple[str, ...]


def require_key(config: Config) -> None:
    """Exits with 1 when nobody can be asked."""
    from collector.judge_building import build_judge  # its client takes a second to load

    try:
        judge = build_judge(config.judge)
    except CredentialsUnusable as error:
        raise fail(str(error)) from error
    if judge is None:
        raise fail("--judge needs a key: set ANTHROPIC_API_KEY, or judge.api_key in the configuration")


async def ask_judge(examined: list[Examined], config: Config) -> Answers:
    """Money is counted, and answers are shared, where the server of the configuration does; without its store, the
    budget holds for this run alone. Exits with 1 when there is no key."""
    from collector.judge_building import budget_of, build_judge
    from collector.offline_asking import ask

    judge = build_judge(config.judge)
    if judge is None:
        raise fail("--judge needs a key")
    store = open_if_there(config)
    ledger = None if store is None else store.ledger
    try:
        with progress("questions", sum(len(one.questions) for one in examined)) as told:
            found = await ask(examined, config.judge, judge, SystemClock(), lambda done, _: told(done), ledger=ledger)
    finally:
        await judge.aclose()
        if store is not None:
            await store.close()
    asked = asked_about(examined, found)
    alone = store is None and bool(budget_of(config.judge).limits)
    remarks = [f"there is no verdict store in {config.data_dir}: judge.budget was held to for this run alone"] * alone
    if asked.silences and asked.answered:
        remarks.append(f"the judge did not answer {asked.total - asked.answered} of {plural(asked.total, 'question')}:")
        remarks += _told(asked)
    return Answers(found, asked, _problem(asked), tuple(remarks))


def _problem(asked: Asked) -> str | None:
    if not asked.total or asked.answered:
        return None
    head = f"the judge answered none of {plural(asked.total, 'question')}, so nobody knows what it would have found:"
    return "\n".join((head, *_told(asked)))


def _told(asked: Asked) -> list[str]:
    """Each silence, then what to do about each reason."""
    return [*(f"  {safe(str(one))}" for one in asked.silences), *(f"  {why}: {remedy(why)}" for why in asked.reasons)]
