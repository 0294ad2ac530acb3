"""Signing in with a token in a browser, and out again."""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from collector.access import csrf
from collector.access.access import SIGN_IN, SIGN_OUT, STYLE, Access
from collector.access.forms import form
from collector.access.own_origin import names_its_origin
from collector.access.rejected import Rejected
from collector.access.visitors import COOKIE

_MOST_BYTES = 16 * 1024
_MOST_NEXT = 4096
_COLORS = {
    "light": ("#fff", "#1b1b1f", "#1f4fb6", "#fff", "#b3261e"),
    "dark": ("#141418", "#e6e6ea", "#9db8ff", "#10101a", "#ff9d94"),
}


def sign_in_routes(access: Access) -> list[BaseRoute]:
    """None where there are no tokens to sign in with."""
    if not access.visitors.may_sign_in:
        return []
    pages = _Pages(access)
    return [
        Route(SIGN_IN, pages.ask, methods=["GET"]),
        Route(SIGN_IN, pages.sign_in, methods=["POST"]),
        Route(SIGN_OUT, pages.sign_out, methods=["POST"]),
        Route(STYLE, _style, methods=["GET"]),
    ]


def again_from_here() -> Response:
    """Browsers leave our cookie out where a link from elsewhere is followed. The page asks for itself once more, which
    then comes from a page of ours."""
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0">'
        "<title>SpanJudge</title><p>One moment. If nothing happens, load this page again.</p></html>"
    )


def local_path(given: str) -> str:
    """Where to go after signing in: a page of ours, whatever a link to the form says."""
    plain = given.isascii() and given.isprintable() and "\\" not in given and len(given) <= _MOST_NEXT
    ours = given.startswith("/") and not given.startswith("//") and not given.startswith((SIGN_IN, SIGN_OUT))
    return given if plain and ours else "/"


class _Pages:
    def __init__(self, access: Access) -> None:
        self._visitors = access.visitors

    async def ask(self, request: Request) -> Response:
        return _page(local_path(request.query_params.get("next", "/")))

    async def sign_in(self, request: Request) -> Response:
        if not names_its_origin(request):
            # Or a page elsewhere could sign somebody in as somebody else.
            raise Rejected(403, "forbidden", ("", "sign in with a browser, or send the token as Authorization: Bearer"))
        given = await form(request, _MOST_BYTES)
        to = local_path(given.get("next", "/"))
        try:
            session, seconds = self._visitors.sign_in(request, given.get("token", ""))
        except Rejected as rejected:
            return _page(to, rejected)
        answer = RedirectResponse(to, status_code=303)
        answer.set_cookie(
            COOKIE,
            session,
            max_age=seconds,
            path="/",
            secure=self._visitors.is_secure(request),
            httponly=True,
            samesite="strict",
        )
        return answer

    async def sign_out(self, request: Request) -> Response:
        given = await form(request, _MOST_BYTES)
        csrf.require(request, given.get("csrf", ""))
        answer = RedirectResponse(SIGN_IN, status_code=303)
        answer.delete_cookie(
            COOKIE, path="/", secure=self._visitors.is_secure(request), httponly=True, samesite="strict"
        )
        return answer


def _page(to: str, rejected: Rejected | None = None) -> Response:
    problem = "" if rejected is None else f'<p id="problem" role="alert">{escape(rejected.problems[0][1])}</p>'
    described = "" if rejected is None else ' aria-describedby="problem" aria-invalid="true"'
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in - SpanJudge</title>
<link rel="stylesheet" href="{STYLE}">
</head>
<body>
<main>
<h1>SpanJudge</h1>
{problem}
<form method="post" action="{SIGN_IN}">
<input type="hidden" name="next" value="{escape(to)}">
<label for="token">Your token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus{described}>
<button>Sign in</button>
</form>
</main>
</body>
</html>
"""
    headers = {} if rejected is None else {k: v for k, v in rejected.headers.items() if k == "Retry-After"}
    return HTMLResponse(page, 200 if rejected is None else rejected.status, headers=headers)


async def _style(_: Request) -> Response:
    return Response(_CSS, headers={"content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=3600"})


def _colors(name: str) -> str:
    back, text, button, on_button, problem = _COLORS[name]
    return f"--back:{back};--text:{text};--button:{button};--on-button:{on_button};--problem:{problem}"


_CSS = f"""\
:root {{ {_colors("light")} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_colors("dark")} }} }}
body {{ margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }}
main {{ max-width: 22rem; margin: 15vh auto 0; padding: 0 1rem; }}
form {{ display: grid; gap: .5rem; }}
input, button {{ font: inherit; padding: .6rem .75rem; border-radius: .4rem; min-height: 1.5rem; }}
input {{ background: var(--back); color: var(--text); border: 1px solid var(--text); }}
button {{ background: var(--button); color: var(--on-button); border: 0; font-weight: 600; }}
:focus-visible {{ outline: 3px solid var(--button); outline-offset: 2px; }}
#problem {{ color: var(--problem); }}
"""
