"""A case of a suite from a session: to read, to download, and to add where the configuration names a suite file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from collector.access import csrf
from collector.access.forms import form
from collector.access.rejected import Rejected
from collector.commands.case_from_session import Added, CaseOptions, add_case
from collector.page.addresses import address, closing_query, session_url
from collector.page.files import read_if_there, replace_text
from collector.page.means import Means, tenants_of
from collector.page.questions import number
from collector.page.reading import Found, find
from collector.page.rendering import may_write
from collector.page.texts import Texts
from extractors.trajectory import Prompt, Trajectory
from judge.documents import DocumentError

_NAME = "added"
_FIELDS = ("id", "expect", "steps", "forbid", "answer", "ordered", "high_risk")
_MOST_REVISION = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Made:
    """The case, or why there is none."""

    added: Added | None
    problem: str = ""


class CasePages:
    def __init__(self, means: Means) -> None:
        self._means = means
        self._writing = asyncio.Lock()

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/case", self._look, methods=["GET"]),
            Route("/case", self._add, methods=["POST"]),
            Route("/case.yaml", self._download, methods=["GET"]),
        ]

    async def _look(self, request: Request) -> Response:
        found = await self._found(request, request.query_params)
        made = await asyncio.to_thread(_made, None, found, request.query_params, self._means)
        return await self._page(request, found, request.query_params, made)

    async def _download(self, request: Request) -> Response:
        found = await self._found(request, request.query_params)
        made = await asyncio.to_thread(_made, None, found, request.query_params, self._means)
        if made.added is None:
            raise Rejected(422, "no case", ("", made.problem))
        disposition = f'attachment; filename="{made.added.case["id"]}.yaml"' if _plain(made.added) else "attachment"
        return PlainTextResponse(made.added.text, headers={"content-disposition": disposition})

    async def _add(self, request: Request) -> Response:
        given = await form(request)
        csrf.require(request, given.get("csrf", ""))
        file = self._means.settings.suite_file
        if file is None:
            raise Rejected(404, "not found", ("", "page.suite_file names no suite that cases may be added to"))
        found = await self._found(request, given)
        async with self._writing:  # two at once would both add to the same text
            try:
                before = await asyncio.to_thread(read_if_there, file)
                made = await asyncio.to_thread(_made, before, found, given, self._means)
                if made.added is not None:
                    await asyncio.to_thread(replace_text, file, made.added.text)
            except (OSError, UnicodeDecodeError) as error:
                made = _Made(None, f"{file} cannot be used: {error}")
        return await self._page(request, found, given, made, written=made.added is not None)

    async def _found(self, request: Request, given: Mapping[str, str]) -> Found:
        revision = given.get("revision", "")
        found = await find(
            self._means.store,
            given.get("session", ""),
            given.get("tenant"),
            number(revision, 0, _MOST_REVISION) if revision else None,
            tenants_of(request),
        )
        if found.session.trajectory is None:
            raise Rejected(422, "no case", ("", "the session cannot be read, so no case can be made of it"))
        return found

    async def _page(
        self, request: Request, found: Found, given: Mapping[str, str], made: _Made, *, written: bool = False
    ) -> Response:
        ref = found.session.ref
        texts = Texts(ref, self._means.redaction)
        options = {name: given.get(name, "") for name in _FIELDS}
        closing = closing_query(ref)
        file = self._means.settings.suite_file
        values: dict[str, Any] = {
            "id": texts.identifier(ref.session_id),
            "session_url": session_url(ref, ref.revision),
            "closing": closing,
            "options": options,
            "case": None if made.added is None else texts.whole(made.added.text),
            "case_id": "" if made.added is None else f"{made.added.suite}/{made.added.case['id']}",
            "filled_in": sorted(made.added.remarks) if made.added else [],
            "problem": made.problem,
            "download": address("/case.yaml", {**closing, **_set(options)}),
            "suite_file": None if file is None else file.name,
            "written": written,
            "may_add": may_write(request),
            "csrf": csrf.token(request),
        }
        return await self._means.rendering.page(request, "case.html", values, 422 if made.problem else 200)


def _set(options: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in options.items() if value}


def _plain(added: Added) -> bool:
    name = str(added.case["id"])
    return name.isascii() and name.replace("-", "").replace("_", "").isalnum()


def _made(before: str | None, found: Found, given: Mapping[str, str], means: Means) -> _Made:
    trajectory = found.session.trajectory
    assert trajectory is not None
    file = means.settings.suite_file
    name = _NAME if file is None else file.stem
    hidden = _without_secrets(trajectory, means)
    if hidden.task != trajectory.task:
        return _Made(None, "the task holds a secret, which no suite should repeat: write the case by hand")
    try:
        added = add_case(before, name if file is None else file.name, name, hidden, _options(given))
    except DocumentError as error:
        return _Made(None, "; ".join(f"{one.key}: {one.message}" if one.key else one.message for one in error.problems))
    except ValueError as error:
        return _Made(None, str(error))
    if means.redaction.text(added.text) != added.text:
        return _Made(None, "the case would repeat a secret: write it by hand")
    return _Made(added)


def _without_secrets(trajectory: Trajectory, means: Means) -> Trajectory:
    """With the task masked: the rest of a case is names."""
    mask = means.redaction.value
    prompts = tuple(
        Prompt(None if one.text is None else cast("str", mask(one.text)), one.anchor, one.time_ns)
        for one in trajectory.prompts
    )
    return replace(trajectory, prompts=prompts)


def _options(given: Mapping[str, str]) -> CaseOptions:
    """As `spanjudge suite add` has them; several tools or texts stand on lines of their own."""

    def lines(name: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in given.get(name, "").splitlines() if line.strip())

    return CaseOptions(
        given.get("id", "").strip() or None,
        given.get("expect", "").strip() or None,
        lines("steps"),
        given.get("ordered") == "yes",
        lines("forbid"),
        lines("answer"),
        given.get("high_risk") == "yes",
    )
