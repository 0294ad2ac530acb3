"""Labels in SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Integer, Select, cast, func, select

from collector.store.inserting import insert
from collector.store.label_tables import labels
from collector.store.labels import Counted, GivenLabel, Label
from collector.store.schema import sessions, verdicts
from collector.store.transacting import Transact
from collector.store.verdict_search import superseded
from judge.pass_rates import Tally
from judge.verdict import SessionRef
from judge.yardstick import Yardstick

_LABEL = (
    labels.c.verdict,
    labels.c.author,
    labels.c.at_ns,
    labels.c.agrees,
    labels.c.passes,
    labels.c.reason,
    labels.c.right_label,
)
_YARDSTICK = ("evaluator", "evaluator_version", "judge_model", "prompt_version")


class SqlLabels:
    """A `collector.store.labels.Labels`. `read` and `write` run a function in one transaction of the store."""

    def __init__(self, read: Transact, write: Transact) -> None:
        self._read = read
        self._write = write

    async def add(self, label: Label) -> bool:
        about = (
            select(
                *(verdicts.c[name] for name in (*_YARDSTICK, "label", "passed")),
                sessions.c.tenant,
                sessions.c.session_id,
                sessions.c.revision,
            )
            .join_from(verdicts, sessions)
            .where(verdicts.c.id == label.verdict_id, verdicts.c.passed.is_not(None))
        )

        def add(to: Connection) -> bool:
            verdict = to.execute(about).mappings().first()
            if verdict is None:
                return False
            said = {
                "verdict": label.verdict_id,
                "author": label.author,
                "at_ns": label.at_ns,
                "agrees": label.agrees,
                "passes": label.passes,
                "reason": label.reason,
                "right_label": label.right_label,
            }
            to.execute(insert(to, labels).values(**verdict, **said).on_conflict_do_nothing())
            return True

        return await self._write(add)

    async def of_verdicts(self, verdict_ids: Collection[str]) -> list[Label]:
        statement = select(*_LABEL).where(labels.c.verdict.in_(verdict_ids)).order_by(labels.c.at_ns, labels.c.number)
        return [Label(*row) for row in await self._rows(statement)]

    async def given(self, evaluator: str | None = None, since_ns: int | None = None) -> list[GivenLabel]:
        about = [labels.c[name] for name in ("session_id", "revision", "tenant", *_YARDSTICK, "label", "passed")]
        statement = select(*_LABEL, *about).order_by(labels.c.at_ns, labels.c.number)
        if evaluator is not None:
            statement = statement.where(labels.c.evaluator == evaluator)
        if since_ns is not None:
            statement = statement.where(labels.c.at_ns >= since_ns)
        return [_given(row) for row in await self._rows(statement)]

    async def counts(self, since_ns: int | None = None, evaluators: Collection[str] | None = None) -> Sequence[Counted]:
        return [_counted(row) for row in await self._rows(_counts(since_ns, evaluators))]

    async def known_labels(self, evaluator: str, tenants: frozenset[str] | None = None) -> dict[str, set[bool]]:
        statement = select(verdicts.c.label, verdicts.c.passed).distinct()
        if tenants is not None:
            statement = statement.join_from(verdicts, sessions).where(sessions.c.tenant.in_(sorted(tenants)))
        known: dict[str, set[bool]] = {}
        for label, passed in await self._rows(
            statement.where(verdicts.c.evaluator == evaluator, verdicts.c.passed.is_not(None))
        ):
            known.setdefault(label, set()).add(bool(passed))
        return known

    async def _rows(self, statement: Select[Any]) -> Sequence[Any]:
        return await self._read(lambda to: to.execute(statement).all())


def _counts(since_ns: int | None, evaluators: Collection[str] | None) -> Select[Any]:
    """service, agent_version, the yardstick, then the fields of `Tally` in their order. First by session, since
    that is what was sampled, then over sessions."""
    by = [sessions.c.service, *(verdicts.c[name] for name in ("agent_version", *_YARDSTICK))]
    n, k = func.count().label("n"), func.sum(cast(verdicts.c.passed, Integer)).label("k")
    weight = (1.0 / func.max(verdicts.c.inclusion_probability)).label("w")
    scored = (
        select(*by, n, k, weight)
        .join_from(verdicts, sessions)
        .where(verdicts.c.passed.is_not(None), ~superseded())
        .group_by(verdicts.c.session, *by)
    )
    if since_ns is not None:
        scored = scored.where(sessions.c.closed_ns >= since_ns)
    if evaluators is not None:
        scored = scored.where(verdicts.c.evaluator.in_(evaluators))
    each = scored.subquery()
    w, square = each.c.w, each.c.w * each.c.w
    sums = [each.c.n, each.c.k, w * each.c.n, w * each.c.k]
    sums += [square * each.c.n * each.c.n, square * each.c.n * each.c.k, square * each.c.k * each.c.k]
    of = [each.c[name] for name in ("service", "agent_version", *_YARDSTICK)]
    return select(*of, func.count(), *(func.sum(one) for one in sums)).group_by(*of).order_by(*of)


def _given(row: Any) -> GivenLabel:
    said, (session_id, revision, tenant), rest = row[:7], row[7:10], row[10:]
    *yardstick, judged_label, passed = rest
    return GivenLabel(
        Label(*said), SessionRef(session_id, revision, tenant), Yardstick(*yardstick), judged_label, bool(passed)
    )


def _counted(row: Any) -> Counted:
    service, agent_version, *rest = row
    return Counted(service, agent_version, Yardstick(*rest[:4]), Tally(*rest[4:]))
