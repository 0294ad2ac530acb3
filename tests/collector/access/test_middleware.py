"""Who is let in to the admin listener, asked over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from collector.access import csrf
from collector.access.forms import form
from collector.access.settings import AccessSettings, ProxySettings
from collector.access.visitors import COOKIE
from collector.admin import admin_app
from collector.http_serving import HttpServer
from collector.metrics import Metrics
from tests.fakes.access import OPEN, access, bearer, token, tokens_file
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS

HTML = {"accept": "text/html,application/xhtml+xml"}


async def _who(request: Request) -> Response:
    tenants = request.state.tenants
    told = {"person": request.state.person, "may_write": request.state.may_write, "csrf": csrf.token(request)}
    return JSONResponse({**told, "tenants": None if tenants is None else sorted(tenants)})


async def _change(request: Request) -> Response:
    csrf.require(request, (await form(request)).get("csrf", ""))
    return PlainTextResponse("changed")


async def _break(_: Request) -> Response:
    raise RuntimeError("zephyr")


ROUTES = [
    Route("/api/v1/broken", _break),
    Route("/sessions", _who),
    Route("/api/v1/sessions", _who),
    Route("/change", _change, methods=["POST"]),
]


@asynccontextmanager
async def listener(
    settings: AccessSettings | None = None,
    *,
    clock: FakeClock | None = None,
    metrics: Metrics | None = None,
    **how: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    metrics = metrics or Metrics()
    guard = access(settings, clock=clock, metrics=metrics, **how)
    server = HttpServer(admin_app(metrics, {}, routes=ROUTES, access=guard), "127.0.0.1:0", "admin.listen")
    address, task = await server.start()
    try:
        async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as client:
            yield client
    finally:
        server.stop()
        await task


def refused(metrics: Metrics, reason: str) -> float:
    return metrics.registry.get_sample_value("spanjudge_access_refused_total", {"reason": reason}) or 0


def own(client: httpx.AsyncClient) -> dict[str, str]:
    """What a browser adds to a form of ours."""
    return {"origin": str(client.base_url).rstrip("/")}


async def signed_in(client: httpx.AsyncClient, name: str, **headers: str) -> httpx.Response:
    return await client.post("/sign-in", data={"token": token(name)}, headers={**own(client), **headers})


# Nothing configured


async def test_on_loopback_everything_is_open_to_this_machine() -> None:
    async with listener() as client:
        who = (await client.get("/api/v1/sessions")).json()
    assert (who["person"], who["tenants"], who["may_write"]) == (None, None, True)


@pytest.mark.parametrize("path", ["/", "/sessions", "/api/v1/sessions", "/absent", "/sign-in"])
async def test_beyond_loopback_nothing_is_until_somebody_can_sign_in(path: str) -> None:
    metrics = Metrics()
    async with listener(listen=OPEN, metrics=metrics) as client:
        answer = await client.get(path, headers=HTML)
        assert answer.status_code == 403
        assert "access.tokens_file" in answer.text
        for open_path in ("/metrics", "/livez", "/readyz"):
            assert (await client.get(open_path)).status_code == 200
    assert refused(metrics, "not_configured") == 1


@pytest.mark.parametrize("host", ["x/livez?", "127.0.0.1/livez?", "x/metrics#", "localhost/sign-in?", "x:80/livez?y="])
async def test_no_host_header_opens_a_path(host: str) -> None:
    async with listener(listen=OPEN) as client:
        assert (await client.get("/api/v1/sessions", headers={"host": host})).status_code == 403


async def test_a_stranger_s_name_for_this_machine_is_refused() -> None:
    async with listener() as client:
        answer = await client.get("/api/v1/sessions", headers={"host": "rebound.example:9464"})
    assert answer.status_code == 403
    assert "localhost" in answer.json()["problems"][0]["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    ],
)
async def test_what_a_page_elsewhere_sends_is_refused(headers: Mapping[str, str]) -> None:
    metrics = Metrics()
    async with listener(metrics=metrics) as client:
        assert (await client.get("/sessions", headers=headers)).status_code == 403
        assert (await client.post("/change", headers=headers)).status_code == 403
    assert refused(metrics, "other_site") == 2


async def test_a_link_from_elsewhere_may_be_followed_and_a_form_from_elsewhere_not() -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    async with listener() as client:
        assert (await client.get("/sessions", headers=link)).status_code == 200
        assert (await client.post("/change", headers=link)).status_code == 403


async def test_on_loopback_too_a_form_needs_its_secret() -> None:
    metrics = Metrics()
    async with listener(metrics=metrics) as client:
        secret = (await client.get("/sessions")).json()["csrf"]
        assert (await client.post("/change", data={"csrf": secret})).text == "changed"
        for wrong in ("", secret[:-1], "\u00fc", secret.upper() + "0"):
            answer = await client.post("/change", data={"csrf": wrong})
            assert answer.status_code == 403
            assert "load the page anew" in answer.text
    assert refused(metrics, "csrf") == 4


# Tokens


async def test_a_token_says_who_and_what_may_be_seen(tmp_path: Path) -> None:
    people = tokens_file(tmp_path, ana={"tenants": ["north", ""], "read_only": True}, bob={})
    async with listener(AccessSettings(tokens_file=people)) as client:
        ana = (await client.get("/api/v1/sessions", headers=bearer("ana"))).json()
        bob = (await client.get("/api/v1/sessions", headers=bearer("bob"))).json()
    assert (ana["person"], ana["tenants"], ana["may_write"]) == ("ana", ["", "north"], False)
    assert (bob["person"], bob["tenants"], bob["may_write"]) == ("bob", None, True)
    assert ana["csrf"] != bob["csrf"]


@pytest.mark.parametrize("listen", [OPEN, "127.0.0.1:9464"])
async def test_without_a_token_the_api_says_what_to_send(tmp_path: Path, listen: str) -> None:
    metrics = Metrics()
    settings = AccessSettings(tokens_file=tokens_file(tmp_path, ana={}))
    async with listener(settings, listen=listen, metrics=metrics) as client:
        without = await client.get("/api/v1/sessions", headers=HTML)
        wrong = await client.get("/api/v1/sessions", headers=bearer("carl"))
        basic = await client.get("/api/v1/sessions", headers={"authorization": "Basic YW5hOmFuYQ=="})
    assert [answer.status_code for answer in (without, wrong, basic)] == [401, 401, 401]
    assert without.headers["www-authenticate"] == 'Bearer realm="SpanJudge"'
    assert "invalid_token" in wrong.headers["www-authenticate"]
    assert without.json()["error"] == "not signed in"
    assert (refused(metrics, "no_credentials"), refused(metrics, "wrong_token")) == (2, 1)


async def test_a_read_only_token_changes_nothing(tmp_path: Path) -> None:
    settings = AccessSettings(tokens_file=tokens_file(tmp_path, ana={"read_only": True}))
    async with listener(settings) as client:
        secret = (await client.get("/sessions", headers=bearer("ana"))).json()["csrf"]
        answer = await client.post("/change", data={"csrf": secret}, headers=bearer("ana"))
        assert answer.status_code == 403
        assert "change nothing" in answer.text
        assert (await client.delete("/api/v1/sessions", headers=bearer("ana"))).status_code == 403


async def test_a_token_that_was_taken_back_opens_nothing_any_more(tmp_path: Path) -> None:
    settings = AccessSettings(tokens_file=tokens_file(tmp_path, ana={}, bob={}))
    async with listener(settings) as client:
        await signed_in(client, "ana")
        assert (await client.get("/sessions")).status_code == 200
        tokens_file(tmp_path, bob={})
        assert (await client.get("/sessions")).status_code == 401
        assert (await client.get("/sessions", headers=bearer("ana"))).status_code == 401


async def test_who_guesses_too_often_waits_and_is_not_told_when_right(tmp_path: Path) -> None:
    clock, metrics = FakeClock(NOW_NS), Metrics()
    settings = AccessSettings(tokens_file=tokens_file(tmp_path, ana={}))
    async with listener(settings, clock=clock, metrics=metrics) as client:
        await signed_in(client, "ana")
        guesses = [await client.get("/api/v1/sessions", headers=bearer(f"guess{n}")) for n in range(12)]
        assert [guess.status_code for guess in guesses] == [401] * 10 + [429] * 2
        assert guesses[-1].headers["retry-after"] == "6"
        assert (await client.get("/api/v1/sessions", headers=bearer("ana"))).status_code == 429
        assert (await signed_in(client, "ana")).status_code == 429
        assert (await client.get("/sessions")).status_code == 200
        clock.advance(6)
        assert (await client.get("/api/v1/sessions", headers=bearer("ana"))).status_code == 200
    assert (refused(metrics, "wrong_token"), refused(metrics, "too_many_failures")) == (10, 4)


async def test_metrics_may_ask_for_a_token_of_somebody_who_sees_all(tmp_path: Path) -> None:
    people = tokens_file(tmp_path, prometheus={"read_only": True}, ana={"tenants": ["north"]})
    async with listener(AccessSettings(tokens_file=people, metrics="token")) as client:
        assert (await client.get("/metrics")).status_code == 401
        assert (await client.get("/metrics", headers=bearer("ana"))).status_code == 403
        assert (await client.get("/metrics", headers=bearer("prometheus"))).status_code == 200
        assert (await client.get("/livez")).status_code == 200


# Browsers


async def test_a_browser_is_sent_to_sign_in_and_comes_back(tmp_path: Path) -> None:
    metrics = Metrics()
    async with listener(AccessSettings(tokens_file=tokens_file(tmp_path, ana={})), metrics=metrics) as client:
        sent = await client.get("/sessions?service=a%26b", headers=HTML)
        assert sent.status_code == 303
        asked = await client.get(sent.headers["location"])
        assert 'value="/sessions?service=a%26b"' in asked.text
        back = await client.post(
            "/sign-in", data={"token": f" {token('ana')}\n", "next": "/sessions?service=a%26b"}, headers=own(client)
        )
        assert (back.status_code, back.headers["location"]) == (303, "/sessions?service=a%26b")
        assert (await client.get("/sessions", headers=HTML)).json()["person"] == "ana"
    assert metrics.registry.get_sample_value("spanjudge_sign_ins_total", {"outcome": "success"}) == 1


async def test_a_wrong_token_is_said_in_the_form_and_not_shown(tmp_path: Path) -> None:
    metrics = Metrics()
    async with listener(AccessSettings(tokens_file=tokens_file(tmp_path, ana={})), metrics=metrics) as client:
        answer = await signed_in(client, "carl")
    assert answer.status_code == 401
    assert 'role="alert"' in answer.text
    assert token("carl") not in answer.text
    assert COOKIE not in answer.headers.get("set-cookie", "")
    assert metrics.registry.get_sample_value("spanjudge_sign_ins_total", {"outcome": "failure"}) == 1


async def test_the_cookie_is_for_us_alone_and_secure_where_tls_is(tmp_path: Path) -> None:
    proxy = ProxySettings(header=None, trusted_proxies=("127.0.0.1",))
    settings = AccessSettings(tokens_file=tokens_file(tmp_path, ana={}), proxy=proxy, session_hours=2)
    async with listener(settings) as client:
        plain = (await signed_in(client, "ana")).headers["set-cookie"]
        by_tls = await signed_in(client, "ana", **{"x-forwarded-proto": "https"})
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=7200"} <= set(plain.split("; "))
    assert "Secure" not in plain
    assert "Secure" in by_tls.headers["set-cookie"].split("; ")
    assert by_tls.headers["strict-transport-security"] == "max-age=31536000"


async def test_a_session_ends_by_itself(tmp_path: Path) -> None:
    clock = FakeClock(NOW_NS)
    settings = AccessSettings(tokens_file=tokens_file(tmp_path, ana={}), session_hours=1)
    async with listener(settings, clock=clock) as client:
        await signed_in(client, "ana")
        cookie = {"cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
        clock.advance(3599)
        assert (await client.get("/sessions", headers=cookie)).status_code == 200
        clock.advance(1)
        assert (await client.get("/sessions", headers=cookie)).status_code == 401


async def test_signing_out_needs_the_form_s_secret_and_takes_the_cookie_back(tmp_path: Path) -> None:
    settings = AccessSettings(tokens_file=tokens_file(tmp_path, ana={"read_only": True}))
    async with listener(settings) as client:
        await signed_in(client, "ana")
        assert (await client.post("/sign-out", data={"csrf": "guess"}, headers=own(client))).status_code == 403
        secret = (await client.get("/sessions")).json()["csrf"]
        answer = await client.post("/sign-out", data={"csrf": secret}, headers=own(client))
        assert answer.headers["location"] == "/sign-in"
        assert COOKIE not in client.cookies


async def test_a_form_s_secret_is_of_one_browser_session(tmp_path: Path) -> None:
    clock = FakeClock(NOW_NS)
    async with listener(AccessSettings(tokens_file=tokens_file(tmp_path, ana={})), clock=clock) as client:
        await signed_in(client, "ana")
        first = (await client.get("/sessions")).json()["csrf"]
        clock.advance(1)
        await signed_in(client, "ana")
        assert (await client.post("/change", data={"csrf": first}, headers=own(client))).status_code == 403


async def test_nobody_is_signed_in_by_a_page_elsewhere(tmp_path: Path) -> None:
    async with listener(AccessSettings(tokens_file=tokens_file(tmp_path, ana={}))) as client:
        for headers in ({"origin": "https://elsewhere.example"}, {}, {"sec-fetch-site": "cross-site"}):
            answer = await client.post("/sign-in", data={"token": token("ana")}, headers=headers)
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers


async def test_a_link_from_elsewhere_asks_again_from_here_before_it_asks_to_sign_in(tmp_path: Path) -> None:
    link = {**HTML, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    again = {**link, "sec-fetch-site": "same-origin"}
    async with listener(AccessSettings(tokens_file=tokens_file(tmp_path, ana={}))) as client:
        first = await client.get("/sessions/s-1", headers=link)
        assert first.status_code == 200
        assert 'http-equiv="refresh"' in first.text
        assert (await client.get("/sessions/s-1", headers=again)).status_code == 303


@pytest.mark.parametrize(
    "wanted",
    [
        "//elsewhere.example",
        "https://elsewhere.example",
        "/\\elsewhere",
        "/\t/elsewhere",
        "",
        "/sign-in?next=/",
        "/\u00e9",
    ],
)
async def test_signing_in_leads_nowhere_else(tmp_path: Path, wanted: str) -> None:
    async with listener(AccessSettings(tokens_file=tokens_file(tmp_path, ana={}))) as client:
        data = {"token": token("ana"), "next": wanted}
        assert (await client.post("/sign-in", data=data, headers=own(client))).headers["location"] == "/"
        asked = await client.get("/sign-in", params={"next": f'{wanted}"><script>'})
        assert "<script>" not in asked.text


# Proxies

BEHIND = ProxySettings(trusted_proxies=("127.0.0.0/8",), tenants_header="X-Tenants")
ELSEWHERE = ProxySettings(trusted_proxies=("10.0.0.0/8",))


async def test_a_proxy_that_is_trusted_says_who_it_is() -> None:
    async with listener(AccessSettings(proxy=BEHIND), listen=OPEN) as client:
        headers = {"x-forwarded-user": "ana@shop.example", "x-tenants": "north, south"}
        who = (await client.get("/api/v1/sessions", headers=headers)).json()
        assert (who["person"], who["tenants"], who["may_write"]) == ("ana@shop.example", ["north", "south"], True)
        untold = (await client.get("/api/v1/sessions", headers={"x-forwarded-user": "ana"})).json()
        assert untold["tenants"] == []
        assert (await client.get("/api/v1/sessions")).status_code == 401
        assert (await client.get("/sign-in", headers=HTML)).status_code == 401


async def test_anybody_else_s_word_for_who_they_are_counts_for_nothing() -> None:
    async with listener(AccessSettings(proxy=ELSEWHERE), listen=OPEN) as client:
        for pretence in ({}, {"x-forwarded-for": "10.0.0.1"}, {"forwarded": "for=10.0.0.1"}):
            answer = await client.get("/sessions", headers={"x-forwarded-user": "ana", **pretence})
            assert answer.status_code == 401


@pytest.mark.parametrize("name", ["", "a" * 201, "a\x85b"])
async def test_a_name_that_is_none_is_refused(name: str) -> None:
    async with listener(AccessSettings(proxy=BEHIND), listen=OPEN) as client:
        headers = {b"x-forwarded-user": name.encode("latin-1")}
        assert (await client.get("/sessions", headers=headers)).status_code == 401


async def test_two_names_at_once_are_refused() -> None:
    async with listener(AccessSettings(proxy=BEHIND), listen=OPEN) as client:
        twice = [("x-forwarded-user", "ana"), ("X-Forwarded-User", "admin")]
        assert (await client.get("/sessions", headers=twice)).status_code == 401


async def test_a_proxy_may_hide_our_name(tmp_path: Path) -> None:
    settings = AccessSettings(proxy=BEHIND, origins=("https://judge.example",))
    async with listener(settings, listen=OPEN) as client:
        named = {"x-forwarded-user": "ana", "origin": "https://judge.example"}
        assert (await client.get("/sessions", headers=named)).status_code == 200
        assert (await client.get("/sessions", headers={**named, "origin": "http://judge.example"})).status_code == 403


# What goes out


@pytest.mark.parametrize("path", ["/", "/sessions", "/api/v1/sessions", "/absent", "/sign-in", "/livez", "/metrics"])
async def test_every_answer_tells_browsers_to_be_careful(tmp_path: Path, path: str) -> None:
    async with listener(AccessSettings(tokens_file=tokens_file(tmp_path, ana={}))) as client:
        for headers in ({}, bearer("ana"), bearer("carl"), {"origin": "https://elsewhere.example"}):
            answer = await client.get(path, headers={**HTML, **headers})
            assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert answer.headers["cross-origin-opener-policy"] == "same-origin"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert answer.headers["cache-control"] == "no-store"
            assert "strict-transport-security" not in answer.headers


async def test_what_was_given_as_a_token_is_in_no_answer(tmp_path: Path) -> None:
    async with listener(AccessSettings(tokens_file=tokens_file(tmp_path, ana={}))) as client:
        for answer in (
            await client.get("/api/v1/sessions", headers=bearer("carl")),
            await client.get("/sessions", headers={**HTML, **bearer("carl")}),
            await signed_in(client, "carl"),
        ):
            assert token("carl") not in answer.text + str(answer.headers)


async def test_a_mistake_of_ours_tells_nothing_of_what_it_was() -> None:
    async with listener() as client:
        answer = await client.get("/api/v1/broken")
    assert (answer.status_code, answer.json()["error"]) == (500, "internal error")
    assert "zephyr" not in answer.text
    assert "content-security-policy" in answer.headers
