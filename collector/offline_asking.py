"""Put the questions of recorded sessions to the judge, with the server's own votes, retries, circuit and budget."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from collector.clock import Clock
from collector.judge_building import build_asking
from collector.judge_config import BatchSettings, JudgeSettings
from collector.metrics import Metrics
from collector.offline import Examined
from collector.store.sqlite import SqliteStore
from judge.clients.anthropic import AnthropicJudge

_LOOK_S = 0.1
_PATIENCE_S = 90.0


async def ask(
    examined: Sequence[Examined],
    settings: JudgeSettings,
    judge: AnthropicJudge,
    clock: Clock,
    progress: Callable[[int, int], None],
    patience_s: float = _PATIENCE_S,
) -> tuple[list[Examined], str | None]:
    """Put the questions to the judge, with the rules of the configuration but never in batches. What has no answer when
    the judge could not be asked for `patience_s` stays `NotJudged("pending")`; the text says why, None if all were
    answered. `progress(answered, all)` is called now and then."""
    settings = settings.model_copy(update={"batches": BatchSettings()})
    with tempfile.TemporaryDirectory(prefix="spanjudge-") as directory:
        store = SqliteStore.open(Path(directory) / "verdicts.sqlite3")
        try:
            for one in examined:
                await store.finish(one.session, one.verdicts, one.questions, ())
            problem = await _answered(store, settings, judge, clock, progress, patience_s)
            found = [
                replace(one, verdicts=tuple(await store.verdicts(one.session.ref)), questions=()) for one in examined
            ]
        finally:
            await store.close()
    return found, problem


def _nothing() -> None:
    """Nobody waits for single verdicts here."""


async def _answered(
    store: SqliteStore,
    settings: JudgeSettings,
    judge: AnthropicJudge,
    clock: Clock,
    progress: Callable[[int, int], None],
    patience_s: float,
) -> str | None:
    total = await store.pending_questions()
    asking = build_asking(settings, judge, store, clock, Metrics(), exporters=(), on_verdict=_nothing).asking
    task = asyncio.create_task(asking.run())
    loop = asyncio.get_running_loop()
    last, since = total, loop.time()
    try:
        while (left := await store.pending_questions()) and not task.done():
            if left != last:
                last, since = left, loop.time()
            progress(total - left, total)
            problem = asking.problem()
            if loop.time() - since > patience_s:
                return problem or f"no answer for {patience_s:g} s"
            await asyncio.sleep(_LOOK_S)
        if task.done():
            task.result()
        progress(total, total)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return None
