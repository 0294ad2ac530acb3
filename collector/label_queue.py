"""Which verdict a person should look at next."""

from __future__ import annotations

from collections.abc import Collection

from collector.store.listing import SessionOutcome, Tenants, Wanted
from collector.store.store import Store, VerdictFilter
from judge.verdict import Judged, Score
from judge.yardstick import Yardstick

_DAMAGED = 20
"""So many verdicts of a side may be damaged, and have no score to label, before nothing seems to be left."""


async def next_to_label(
    store: Store, evaluator: str, skipped: Collection[str] = (), tenants: Tenants = None
) -> Judged | None:
    """One that nobody has labelled, of the evaluator as it judged last: from the side, passed or failed, with fewer
    labels, and on that side by chance. None when all are labelled or skipped. Only of these tenants, where they are
    given.

    Failures are rare, and a plain sample would hardly hold any; accuracy is weighted back (`judge.calibration`).
    """
    yardstick = await _newest(store, evaluator, tenants)
    if yardstick is None:
        return None
    given = [one for one in await store.labels.given(evaluator) if one.yardstick == yardstick]
    labels = {side: len({one.label.verdict_id for one in given if one.passed == side}) for side in (True, False)}
    for side in sorted(labels, key=lambda side: labels[side]):
        where = VerdictFilter(
            evaluator=evaluator,
            evaluator_version=yardstick.version,
            judge_model=yardstick.model,
            passed=side,
            labelled=False,
            newest_closing=True,
            order="by_chance",
            limit=len(skipped) + 1 + _DAMAGED,
            tenants=tenants,
        )
        for judged in await store.find_verdicts(where):
            if judged.id not in skipped and isinstance(judged.verdict.outcome, Score):
                return judged
    return None


async def _newest(store: Store, evaluator: str, tenants: Tenants) -> Yardstick | None:
    found: list[Judged] = []
    outcomes: tuple[SessionOutcome, ...] = ("passed", "failed")
    for outcome in outcomes:
        page = await store.listing.page(Wanted(evaluator=evaluator, outcome=outcome, tenants=tenants, limit=1))
        for line in page.lines:
            found += [one for one in await store.verdicts(line.ref) if _is_scored(one, evaluator)]
    if not found:
        return None
    verdict = max(found, key=lambda judged: judged.judged_ns).verdict
    return Yardstick(verdict.evaluator, verdict.evaluator_version, verdict.judge_model, verdict.prompt_version)


def _is_scored(judged: Judged, evaluator: str) -> bool:
    return judged.verdict.evaluator == evaluator and isinstance(judged.verdict.outcome, Score)
