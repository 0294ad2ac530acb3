"""Labelling: verdicts to look at one by one, and keeping what a person says about one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from collector.access import csrf
from collector.access.forms import form
from collector.access.rejected import Rejected
from collector.label_queue import next_to_label
from collector.labelling import NotALabel, Said, label_of
from collector.page.addresses import address, session_url
from collector.page.means import Means, person_of, tenants_of
from collector.page.reading import find, labels_of
from collector.page.rendering import may_write
from collector.page.texts import Texts
from collector.page.verdict_view import Beside, verdict_view
from collector.store.store import VerdictFilter
from judge.verdict import Judged, SessionRef

_MOST_SKIPPED = 200
_TEXT = 4_000


class LabelPages:
    def __init__(self, means: Means) -> None:
        self._means = means

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/label", self._queue, methods=["GET"]),
            Route("/label", self._keep, methods=["POST"]),
        ]

    async def _queue(self, request: Request) -> Response:
        query = request.query_params
        if verdict := query.get("verdict", ""):
            judged = await self._judged(request, verdict)
            return await self._ask(request, judged, {"author": query.get("author", "")}, {})
        evaluator = query.get("evaluator", "").strip()
        if not evaluator:
            names = await self._means.store.listing.names(tenants_of(request))
            return await self._means.rendering.page(request, "label_choice.html", {"evaluators": names.evaluators})
        skipped = [one for one in query.get("skip", "").split(",") if one][-_MOST_SKIPPED:]
        unlabelled = await next_to_label(self._means.store, evaluator, skipped, tenants_of(request))
        if unlabelled is None:
            values = {
                "evaluator": Texts(SessionRef(""), self._means.redaction).name(evaluator),
                "skipped": len(skipped),
            }
            return await self._means.rendering.page(request, "label_done.html", values)
        given = {"author": query.get("author", ""), "evaluator": evaluator, "skip": ",".join(skipped)}
        return await self._ask(request, unlabelled, given, {})

    async def _keep(self, request: Request) -> Response:
        given = await form(request)
        csrf.require(request, given.get("csrf", ""))
        judged = await self._judged(request, given.get("verdict", ""))
        if given.get("agree") not in {"yes", "no"}:
            return await self._ask(request, judged, given, {"agree": "Say whether you agree."})
        author = person_of(request) or given.get("author", "")
        agrees = given["agree"] == "yes"
        said = Said(agrees, given.get("reason", ""), author, None if agrees else given.get("label", "").strip() or None)
        evaluator = judged.verdict.evaluator
        seen = await self._means.store.labels.known_labels(evaluator, tenants_of(request))
        try:
            now_ns = self._means.clock.now_ns()
            label = label_of(judged, said, now_ns, self._means.scales.get(evaluator), seen)
        except NotALabel as error:
            return await self._ask(request, judged, given, {error.field: str(error)})
        if not await self._means.store.labels.add(label):
            raise Rejected(404, "not found", ("", "the verdict is not kept any more"))
        return RedirectResponse(self._next(request, judged, given), 303)

    def _next(self, request: Request, judged: Judged, given: Mapping[str, str]) -> str:
        """The next of the queue, or back to the session. Who labels is carried on in the address, where nobody is
        signed in: a cookie would be one more thing to explain."""
        author = {"author": given["author"]} if given.get("author") and person_of(request) is None else {}
        if evaluator := given.get("evaluator"):
            query = {"evaluator": evaluator, **({"skip": given["skip"]} if given.get("skip") else {}), **author}
            return address("/label", query)
        return f"{session_url(judged.session, judged.session.revision, **author)}#v-{judged.id}"

    async def _judged(self, request: Request, verdict: str) -> Judged:
        """Raises `Rejected`, also for verdicts of tenants that may not be seen."""
        tenants = tenants_of(request)
        whole = len(verdict) == 32
        found = await self._means.store.find_verdicts(VerdictFilter(id_prefix=verdict, limit=1)) if whole else []
        if not found or (tenants is not None and found[0].session.tenant not in tenants):
            raise Rejected(404, "not found", ("", "there is no such verdict, or it is not kept any more"))
        return found[0]

    async def _ask(
        self, request: Request, judged: Judged, given: Mapping[str, str], problems: Mapping[str, str]
    ) -> Response:
        """The form about one verdict; with what was filled in before, if it could not be kept."""
        means = self._means
        ref = judged.session
        found, labels = await asyncio.gather(
            find(means.store, ref.session_id, ref.tenant, ref.revision, tenants_of(request)),
            labels_of(means.store, [judged]),
        )
        trajectory = found.session.trajectory
        texts = Texts(ref, means.redaction)
        view = verdict_view(judged, texts, Beside({}, labels, means.scales, means.settings.trace_url))
        queue = {name: given[name] for name in ("evaluator", "skip", "author") if given.get(name)}
        skipped = ",".join(filter(None, (given.get("skip", ""), judged.id)))
        values: dict[str, Any] = {
            "verdict": view,
            "id": texts.identifier(ref.session_id),
            "session_url": session_url(ref, ref.revision),
            "task": texts.piece(trajectory.task if trajectory else None, "task", _TEXT),
            "answer": texts.piece(trajectory.answer if trajectory else None, "answer", _TEXT),
            "readable": trajectory is not None,
            "given": {"agree": "", "label": "", "reason": "", "author": "", "evaluator": "", "skip": "", **given},
            "problems": problems,
            "csrf": csrf.token(request),
            "skip_url": address("/label", {**queue, "skip": skipped}) if given.get("evaluator") else "",
            "may_label": may_write(request),
        }
        return await means.rendering.page(request, "label.html", values, 422 if problems else 200)
