"""Sessions and verdicts to read, labels to give."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import AwareDatetime
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from collector.access.any_text import ANY
from collector.access.rejected import Rejected, refusal
from collector.access.turns import Handler, Turns
from collector.api.openapi import document
from collector.api.operations import DOCUMENT, OPERATIONS, Name
from collector.api.requests import (
    LabelGiven,
    SessionAsked,
    SessionsAsked,
    VerdictsAsked,
    body,
    query,
)
from collector.clock import Clock
from collector.errors import StoreUnavailable
from collector.labelling import NotALabel, Said, label_of
from collector.store.finding import closing_of, closings_seen
from collector.store.labels import Label
from collector.store.records import CLOSED_SESSION, JUDGED, tame
from collector.store.store import ClosedSession, SessionFilter, SessionSummary, Store, VerdictFilter
from judge.masking import masked_judged
from judge.question import Scale
from judge.redaction import NOTHING, Redaction
from judge.verdict import Judged

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_NS = 2**63 - 1
MOST_TASK = 2_000
"""Characters of a task in lists. The store keeps twice as many, so that a secret is seen whole before it is cut."""


class Api:
    """`scales` by evaluator are those whose labels are all known; `redaction` masks what is shown of sessions;
    `turns` are shared with the page."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        scales: Mapping[str, Scale],
        *,
        redaction: Redaction = NOTHING,
        turns: Turns | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._scales = scales
        self._redaction = redaction
        self._turns = turns or Turns()

    def routes(self) -> list[BaseRoute]:
        handlers: Mapping[Name, Handler] = {
            "list_sessions": self._sessions,
            "get_session": self._session,
            "list_verdicts": self._verdicts,
            "add_label": self._label,
        }
        contract = document()

        async def tell_contract(_: Request) -> Response:
            return JSONResponse(contract)

        served = [
            Route(one.path.replace("{id}", f"{{id:{ANY}}}"), self._guarded(handlers[one.name]), methods=[one.method])
            for one in OPERATIONS
        ]
        return [*served, Route(DOCUMENT, tell_contract, methods=["GET"])]

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            try:
                return await self._turns.answer(request, handler)
            except Rejected as rejected:
                return refusal(rejected)
            except StoreUnavailable as error:
                again = {"Retry-After": str(error.retry_after_s)}
                return refusal(Rejected(503, "store unavailable", ("", str(error)), headers=again))

        return guarded

    async def _sessions(self, request: Request) -> Response:
        asked = query(request, SessionsAsked)
        where = SessionFilter(
            tenants=_tenants(request, asked.tenant),
            service=asked.service,
            harness=asked.harness,
            evaluator=asked.evaluator,
            label=asked.label,
            text=asked.text,
            since_ns=_nanoseconds(asked.since),
            limit=asked.limit,
        )
        found = await self._store.sessions(where)
        return JSONResponse({"sessions": [_summary(one, self._redaction) for one in found]})

    async def _session(self, request: Request) -> Response:
        asked = query(request, SessionAsked)
        visible, session_id = _tenants(request, asked.tenant), request.path_params["id"]
        only = next(iter(visible)) if visible is not None and len(visible) == 1 else asked.tenant
        closings = await closings_seen(self._store, session_id, only, visible)
        if len(tenants := closings.tenants) > 1:
            raise Rejected(409, "ambiguous", ("tenant", f"several tenants have such a session: {', '.join(tenants)}"))
        ref = closings.chosen(asked.revision)
        chosen = None if ref is None else await closing_of(self._store, ref)
        if chosen is None:
            raise Rejected(404, "not found", ("revision" if closings.refs else "id", "there is none like this"))
        return JSONResponse(
            {
                # In a thread: a session may be large, and the event loop has telemetry to take.
                "session": await asyncio.to_thread(_session, chosen, self._redaction),
                "revisions": list(closings.revisions),
                "verdicts": await self._with_labels(await self._store.verdicts(chosen.ref)),
            }
        )

    async def _verdicts(self, request: Request) -> Response:
        asked = query(request, VerdictsAsked)
        where = VerdictFilter(
            tenants=_tenants(request, asked.tenant),
            session_id=asked.session,
            evaluator=asked.evaluator,
            label=asked.label,
            passed=asked.passed,
            labelled=asked.labelled,
            since_ns=_nanoseconds(asked.since),
            order=asked.order,
            limit=asked.limit,
        )
        return JSONResponse({"verdicts": await self._with_labels(await self._store.find_verdicts(where))})

    async def _label(self, request: Request) -> Response:
        given = await body(request, LabelGiven)
        tenants, person = _tenants(request), request.state.person
        where = VerdictFilter(id_prefix=given.verdict, tenants=tenants, limit=1)
        judged = next(iter(await self._store.find_verdicts(where)), None)
        if judged is None:
            raise Rejected(404, "not found", ("verdict", "there is no such verdict"))
        evaluator = judged.verdict.evaluator
        seen = await self._store.labels.known_labels(evaluator, tenants)
        if person is not None and given.author not in {None, person}:
            raise Rejected(422, "invalid", ("author", f"you are signed in as {person}: leave the author out"))
        said = Said(given.agree, given.reason, person or given.author or "", given.label)
        try:
            label = label_of(judged, said, self._clock.now_ns(), self._scales.get(evaluator), seen)
        except NotALabel as error:
            raise Rejected(422, "invalid", (error.field, str(error))) from error
        if not await self._store.labels.add(label):
            raise Rejected(404, "not found", ("verdict", "there is no such verdict any more"))
        return JSONResponse({"label": _label(label)}, status_code=201)

    async def _with_labels(self, verdicts: Sequence[Judged]) -> list[dict[str, Any]]:
        labels: dict[str, list[dict[str, Any]]] = {}
        for label in await self._store.labels.of_verdicts([one.id for one in verdicts]):
            labels.setdefault(label.verdict_id, []).append(_label(label))
        masked = [masked_judged(one, self._redaction) for one in verdicts]
        return [{**json.loads(JUDGED.dump(one)), "labels": labels.get(one.id, [])} for one in masked]


def _summary(one: SessionSummary, redaction: Redaction) -> dict[str, Any]:
    task = None if one.task is None else redaction.cut_before(one.task, MOST_TASK)
    shown = replace(one, task=task, note=redaction.text(one.note), agent=one.agent and redaction.text(one.agent))
    found = {field.name: tame(getattr(shown, field.name)) for field in fields(shown)}
    return {**found, "closed_at": _instant(one.closed_ns)}


def _session(session: ClosedSession, redaction: Redaction) -> dict[str, Any]:
    """The record with its secrets masked; ids stay, since others are found by them."""
    record: dict[str, Any] = json.loads(CLOSED_SESSION.dump(session))
    trajectory = record["trajectory"]
    if trajectory is not None:
        masked = {key: redaction.value(value) for key, value in trajectory.items()}
        trajectory = {**masked, "session_id": trajectory["session_id"]}
    return {**record, "trajectory": trajectory, "note": redaction.text(session.note)}


def _label(label: Label) -> dict[str, Any]:
    return {**asdict(label), "at": _instant(label.at_ns)}


def _instant(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat(timespec="milliseconds")


def _nanoseconds(instant: AwareDatetime | None) -> int | None:
    """As far as the store can hold it: before and after that nothing was ever closed."""
    if instant is None:
        return None
    since = (instant - _EPOCH) // timedelta(microseconds=1) * 1_000
    return max(0, min(since, _LATEST_NS))


def _tenants(request: Request, named: str | None = None) -> frozenset[str] | None:
    """Whose sessions may be looked at, of those asked for; None for everybody's. Fails where no access was decided."""
    visible: frozenset[str] | None = request.state.tenants
    if named is None:
        return visible
    return frozenset({named}) if visible is None else visible & {named}
