"""Put the questions of recorded sessions to the judge, with the server's own votes, retries, circuit and budget."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from collector.asking import Asking
from collector.clock import Clock
from collector.judge_building import build_asking
from collector.judge_config import BatchSettings, JudgeSettings
from collector.metrics import Metrics
from collector.offline import Examined
from collector.offline_ledger import OfflineLedger
from collector.store.ledger import Ledger
from collector.store.sqlite import SqliteStore
from judge.clients.anthropic import AnthropicJudge
from judge.verdict import Judged, NotJudged

_LOOK_S = 0.1
_SETTLED_S = 2.5
"""Longer than the queue rests between two looks: what has not begun by then is held back."""
_NO_USE_WAITING = frozenset({"budget_spent", "judge_not_authorised", "judge_request_rejected"})
"""Reasons that somebody must do something about, or that last for hours."""


async def ask(
    examined: Sequence[Examined],
    settings: JudgeSettings,
    judge: AnthropicJudge,
    clock: Clock,
    progress: Callable[[int, int], None],
    *,
    ledger: Ledger | None = None,
    patience_s: float | None = None,
) -> list[Examined]:
    """Put the questions to the judge, with the rules of the configuration but never in batches.

    `ledger` is where money is counted and answers are shared; without one, the budget is that of this run. What has no
    answer when none came for `patience_s`, or when waiting is no use, becomes `NotJudged` with the reason.
    `progress(answered, all)` is called now and then.
    """
    settings = settings.model_copy(update={"batches": BatchSettings()})
    with tempfile.TemporaryDirectory(prefix="spanjudge-") as directory:
        store = SqliteStore.open(Path(directory) / "verdicts.sqlite3")
        if ledger is not None:
            store.ledger = OfflineLedger(store.ledger, ledger)
        try:
            for one in examined:
                await store.finish(one.session, one.verdicts, one.questions, ())
            asking = build_asking(settings, judge, store, clock, Metrics(), exporters=(), on_verdict=_nothing).asking
            problem = await _answered(store, asking, progress, patience_s or patience_of(settings))
            return [await _found(store, one, problem) for one in examined]
        finally:
            await store.close()


def patience_of(settings: JudgeSettings) -> float:
    """Seconds without an answer after which no more is waited for: one call, and the longest pause that a judge in
    trouble is given before the next."""
    return settings.timeout_seconds + settings.circuit.max_seconds


def _nothing() -> None:
    """Nobody waits for single verdicts here."""


async def _answered(
    store: SqliteStore, asking: Asking, progress: Callable[[int, int], None], patience_s: float
) -> NotJudged | None:
    """Why some questions are still open, None when none is."""
    total = await store.pending_questions()
    task = asyncio.create_task(asking.run())
    loop = asyncio.get_running_loop()
    last, answered_s, busy_s = total, loop.time(), loop.time()
    try:
        while (left := await store.pending_questions()) and not task.done():
            now_s = loop.time()
            answered_s = now_s if left != last else answered_s
            busy_s = now_s if left != last or asking.in_flight else busy_s
            last = left
            progress(total - left, total)
            problem = _problem(asking)
            if problem and problem.reason in _NO_USE_WAITING and now_s - busy_s > _SETTLED_S:
                return problem
            if now_s - answered_s > patience_s:
                return problem or NotJudged("judge_unavailable", f"no answer for {patience_s:g} s")
            await asyncio.sleep(_LOOK_S)
        if task.done():
            task.result()
        progress(total, total)
    finally:
        await _ended(task)
    return None


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancelled, and again if need be: `asyncio.wait_for` of Python 3.11 may swallow a cancellation that comes together
    with what it waits for."""
    while not task.done():
        task.cancel()
        await asyncio.wait((task,), timeout=_LOOK_S)
    with suppress(asyncio.CancelledError):
        await task


def _problem(asking: Asking) -> NotJudged | None:
    told = asking.problem()
    if told is None:
        return None
    reason, _, detail = told.partition(": ")
    return NotJudged(reason, detail)


async def _found(store: SqliteStore, one: Examined, problem: NotJudged | None) -> Examined:
    """With the verdicts there are now, and with `problem` where there is still a question."""
    verdicts = [_without_waiting(judged, problem) for judged in await store.verdicts(one.session.ref)]
    return replace(one, verdicts=tuple(verdicts), questions=())


def _without_waiting(judged: Judged, problem: NotJudged | None) -> Judged:
    match judged.verdict.outcome:
        case NotJudged("pending") if problem is not None:
            return replace(judged, verdict=replace(judged.verdict, outcome=problem))
    return judged
