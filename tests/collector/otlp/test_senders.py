"""Whose telemetry a request is, by its token: never anybody's but one of the token's own tenants."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from collector.access.tokens import TokenFile
from collector.errors import Denied
from collector.metrics import Metrics
from collector.otlp.senders import Senders

TOKEN = "of-a-sender-0123456789abcdef0123456789"
TENANTS = st.sampled_from(["", "north", "south", "north "])


def _senders(entry: dict[str, object], *, by_attribute: bool) -> tuple[Senders, Metrics]:
    metrics = Metrics()
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "tokens.yaml"
        file.write_text(yaml.safe_dump({"tokens": [{"name": "sender", "token": TOKEN, **entry}]}))
        return Senders(TokenFile(file), metrics, by_attribute=by_attribute), metrics


def _outcome(senders: Senders, named: str) -> str | Denied:
    try:
        return senders.tenant("grpc", f"Bearer {TOKEN}", named)
    except Denied as denied:
        return denied


@given(st.sets(TENANTS, min_size=1), TENANTS, st.booleans())
def test_a_sender_gets_into_no_tenant_but_its_own(tenants: set[str], named: str, by_attribute: bool) -> None:
    senders, metrics = _senders({"tenants": sorted(tenants)}, by_attribute=by_attribute)
    outcome = _outcome(senders, named)
    if isinstance(outcome, Denied):
        assert outcome.reason == "tenant"
        labels = {"transport": "grpc", "reason": "tenant"}
        assert metrics.registry.get_sample_value("spanjudge_requests_denied_total", labels) == 1
        assert len(tenants) > 1 or tenants == {""}
    else:
        assert outcome in tenants
        assert outcome or not by_attribute  # or resources would name anybody's


@given(TENANTS, st.booleans())
def test_a_token_for_all_leaves_it_to_header_and_resource(named: str, by_attribute: bool) -> None:
    senders, _ = _senders({}, by_attribute=by_attribute)
    assert senders.tenant("http", f"bearer {TOKEN}", named) == named


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        ("", "missing"),
        ("Bearer", "malformed"),
        ("Bearer   ", "malformed"),
        (TOKEN, "malformed"),
        (f"Basic {TOKEN}", "malformed"),
        ("Bearer " + "x" * 100_000, "malformed"),
        (f"Bearer {TOKEN}x", "unknown"),
        (f"Bearer {TOKEN} {TOKEN}", "unknown"),
        ("Bearer \ud800", "unknown"),
    ],
)
def test_what_is_no_known_token_is_denied_and_not_repeated(authorization: str, reason: str) -> None:
    senders, _ = _senders({}, by_attribute=False)
    with pytest.raises(Denied) as caught:
        senders.tenant("http", authorization, "")
    assert (caught.value.reason, caught.value.known) == (reason, False)
    assert TOKEN not in str(caught.value)


def test_a_token_to_read_with_sends_nothing() -> None:
    senders, _ = _senders({"read_only": True}, by_attribute=False)
    with pytest.raises(Denied) as caught:
        senders.tenant("grpc", f"Bearer {TOKEN}", "")
    assert (caught.value.reason, caught.value.known) == ("read_only", True)
