"""The OTLP exporter and receivers with certificates: whom it trusts, whom it does not, and what it does then."""

from __future__ import annotations

import datetime
from functools import partial
from pathlib import Path

import pytest

from collector.exporting import Delivered, Later, Outcome
from collector.tls.served import ServedTls
from tests.certificates import Authority, Pair
from tests.collector.exporters.desk import SERVE, Protocol, exporter_to
from tests.fakes.otlp_sink import OtlpSink
from tests.fakes.tls import ListenerFiles
from tests.fakes.verdicts import judged

_exporter = partial(exporter_to, timeout_seconds=5)

pytestmark = pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])


async def _sent(
    directory: Path, protocol: Protocol, pair: Pair, *, clients: Authority | None = None, **tls: object
) -> tuple[Outcome, OtlpSink]:
    """To a receiver that shows `pair`, and asks for certificates of `clients`."""
    files = ListenerFiles(directory / "served").take(pair, clients)
    served = ServedTls(files.settings(mutual=clients is not None), "sink")
    sink = OtlpSink()
    async with SERVE[protocol](sink, tls=served) as endpoint, _exporter(endpoint, protocol, tls=tls) as exporter:
        return await exporter.send([judged()]), sink


def _shows(pair: Pair) -> dict[str, str]:
    return {"cert_file": str(pair.certificate), "key_file": str(pair.key)}


def _reason(outcome: Outcome) -> str:
    assert isinstance(outcome, Later), outcome
    return outcome.detail.lower().replace("_", " ")


async def test_a_receiver_of_the_authority_is_trusted(tmp_path: Path, protocol: Protocol) -> None:
    authority = Authority(tmp_path)
    outcome, sink = await _sent(tmp_path, protocol, authority.issue("sink"), ca_file=str(authority.certificate))
    assert outcome == Delivered()
    assert len(sink.span_ids) == 1


async def test_a_receiver_of_another_authority_is_sent_nothing(tmp_path: Path, protocol: Protocol) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path / "elsewhere", "another")
    outcome, sink = await _sent(tmp_path, protocol, stranger.issue("sink"), ca_file=str(authority.certificate))
    assert "certificate verify failed" in _reason(outcome)
    assert sink.requests == 0


async def test_without_authorities_well_known_ones_are_meant(tmp_path: Path, protocol: Protocol) -> None:
    outcome, sink = await _sent(tmp_path, protocol, Authority(tmp_path).issue("sink"))
    assert "certificate verify failed" in _reason(outcome)
    assert sink.requests == 0


async def test_an_expired_receiver_is_sent_nothing(tmp_path: Path, protocol: Protocol) -> None:
    authority = Authority(tmp_path)
    expired = authority.issue("sink", ends=datetime.timedelta(seconds=-5))
    outcome, sink = await _sent(tmp_path, protocol, expired, ca_file=str(authority.certificate))
    assert "certificate" in _reason(outcome)
    assert sink.requests == 0


async def test_a_receiver_of_another_name_needs_to_be_told_of(tmp_path: Path, protocol: Protocol) -> None:
    authority = Authority(tmp_path)
    elsewhere, ca_file = authority.issue("sink", host="collector.example"), str(authority.certificate)
    outcome, sink = await _sent(tmp_path, protocol, elsewhere, ca_file=ca_file)
    assert isinstance(outcome, Later)
    assert sink.requests == 0
    outcome, sink = await _sent(tmp_path, protocol, elsewhere, ca_file=ca_file, server_name="collector.example")
    assert outcome == Delivered()


async def test_a_receiver_that_asks_for_a_certificate_is_shown_ours(tmp_path: Path, protocol: Protocol) -> None:
    authority = Authority(tmp_path)
    pair, ca_file = authority.issue("sink"), str(authority.certificate)
    outcome, sink = await _sent(tmp_path, protocol, pair, clients=authority, ca_file=ca_file)
    assert isinstance(outcome, Later)
    assert sink.requests == 0
    ours = _shows(authority.issue("spanjudge"))
    outcome, sink = await _sent(tmp_path, protocol, pair, clients=authority, ca_file=ca_file, **ours)
    assert outcome == Delivered()


async def test_what_was_wrong_and_is_mended_while_running_delivers(tmp_path: Path, protocol: Protocol) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path / "elsewhere", "another")
    files = ListenerFiles(tmp_path / "served").take(authority.issue("sink"), authority)
    ours = ListenerFiles(tmp_path / "ours").take(stranger.issue("spanjudge"))
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(stranger.certificate.read_bytes())
    tls = {"ca_file": str(trusted), "cert_file": str(ours.certificate), "key_file": str(ours.key)}
    sink = OtlpSink()
    served = ServedTls(files.settings(mutual=True), "sink")
    async with SERVE[protocol](sink, tls=served) as endpoint, _exporter(endpoint, protocol, tls=tls) as exporter:
        assert "certificate verify failed" in _reason(await exporter.send([judged()]))
        files.put(trusted, authority.certificate)
        assert isinstance(await exporter.send([judged()]), Later)  # still with the certificate of a stranger
        ours.take(authority.issue("spanjudge"))
        assert await exporter.send([judged()]) == Delivered()
    assert len(sink.span_ids) == 1


async def test_broken_files_leave_what_was_read_before(tmp_path: Path, protocol: Protocol) -> None:
    authority = Authority(tmp_path)
    served = ServedTls(ListenerFiles(tmp_path / "served").take(authority.issue("sink")).settings(), "sink")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(authority.certificate.read_bytes())
    sink = OtlpSink()
    tls = {"ca_file": str(trusted)}
    async with SERVE[protocol](sink, tls=served) as endpoint, _exporter(endpoint, protocol, tls=tls) as exporter:
        assert await exporter.send([judged()]) == Delivered()
        trusted.write_text("half of an auth")
        assert await exporter.send([judged("s-2")]) == Delivered()


async def test_files_that_never_were_right_make_verdicts_wait(tmp_path: Path, protocol: Protocol) -> None:
    tls = {"ca_file": str(tmp_path / "missing.pem")}
    async with _exporter("https://127.0.0.1:9", protocol, tls=tls) as exporter:
        outcome = await exporter.send([judged()])
    assert isinstance(outcome, Later)
    assert outcome.reason == "credentials_unusable"
    assert "export.otlp.tls.ca_file" in outcome.detail


async def test_the_token_is_read_again_when_its_file_changes(tmp_path: Path, protocol: Protocol) -> None:
    file = tmp_path / "token"
    file.write_text("first-token\n")
    sink = OtlpSink()
    settings = {"bearer_token_file": str(file), "events": False}
    async with SERVE[protocol](sink) as endpoint, _exporter(endpoint, protocol, **settings) as exporter:
        assert await exporter.send([judged()]) == Delivered()
        file.write_text("a-newer-token\n")
        assert await exporter.send([judged("s-2")]) == Delivered()
        file.write_text("not\na token, but a secret\n")
        assert await exporter.send([judged("s-3")]) == Delivered()
    sent = [headers["authorization"] for headers in sink.headers]
    assert sent == ["Bearer first-token", "Bearer a-newer-token", "Bearer a-newer-token"]


async def test_a_token_that_cannot_be_sent_is_not_repeated(tmp_path: Path, protocol: Protocol) -> None:
    file = tmp_path / "token"
    file.write_text("open\nsesame")
    async with _exporter("http://127.0.0.1:9", protocol, bearer_token_file=str(file)) as exporter:
        outcome = await exporter.send([judged()])
    assert isinstance(outcome, Later)
    assert outcome.reason == "credentials_unusable"
    assert "sesame" not in outcome.detail
