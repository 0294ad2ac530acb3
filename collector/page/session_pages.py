"""The list, one session, one long text of it, and the session of a trace."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from collector.access import csrf
from collector.access.any_text import ANY
from collector.access.rejected import Rejected
from collector.page.addresses import address, closing_query, query_text, session_url
from collector.page.means import Means, person_of, tenants_of
from collector.page.questions import asked, number
from collector.page.reading import find, labels_of, waiting_of
from collector.page.session_view import session_values
from collector.page.sessions_list import list_values
from collector.page.texts import Texts
from collector.page.timeline import MOST_ENTRIES, happenings
from collector.page.verdict_view import Beside
from collector.page.whole_texts import part_of, text_of
from collector.store.finding import closing_of
from collector.store.store import ClosedSession
from judge.verdict import SessionRef

_MOST_REVISION = 2**31 - 1
_MOST_FIRST = 10**9


class SessionPages:
    def __init__(self, means: Means) -> None:
        self._means = means

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/sessions", self._list, methods=["GET"]),
            Route(f"/sessions/{{id:{ANY}}}", self._session, methods=["GET"]),
            Route("/text", self._text, methods=["GET"]),
            Route("/traces/{trace}", self._trace, methods=["GET"]),
            Route("/traces/{trace}/{span}", self._trace, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        means, tenants = self._means, tenants_of(request)
        now_ns = means.clock.now_ns()
        question = asked(request.query_params, tenants, now_ns)
        page, names = await asyncio.gather(
            means.store.listing.page(question.wanted), means.store.listing.names(tenants)
        )
        values = list_values(question, page, names, means.redaction, now_ns)
        return await means.rendering.page(request, "sessions.html", values, 422 if question.problems else 200)

    async def _session(self, request: Request) -> Response:
        means, query = self._means, request.query_params
        found = await find(
            means.store,
            request.path_params["id"] or query.get("session", ""),
            query.get("tenant"),
            revision_of(request),
            tenants_of(request),
        )
        ref = found.session.ref
        verdicts = await means.store.verdicts(ref)
        labels, waiting = await asyncio.gather(
            labels_of(means.store, verdicts), waiting_of(means.store, ref, means.clock.now_ns())
        )
        beside = Beside(waiting, labels, means.scales, means.settings.trace_url)
        first = number(query.get("first", ""), 0, _MOST_FIRST)
        texts = Texts(ref, means.redaction)
        # In a thread: a session may be large, and the event loop has telemetry to take.
        values = await asyncio.to_thread(session_values, found, verdicts, beside, means.rules(), texts, first)
        public = means.settings.public_url
        same = {**closing_query(ref), **({"author": query["author"]} if query.get("author") else {})}
        del same["session"]
        return await means.rendering.page(
            request,
            "session.html",
            {
                **values,
                "part_first": lambda at: query_text({**same, "first": str(at)}),
                "seen_spans": set(),
                "part": query_text(closing_query(ref)),
                "share": public and public + session_url(ref, ref.revision),
                "csrf": csrf.token(request),
                "author": person_of(request) or query.get("author", ""),
                "now_ns": means.clock.now_ns(),
            },
        )

    async def _text(self, request: Request) -> Response:
        means, query = self._means, request.query_params
        found = await find(
            means.store, query.get("session", ""), query.get("tenant"), revision_of(request), tenants_of(request)
        )
        ref, of = found.session.ref, query.get("of", "")
        verdicts = await means.store.verdicts(ref) if of.startswith("verdict.") else []
        texts = Texts(ref, means.redaction)
        text = await asyncio.to_thread(text_of, found.session.trajectory, verdicts, of, texts)
        if text is None:
            raise Rejected(404, "not found", ("", "the session has no such text"))
        part = await asyncio.to_thread(part_of, text, number(query.get("part", ""), 0, _MOST_FIRST), texts)
        query_of = {**closing_query(ref), "of": of}
        links = [address("/text", {**query_of, "part": str(at)}) for at in range(part.parts)]
        values = {
            "part": part,
            "of": " ".join(of.split("."))[:100],
            "back": session_url(ref, ref.revision),
            "before": links[part.number - 1] if part.number else "",
            "behind": links[part.number + 1] if part.number + 1 < part.parts else "",
            "id": texts.identifier(ref.session_id),
        }
        return await means.rendering.page(request, "text.html", values)

    async def _trace(self, request: Request) -> Response:
        """To the session that has the trace, and to the span in it."""
        store, tenants = self._means.store, tenants_of(request)
        trace, span = request.path_params["trace"].lower(), request.path_params.get("span", "").lower()
        refs = await store.listing.of_trace(trace, tenants)
        if not refs:
            raise Rejected(
                404,
                "no session",
                ("", "no session that is kept was read from this trace: it may still be open, or not be sampled"),
            )
        if not span:
            return RedirectResponse(session_url(refs[0]), 303)
        for ref in refs:
            closing = await closing_of(store, ref)
            if closing is not None and (at := await asyncio.to_thread(_entry_of, closing, trace, span)) is not None:
                return RedirectResponse(_part_url(ref, at, span), 303)
        return RedirectResponse(session_url(refs[0]), 303)


def revision_of(request: Request) -> int | None:
    text = request.query_params.get("revision", "")
    return (number(text, 0, _MOST_REVISION)) if text else None


def _entry_of(closing: ClosedSession, trace: str, span: str) -> int | None:
    """The number of the first entry that was read from the span."""
    happened = happenings(closing.trajectory) if closing.trajectory else []
    for at, one in enumerate(happened):
        anchor = getattr(one.item, "anchor", None)
        if anchor is not None and (anchor.trace_id, anchor.span_id) == (trace, span):
            return at
    return None


def _part_url(ref: SessionRef, at: int, span: str) -> str:
    first = at - at % MOST_ENTRIES
    return f"{session_url(ref, ref.revision, **({'first': str(first)} if first else {}))}#span-{span}"
