"""The OTLP exporter against real receivers, over both transports."""

from __future__ import annotations

import grpc
import pytest
from pydantic import SecretStr

from collector.config import OtlpExport
from collector.exporters.otlp import OtlpExporter
from collector.exporters.otlp_status import CREDENTIALS_RETRY_S
from collector.exporting import Delivered, Later, Outcome, Rejected
from collector.otlp.encode import MAX_TEXT_BYTES
from judge.redaction import Redaction
from judge.verdict import Judged, NotApplicable, NotJudged, Score, verdict_span_id
from tests.collector.exporters.desk import SERVE, Protocol, exporter_to
from tests.fakes.otlp_sink import OtlpSink, Received, Refusal
from tests.fakes.verdicts import judged

pytestmark = pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])


async def _sent(sink: OtlpSink, protocol: Protocol, *items: Judged, **settings: object) -> Outcome:
    async with SERVE[protocol](sink) as endpoint, exporter_to(endpoint, protocol, **settings) as exporter:
        return await exporter.send(items)


async def test_spans_and_events_arrive(protocol: Protocol) -> None:
    sink = OtlpSink()
    assert await _sent(sink, protocol, judged(), judged("s-2")) == Delivered()
    assert sink.span_ids == [verdict_span_id(judged().id), verdict_span_id(judged("s-2").id)]
    assert sink.records == 2


async def test_secrets_are_masked_before_texts_are_cut_to_size(protocol: Protocol) -> None:
    token = "ghp" + "_" + "x9" * 18
    sink = OtlpSink()
    items = [
        judged("s-1", outcome=Score(0.0, "No", "." * (MAX_TEXT_BYTES - 60) + f" {token} {'.' * 200}"), skill=token),
        judged("s-2", outcome=NotJudged("judge_unavailable", f"it said {token}")),
    ]
    async with SERVE[protocol](sink) as endpoint:
        settings = OtlpExport.model_validate({"endpoint": endpoint, "protocol": protocol})
        exporter = OtlpExporter(settings, redaction=Redaction())
        assert await exporter.send(items) == Delivered()
        await exporter.close()
    sent = "".join(str(one) for one in (*sink.traces, *sink.logs))
    assert "x9x9" not in sent
    assert "github-token" in sent
    assert sink.span_ids == [verdict_span_id(one.id) for one in items]


@pytest.mark.parametrize(("spans", "events"), [(True, False), (False, True)])
async def test_a_signal_can_be_switched_off(protocol: Protocol, spans: bool, events: bool) -> None:
    sink = OtlpSink()
    assert await _sent(sink, protocol, judged(), spans=spans, events=events) == Delivered()
    assert (len(sink.span_ids), sink.records) == (int(spans), int(events))


async def test_headers_are_sent_with_every_request(protocol: Protocol) -> None:
    sink = OtlpSink()
    await _sent(sink, protocol, judged(), headers={"Authorization": SecretStr("Bearer abc")})
    assert [headers["authorization"] for headers in sink.headers] == ["Bearer abc"] * 2


async def test_what_did_not_apply_needs_no_request(protocol: Protocol) -> None:
    sink = OtlpSink()
    assert await _sent(sink, protocol, judged(outcome=NotApplicable("no skill"))) == Delivered()
    assert sink.requests == 0


async def test_a_receiver_that_is_not_there_is_tried_later(protocol: Protocol) -> None:
    async with SERVE[protocol](OtlpSink()) as endpoint:
        pass
    async with exporter_to(endpoint, protocol) as exporter:
        outcome = await exporter.send([judged()])
    assert isinstance(outcome, Later)
    assert outcome.reason == {"grpc": "unavailable", "http/protobuf": "unreachable"}[protocol]


async def test_a_receiver_that_asks_for_a_pause_is_heard(protocol: Protocol) -> None:
    sink = OtlpSink(lambda _: Refusal(retry_after=7))
    outcome = await _sent(sink, protocol, judged())
    assert isinstance(outcome, Later)
    assert (outcome.detail, outcome.after_s) == ("told to refuse", 7)


@pytest.mark.parametrize(
    ("refusal", "retryable"),
    [
        (Refusal(grpc.StatusCode.UNAVAILABLE, 503), True),
        (Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, 504), True),
        (Refusal(grpc.StatusCode.ABORTED, 502), True),
        (Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, 429, retry_after=3), True),
        (Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, 413), False),
        (Refusal(grpc.StatusCode.INVALID_ARGUMENT, 400), False),
        (Refusal(grpc.StatusCode.INTERNAL, 500), False),
        (Refusal(grpc.StatusCode.UNKNOWN, 501), False),
    ],
)
async def test_the_status_decides_whether_it_is_sent_again(
    protocol: Protocol, refusal: Refusal, retryable: bool
) -> None:
    outcome = await _sent(OtlpSink(lambda _: refusal), protocol, judged())
    assert isinstance(outcome, Later if retryable else Rejected)


@pytest.mark.parametrize(
    "refusal", [Refusal(grpc.StatusCode.UNAUTHENTICATED, 401), Refusal(grpc.StatusCode.PERMISSION_DENIED, 403)]
)
async def test_missing_credentials_do_not_cost_verdicts(protocol: Protocol, refusal: Refusal) -> None:
    outcome = await _sent(OtlpSink(lambda _: refusal), protocol, judged())
    assert isinstance(outcome, Later)
    assert outcome.after_s == CREDENTIALS_RETRY_S


async def test_an_endpoint_that_serves_no_spans_is_a_wrong_address(protocol: Protocol) -> None:
    async with SERVE[protocol](OtlpSink(), traces=False) as endpoint, exporter_to(endpoint, protocol) as exporter:
        outcome = await exporter.send([judged()])
    assert isinstance(outcome, Later)
    assert "check export.otlp.endpoint" in outcome.detail


async def test_an_endpoint_that_serves_spans_and_no_logs_gets_the_spans(protocol: Protocol) -> None:
    sink = OtlpSink()
    async with SERVE[protocol](sink, logs=False) as endpoint, exporter_to(endpoint, protocol) as exporter:
        outcome = await exporter.send([judged()])
    assert isinstance(outcome, Delivered)
    assert "set export.otlp.events: false" in outcome.detail
    assert len(sink.span_ids) == 1


async def test_a_partial_success_is_a_delivery_that_says_how_many_were_refused(protocol: Protocol) -> None:
    sink = OtlpSink(rejected_spans=1)
    assert await _sent(sink, protocol, judged(), judged("s-2")) == Delivered(1, "some spans are odd")


async def test_a_retry_sends_only_the_signal_that_is_missing(protocol: Protocol) -> None:
    down = True

    def decide(request: Received) -> Refusal | None:
        return Refusal() if down and not hasattr(request, "resource_spans") else None

    sink = OtlpSink(decide)
    async with SERVE[protocol](sink) as endpoint, exporter_to(endpoint, protocol) as exporter:
        assert isinstance(await exporter.send([judged()]), Later)
        down = False
        assert await exporter.send([judged(), judged("s-2")]) == Delivered()
        assert sink.span_ids == [verdict_span_id(judged().id), verdict_span_id(judged("s-2").id)]
        assert sink.records == 2
        assert exporter._taken == {"traces": set(), "logs": set()}, "nothing is remembered for ever"


@pytest.mark.parametrize("endpoint", ["collector:4317", "ftp://collector:4317", "http://"])
async def test_an_endpoint_that_is_no_url_is_refused_at_once(protocol: Protocol, endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"export\.otlp\.endpoint .* must be http://host:port"):
        OtlpExporter(OtlpExport(endpoint=endpoint, protocol=protocol))
