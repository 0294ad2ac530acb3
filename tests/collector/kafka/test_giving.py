"""Items go to the sessions in the sample; of the others it is known why not."""

from __future__ import annotations

from collections import Counter

from collector.kafka.giving import Giving
from collector.kafka.message_items import Item
from collector.kafka.session_topic import session_key
from collector.otlp.envelope import walk
from collector.sessions.keys import Kind, Owner, kept
from tests.collector.sessions.telemetry import span, trace_id, trace_request

_KEY = ("acme", trace_id(1))
_NAMES = [f"s{number}" for number in range(40)]
_IN, _OUT = (
    next(name for name in _NAMES if kept(Owner(Kind.SESSION, name, "acme").digest, 0.5) == wanted)
    for wanted in (True, False)
)


def _item(size: int = 0) -> Item:
    request = trace_request([span(1, 1, note="x" * size)])
    (group,) = walk(request)
    ((start, _, end),) = group.items
    return group, memoryview(request)[start:end]


def _giving(*, trace_is_session: bool = True) -> Giving:
    return Giving(0.5, 2000, trace_is_session=trace_is_session)


def test_an_item_goes_to_the_session_that_it_names() -> None:
    giving = _giving()
    assert giving.one("acme", _IN, "traces", _item()) == "session"
    (bundle,), oversized = giving.take()
    assert (bundle.key, bundle.items, oversized) == (session_key(Owner(Kind.SESSION, _IN, "acme")), 1, [])


def test_a_session_outside_the_sample_gets_nothing() -> None:
    giving = _giving()
    assert giving.one("acme", _OUT, "traces", _item()) == "sampled_out"
    assert giving.refused(_KEY, _OUT) == "sampled_out"
    assert giving.take() == ([], [])


def test_an_item_of_several_homes_counts_by_the_best_that_became_of_it() -> None:
    giving = _giving()
    assert giving.to_homes(_KEY, (_OUT, _IN), "traces", [_item(), _item()]) == Counter(session=2)
    (bundle,), _ = giving.take()
    assert bundle.items == 2
    assert giving.to_homes(_KEY, (_OUT,), "traces", [_item()]) == Counter(sampled_out=1)


def test_a_trace_may_be_no_session() -> None:
    giving = _giving(trace_is_session=False)
    assert giving.refused(_KEY, None) == "no_session"
    assert giving.to_homes(_KEY, (None,), "traces", [_item()]) == Counter(no_session=1)


def test_an_item_that_fits_nowhere_is_kept_apart() -> None:
    giving = _giving()
    assert giving.to_homes(_KEY, (_IN,), "traces", [_item(), _item(5000)]) == Counter(session=1, oversized=1)
    bundles, oversized = giving.take()
    assert [bundle.items for bundle in (*bundles, *oversized)] == [1, 1]
    assert len(oversized[0].value) > 5000
