"""Keys that sign, files that cannot be used, and what no request can open."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from collector.access.access import Access
from collector.access.rejected import Rejected
from collector.access.settings import AccessSettings, ProxySettings
from collector.access.visitors import COOKIE, check_files
from collector.admin import admin_app
from collector.http_serving import HttpServer
from collector.metrics import Metrics
from judge.documents import DocumentError
from tests.certificates import Authority
from tests.fakes.access import OPEN, access, token, tokens_file

OPEN_PATHS = {"/livez", "/readyz", "/metrics", "/sign-in", "/sign-in/style.css"}


def request(
    path: str = "/sessions",
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] = (),
    client: str = "192.0.2.7",
    query: str = "",
) -> Request:
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return Request(
        {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": raw,
            "scheme": "http",
            "server": ("192.0.2.1", 9464),
            "client": (client, 1),
            "http_version": "1.1",
        }
    )


def test_replicas_with_one_key_file_take_each_other_s_sessions(tmp_path: Path) -> None:
    key = tmp_path / "session.key"
    key.write_bytes(b"k" * 32 + b"\n")
    people = tokens_file(tmp_path, ana={})
    shared = AccessSettings(tokens_file=people, session_key_file=key)
    first, second, apart = access(shared), access(shared), access(AccessSettings(tokens_file=people))
    session, _ = first.visitors.sign_in(request(), token("ana"))
    cookie = request(headers=[("cookie", f"{COOKIE}={session}")])
    here, there = first.visitors.of(cookie), second.visitors.of(cookie)
    assert here is not None
    assert there is not None
    assert first.csrf(here).token() == second.csrf(there).token()
    assert apart.visitors.of(cookie) is None


@pytest.mark.parametrize(("content", "problem"), [(b"short", "at least 32"), (None, "cannot be read")])
def test_a_key_that_could_be_guessed_or_read_by_nobody_is_refused(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    key = tmp_path / "session.key"
    if content is not None:
        key.write_bytes(content)
    with pytest.raises(DocumentError, match=problem):
        access(AccessSettings(tokens_file=tokens_file(tmp_path, ana={}), session_key_file=key))


def test_every_file_is_checked_at_once(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        check_files(AccessSettings(tokens_file=tmp_path / "absent.yaml", session_key_file=tmp_path / "absent.key"))
    assert [Path(problem.source).name for problem in caught.value.problems] == ["absent.yaml", "absent.key"]


def test_wrong_tokens_are_counted_where_the_trusted_proxy_says_they_came_from(tmp_path: Path) -> None:
    proxy = ProxySettings(header=None, trusted_proxies=("10.0.0.0/8", "::ffff:10.9.0.0/112"))
    guard = access(AccessSettings(tokens_file=tokens_file(tmp_path, ana={}), proxy=proxy), listen=OPEN)

    def tried(name: str, said: str, client: str) -> int:
        wrong = request(headers=[("authorization", f"Bearer {token(name)}"), ("x-forwarded-for", said)], client=client)
        try:
            guard.admit(wrong)
        except Rejected as rejected:
            return rejected.status
        return 200

    assert [tried("guess", f"198.51.100.{n}, 203.0.113.1", "::ffff:10.1.1.1") for n in range(11)] == [401] * 10 + [429]
    assert tried("ana", "203.0.113.2", "10.1.1.1") == 200
    assert tried("ana", "203.0.113.1", "192.0.2.7") == 200  # who is no proxy says nothing about others


_TEXT = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=12)
_NAMES = [
    "host",
    "origin",
    "cookie",
    "authorization",
    "x-forwarded-user",
    "x-forwarded-for",
    "forwarded",
    "x-original-url",
]
_VALUES = st.one_of(
    _TEXT, st.sampled_from(["/livez", "x/livez?", "Bearer ", "Bearer x", "10.0.0.1", f"{COOKIE}=a.b", "null"])
)
_PATHS = st.one_of(
    st.builds(lambda a, b: f"/{a}/{b}", _TEXT, _TEXT),
    st.sampled_from(
        [f"{path}{more}" for path in sorted(OPEN_PATHS) for more in ("/", "x", "/..", "%2f", ";", " ", "//")]
    ),
    st.sampled_from(["/livez/../sessions", "//livez", "/LIVEZ", "", "*", "/api/v1/sessions"]),
)


@given(
    path=_PATHS,
    method=st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "PUT", "CONNECT", "livez"]),
    headers=st.lists(st.tuples(st.sampled_from(_NAMES), _VALUES), max_size=5),
    query=st.sampled_from(["", "/livez", "next=/livez", "token=x"]),
)
def test_no_path_method_or_header_lets_in_who_has_no_token(
    tmp_path_factory: pytest.TempPathFactory, path: str, method: str, headers: list[tuple[str, str]], query: str
) -> None:
    guard = _guard(tmp_path_factory)
    assert path not in OPEN_PATHS
    with pytest.raises(Rejected) as caught:
        guard.admit(request(path, method=method, headers=headers, query=query))
    assert caught.value.status in {401, 403, 429}


def _guard(factory: pytest.TempPathFactory) -> Access:
    proxy = ProxySettings(trusted_proxies=("10.0.0.0/8",))
    return access(AccessSettings(tokens_file=tokens_file(factory.mktemp("guard"), ana={}), proxy=proxy), listen=OPEN)


async def test_with_tls_cookies_are_secure_and_browsers_stay_with_it(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    pair = authority.issue("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    guard = access(AccessSettings(tokens_file=tokens_file(tmp_path, ana={})))
    server = HttpServer(admin_app(Metrics(), {}, access=guard), "127.0.0.1:0", "admin.listen", tls=context)
    address, task = await server.start()
    trusted = ssl.create_default_context(cafile=authority.certificate)
    try:
        async with httpx.AsyncClient(base_url=f"https://{address}", verify=trusted, trust_env=False) as client:
            form = {"token": token("ana")}
            signed_in = await client.post("/sign-in", data=form, headers={"origin": f"https://{address}"})
            downgraded = await client.post("/sign-in", data=form, headers={"origin": f"http://{address}"})
    finally:
        server.stop()
        await task
    assert "Secure" in signed_in.headers["set-cookie"].split("; ")
    assert signed_in.headers["strict-transport-security"] == "max-age=31536000"
    assert downgraded.status_code == 403
