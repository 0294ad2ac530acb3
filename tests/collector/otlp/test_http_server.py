"""OTLP/HTTP on a real socket, in both encodings."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.arriving import Arriving
from collector.clock import SystemClock
from collector.complaints import Complaints
from collector.ingest import Ingest, Limits, Receipt
from collector.journal.rows import Signal
from collector.otlp.http_server import http_app
from tests.collector.receiving import Receiving, receiving
from tests.collector.sessions.telemetry import log_request, record, span, trace_request
from tests.fakes.http import serving

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

KIB = 1024
PROTOBUF, JSON = "application/x-protobuf", "application/json"
ANN = trace_request([span(1, 1, session__id="ann")])


def _json_spans(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def _json_span(number: int, **more: Any) -> dict[str, Any]:
    named = [{"key": "session.id", "value": {"stringValue": "ann"}}]
    return {"traceId": f"{1:032x}", "spanId": f"{number:016x}", "name": "s", "attributes": named} | more


class Http:
    """A receiver on loopback and a client of it."""

    def __init__(self, half: Receiving, client: httpx.AsyncClient) -> None:
        self.half = half
        self.client = client

    async def send(
        self, body: bytes, media: str = PROTOBUF, path: str = "/v1/traces", **headers: str
    ) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(path, content=body, headers={"content-type": media, **named})


@asynccontextmanager
async def _http(
    directory: Path,
    *,
    max_request_bytes: int = 64 * KIB * KIB,
    tenant_header: str | None = None,
    limits: Limits | None = None,
    ingest: Ingest | None = None,
) -> AsyncIterator[Http]:
    async with receiving(directory, limits=limits or Limits()) as half:
        app = http_app(
            ingest or half.ingest,
            half.metrics,
            Complaints(SystemClock()),
            max_request_bytes=max_request_bytes,
            tenant_header=tenant_header,
        )
        async with serving(app) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
            yield Http(half, client)


def _status(answer: httpx.Response) -> str:
    """The message of the google.rpc.Status in an error answer, in whichever encoding it came."""
    if answer.headers["content-type"] == JSON:
        return str(answer.json()["message"])
    assert answer.headers["content-type"] == PROTOBUF
    return str(Status.FromString(answer.content).message)


async def test_full_success_is_an_empty_message_in_the_encoding_of_the_request(tmp_path: Path) -> None:
    async with _http(tmp_path) as http:
        protobuf, as_json = await http.send(ANN), await http.send(_json_spans(_json_span(2)), JSON)
        assert (protobuf.status_code, protobuf.content, protobuf.headers["content-type"]) == (200, b"", PROTOBUF)
        assert (as_json.status_code, as_json.json(), as_json.headers["content-type"]) == (200, {}, JSON)
        assert http.half.value("spans_stored_total") == 2
        assert len(http.half.book.index) == 1


async def test_logs_have_a_path_of_their_own(tmp_path: Path) -> None:
    async with _http(tmp_path) as http:
        answer = await http.send(log_request([record(1, session__id="ann"), record(None)]), path="/v1/logs")
        partial = ExportLogsServiceResponse.FromString(answer.content).partial_success
        assert (partial.rejected_log_records, partial.error_message) == (1, "1 name no session and no trace")
        assert http.half.value("records_stored_total") == 1


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=x"])
async def test_parameters_and_case_of_the_media_type_do_not_matter(tmp_path: Path, media: str) -> None:
    async with _http(tmp_path) as http:
        assert (await http.send(_json_spans(_json_span(1)), media)).status_code == 200


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstd.compress),
        ("identity", bytes),
        ("", bytes),
    ],
)
@pytest.mark.parametrize(("media", "body"), [(PROTOBUF, ANN), (JSON, _json_spans(_json_span(1)))])
async def test_bodies_may_be_compressed(tmp_path: Path, encoding: str, compress: Any, media: str, body: bytes) -> None:
    async with _http(tmp_path) as http:
        assert (await http.send(compress(body), media, content_encoding=encoding)).status_code == 200
        assert http.half.value("spans_stored_total") == 1


async def test_an_encoding_nobody_knows_is_not_guessed_at(tmp_path: Path) -> None:
    async with _http(tmp_path) as http:
        answer = await http.send(ANN, content_encoding="br")
        assert answer.status_code == 415
        assert "content encoding 'br'" in answer.text


@pytest.mark.parametrize("headers", [{"content_type": "x" * 50_000}, {"content_encoding": "x" * 50_000}])
async def test_a_long_header_is_not_repeated_at_length(tmp_path: Path, headers: dict[str, str]) -> None:
    async with _http(tmp_path) as http:
        answer = await http.send(ANN, headers.get("content_type", PROTOBUF), **headers)
        assert answer.status_code == 415
        assert len(answer.text) < 300


@pytest.mark.parametrize("media", ["text/plain", "application/grpc", ""])
async def test_another_media_type_is_not_supported(tmp_path: Path, media: str) -> None:
    async with _http(tmp_path) as http:
        answer = await http.send(ANN, media)
        assert answer.status_code == 415
        assert "send application/x-protobuf or application/json" in answer.text


@pytest.mark.parametrize(("media", "body"), [(PROTOBUF, b"garbage"), (JSON, b"{"), (JSON, b"[]"), (JSON, b"")])
async def test_garbage_is_a_bad_request_that_says_why_in_the_senders_encoding(
    tmp_path: Path, media: str, body: bytes
) -> None:
    async with _http(tmp_path) as http:
        answer = await http.send(body, media)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == media
        assert len(_status(answer)) > 10
        assert "retry-after" not in answer.headers


async def test_a_damaged_compressed_body_is_a_bad_request(tmp_path: Path) -> None:
    async with _http(tmp_path) as http:
        answer = await http.send(gzip.compress(ANN)[:-5], content_encoding="gzip")
        assert (answer.status_code, "compressed body" in _status(answer)) == (400, True)
        answer = await http.send(zstd.compress(ANN)[:-5], content_encoding="zstd")
        assert (answer.status_code, "compressed body" in _status(answer)) == (400, True)


@pytest.mark.parametrize("media", [PROTOBUF, JSON])
async def test_a_body_above_the_limit_is_too_large(tmp_path: Path, media: str) -> None:
    async with _http(tmp_path, max_request_bytes=64 * KIB) as http:
        plain = await http.send(bytes(64 * KIB + 1), media)
        bomb = await http.send(gzip.compress(bytes(50 * KIB * KIB)), media, content_encoding="gzip")
        other = await http.send(zstd.compress(bytes(50 * KIB * KIB)), media, content_encoding="zstd")
        assert (plain.status_code, bomb.status_code, other.status_code) == (413, 413, 413)
        assert "larger than 65536 bytes" in _status(plain)
        assert "inflates to more than 65536 bytes" in _status(bomb)


async def test_a_body_of_unknown_length_is_limited_too(tmp_path: Path) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield bytes(KIB)

    async with _http(tmp_path, max_request_bytes=64 * KIB) as http:
        answer = await http.client.post("/v1/traces", content=parts(), headers={"content-type": PROTOBUF})
        assert answer.status_code == 413


async def test_only_post_is_allowed(tmp_path: Path) -> None:
    async with _http(tmp_path) as http:
        assert (await http.client.get("/v1/traces")).status_code == 405
        assert (await http.client.post("/v1/profiles")).status_code == 404


@pytest.mark.parametrize("media", [PROTOBUF, JSON])
async def test_overload_says_when_to_come_back(tmp_path: Path, media: str) -> None:
    async with _http(tmp_path, limits=Limits(in_flight=0)) as http:
        answer = await http.send(ANN, media)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert "waiting for the disk" in _status(answer)


async def test_many_slow_senders_together_hold_no_more_than_may_be_pending(tmp_path: Path) -> None:
    last_part = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield bytes(60 * KIB)
        await last_part.wait()
        yield bytes(KIB)

    async with _http(tmp_path, max_request_bytes=100 * KIB, limits=Limits(pending_bytes=100 * KIB)) as http:
        headers = {"content-type": PROTOBUF}
        first = asyncio.create_task(http.client.post("/v1/traces", content=slowly(), headers=headers))
        async with asyncio.timeout(20):
            while not http.half.ingest._arriving.bytes:  # noqa: ASYNC110 - nobody is told
                await asyncio.sleep(0.01)
        refused = await http.send(bytes(60 * KIB))
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        last_part.set()
        assert (await first).status_code == 400  # received in whole, and no OTLP
        assert (await http.send(ANN)).status_code == 200


async def test_a_declared_size_that_is_never_taken_is_not_told_to_come_back(tmp_path: Path) -> None:
    async with _http(tmp_path, max_request_bytes=64 * KIB, limits=Limits(pending_bytes=64 * KIB)) as http:
        answer = await http.send(bytes(70 * KIB))
        assert (answer.status_code, answer.headers.get("retry-after")) == (413, None)


async def test_json_that_waits_for_its_conversion_counts_as_pending_with_all_it_inflated_to(tmp_path: Path) -> None:
    slow = b",".join([b"{}"] * 60_000)
    body = gzip.compress(b'{"resourceSpans": [' + slow.ljust(KIB * KIB) + b"]}")
    async with _http(tmp_path, limits=Limits(pending_bytes=3 * KIB * KIB + KIB * KIB // 2)) as http:
        answers = await asyncio.gather(*(http.send(body, JSON, content_encoding="gzip") for _ in range(40)))
        codes = {answer.status_code for answer in answers}
        assert codes == {200, 503}
        assert http.half.ingest._arriving.bytes == 0


async def test_the_largest_json_that_may_be_sent_fits_into_what_may_be_pending(tmp_path: Path) -> None:
    size = 100 * KIB
    body = _json_spans(_json_span(1)).ljust(size)
    async with _http(tmp_path, max_request_bytes=size, limits=Limits(pending_bytes=size)) as http:
        assert (await http.send(body, JSON)).status_code == 200
        assert (await http.send(gzip.compress(body), JSON, content_encoding="gzip")).status_code == 200


class _Broken(Ingest):
    """An ingest with a bug."""

    def __init__(self) -> None:
        self._arriving = Arriving(self.admit)

    def admit(self, size: int) -> None:
        """There is room."""

    async def accept(self, signal: Signal, request: bytes, tenant: str = "") -> Receipt:
        raise ZeroDivisionError("secret content")


async def test_a_bug_of_ours_asks_the_sender_to_keep_the_data(tmp_path: Path) -> None:
    async with _http(tmp_path, ingest=_Broken()) as http:
        answer = await http.send(ANN)
        assert answer.status_code == 503
        assert "secret" not in _status(answer)
        assert answer.headers["retry-after"] == "10"


@pytest.mark.parametrize(("media", "body"), [(PROTOBUF, b""), (JSON, b"{}"), (JSON, b'{"resourceSpans": []}')])
async def test_an_empty_request_is_accepted(tmp_path: Path, media: str, body: bytes) -> None:
    async with _http(tmp_path) as http:
        assert (await http.send(body, media)).status_code == 200


async def test_a_bad_json_span_loses_only_itself_and_says_why(tmp_path: Path) -> None:
    async with _http(tmp_path) as http:
        answer = await http.send(_json_spans(_json_span(1), _json_span(2, spanId="xyz"), _json_span(3)), JSON)
        partial = answer.json()["partialSuccess"]
        assert (answer.status_code, int(partial["rejectedSpans"])) == (200, 1)
        assert "spanId" in partial["errorMessage"]
        assert http.half.value("spans_stored_total") == 2
        received = http.half.value("spans_received_total")
        assert received == 2 + http.half.value("dropped_total", signal="traces", reason="malformed") == 3


async def test_a_bad_protobuf_span_loses_only_itself_and_says_why(tmp_path: Path) -> None:
    odd = span(1, 2, session__id="ann")
    odd.trace_id = b"short"
    async with _http(tmp_path) as http:
        answer = await http.send(trace_request([odd, span(1, 3, session__id="ann")]))
        partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
        assert partial.rejected_spans == 1
        assert "trace id of 5 bytes" in partial.error_message


async def test_ids_in_json_are_hex(tmp_path: Path) -> None:
    """Both encodings of one trace make one session."""
    async with _http(tmp_path) as http:
        await http.send(_json_spans(_json_span(2, attributes=[])), JSON)
        await http.send(ANN)
        assert [http.half.book.index.kind[slot] for slot in http.half.book.index.slots()] == [1, 0]
        (trace,) = [s for s in http.half.book.index.slots() if http.half.book.index.kind[s]]
        assert http.half.book.index.items[trace] == 1


async def test_large_json_is_taken_whole(tmp_path: Path) -> None:
    prompt = [{"key": "prompt", "value": {"stringValue": "x" * 10_000}}]
    spans = [_json_span(n, attributes=[*_json_span(n)["attributes"], *prompt]) for n in range(1, 51)]
    async with _http(tmp_path) as http:
        assert (await http.send(_json_spans(*spans), JSON)).status_code == 200
        assert http.half.value("spans_stored_total") == 50


@pytest.mark.parametrize(("media", "expected"), [(PROTOBUF, b""), (JSON, b"{}")])
async def test_metrics_are_taken_and_thrown_away(tmp_path: Path, media: str, expected: bytes) -> None:
    async with _http(tmp_path) as http:
        answer = await http.send(b"\x0a\x00", media, path="/v1/metrics")
        assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, expected, media)


async def test_the_tenant_comes_from_the_configured_header(tmp_path: Path) -> None:
    async with _http(tmp_path, tenant_header="X-Tenant") as http:
        for tenant in ("red", "blue"):
            await http.send(ANN, x_tenant=tenant)
        await http.send(ANN)
        assert len(http.half.book.index) == 3
