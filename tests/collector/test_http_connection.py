"""Connections of the HTTP listeners: who does not send what it began to send is cut off, and nobody else."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from collector.http_serving import HttpServer
from collector.tls.served import ServedTls
from tests.certificates import Authority
from tests.fakes.tls import ListenerFiles, client_context

HEAD = b"POST / HTTP/1.1\r\nHost: spanjudge\r\nContent-Length: 4\r\n\r\n"


@asynccontextmanager
async def _echoing(
    go_on: asyncio.Event, patience_s: float
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to an application that answers with the body, once it may."""

    async def echo(request: Request) -> PlainTextResponse:
        try:
            body = await request.body()
        except ClientDisconnect:
            return PlainTextResponse("gone", 400)
        await go_on.wait()
        return PlainTextResponse(body)

    server = HttpServer(
        Starlette(routes=[Route("/", echo, methods=["POST"])]), "127.0.0.1:0", "test", patience_s=patience_s
    )
    address, task = await server.start()
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()
        server.stop()
        await task


@pytest.mark.parametrize("sent", [b"", b"POST / HT", HEAD, HEAD + b"ab", HEAD + b"abcdPOST / HT"])
async def test_a_request_that_never_ends_is_cut_off(sent: bytes) -> None:
    go_on = asyncio.Event()
    go_on.set()
    async with _echoing(go_on, patience_s=0.05) as (reader, writer):
        writer.write(sent)
        try:
            async with asyncio.timeout(20):
                answered = await reader.read()
        except ConnectionResetError:
            answered = b""
        assert (b"200 OK" in answered) == (b"abcd" in sent)


async def _flood(writer: asyncio.StreamWriter, more: bytes) -> None:
    async with asyncio.timeout(20):
        while True:
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(0)


CHUNKED = b"POST / HTTP/1.1\r\nHost: spanjudge\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (HEAD[:-2], b"x-more: and more\r\n" * 500),
        (HEAD[:-2] + b"x-long: ", b"long" * 2000),
        (b"POST /", b"long" * 2000),
        (HEAD + b"abcd" + HEAD[:-2] + b"x-long: ", b"long" * 2000),
        (CHUNKED + b"4\r\nabcd\r\n0\r\n", b"x-more: and more\r\n" * 500),
        (CHUNKED + b"4;", b"long" * 2000),
        (b"", b"\r\n" * 4000),
    ],
    ids=["many headers", "a long header", "a long path", "the second request", "trailers", "a chunk's name", "nothing"],
)
async def test_a_head_without_end_is_not_kept(begin: bytes, more: bytes) -> None:
    go_on = asyncio.Event()
    go_on.set()
    async with _echoing(go_on, patience_s=600) as (_, writer):
        writer.write(begin)
        with pytest.raises(ConnectionError):
            await _flood(writer, more)


async def test_a_large_body_in_small_pieces_is_taken() -> None:
    go_on = asyncio.Event()
    go_on.set()
    async with _echoing(go_on, patience_s=600) as (reader, writer):
        writer.write(CHUNKED + b"3e8\r\n" + bytes(1000) + b"\r\n")
        for _ in range(200):
            writer.write(b"3e8;piece=1\r\n" + bytes(1000) + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\nx-checked: yes\r\n\r\n")
        async with asyncio.timeout(20):
            assert b"200 OK" in await reader.readline()


async def test_a_client_that_waits_for_its_answer_is_not_cut_off() -> None:
    go_on = asyncio.Event()
    async with _echoing(go_on, patience_s=0.01) as (reader, writer):
        writer.write(HEAD + b"abcd")
        asyncio.get_running_loop().call_later(0.1, go_on.set)
        async with asyncio.timeout(20):
            assert b"200 OK" in await reader.readline()


@pytest.mark.parametrize(("age_s", "told"), [(0, "close"), (600, None)])
async def test_an_old_connection_ends_with_its_answer(age_s: float, told: str | None) -> None:
    app = Starlette(routes=[Route("/", lambda _: PlainTextResponse("here"))])
    server = HttpServer(app, "127.0.0.1:0", "test", age_s=age_s)
    address, task = await server.start()
    try:
        async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as client:
            answers = [await client.get("/") for _ in range(2)]
    finally:
        server.stop()
        await task
    assert [(answer.text, answer.headers.get("connection")) for answer in answers] == [("here", told)] * 2


async def test_a_client_that_does_not_answer_the_end_of_tls_is_not_waited_for(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    served = ServedTls(ListenerFiles(tmp_path / "served").take(authority.issue("server")).settings(), "test")
    app = Starlette(routes=[Route("/", lambda _: PlainTextResponse("here"))])
    server = HttpServer(app, "127.0.0.1:0", "test", tls=served.context(), grace_s=600)
    address, task = await server.start()
    host, _, port = address.rpartition(":")

    def ask() -> ssl.SSLSocket:
        """A socket of which nobody reads any more when the answer is there."""
        plain = socket.create_connection((host, int(port)), timeout=20)
        connection = client_context(authority).wrap_socket(plain, server_hostname=host)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: spanjudge\r\n\r\n")
        assert b"200 OK" in connection.recv(1000)
        return connection

    with await asyncio.to_thread(ask):
        server.stop()
        async with asyncio.timeout(60):
            await task
