"""What is for one session is in few messages, whole, in order, and none too large."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.kafka.bundles import Bundle, Bundles, alone
from collector.otlp.envelope import ScopeGroup, walk
from tests.collector.sessions.telemetry import span, trace_request

_ROOMY = 1_000_000


def _cut(request: bytes) -> list[tuple[ScopeGroup, memoryview]]:
    view = memoryview(request)
    return [(group, view[start:end]) for group in walk(request) for start, _, end in group.items]


def _spans(bundle: Bundle) -> list[tuple[str, int]]:
    """Service and span id of each span."""
    return [
        (group.resource.attributes[0].value.string_value, int.from_bytes(each.span_id, "big"))
        for group in ExportTraceServiceRequest.FromString(bundle.value).resource_spans
        for inner in group.scope_spans
        for each in inner.spans
    ]


@given(
    items=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["shop", "depot"]), st.integers(0, 300))),
    most=st.integers(500, 2000),
)
def test_no_item_is_lost_doubled_or_out_of_order(items: list[tuple[str, str, int]], most: int) -> None:
    bundles = Bundles(most)
    sent: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for number, (key, service, size) in enumerate(items, 1):
        request = trace_request([span(1, number, note="x" * size)], resource={"service.name": service})
        ((group, item),) = _cut(request)
        assert bundles.add(key.encode(), "traces", bundles.same(group), item)
        sent[key].append((service, number))
    found: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for bundle in bundles.take():
        assert len(bundle.value) <= most
        assert len(_spans(bundle)) == bundle.items
        found[bundle.key.decode()] += _spans(bundle)
    assert found == sent
    assert (bundles.take(), bundles.size) == ([], 0)


def test_items_in_equal_surroundings_share_them() -> None:
    bundles = Bundles(_ROOMY)
    for number in (1, 2, 3):
        ((group, item),) = _cut(trace_request([span(1, number)]))
        bundles.add(b"k", "traces", bundles.same(group), item)
    (bundle,) = bundles.take()
    assert len(ExportTraceServiceRequest.FromString(bundle.value).resource_spans) == 1


def test_signals_of_one_session_are_apart() -> None:
    bundles = Bundles(_ROOMY)
    ((group, item),) = _cut(trace_request([span(1, 1)]))
    bundles.add(b"k", "traces", group, item)
    bundles.add(b"k", "logs", group, item)
    assert [bundle.signal for bundle in bundles.take()] == ["traces", "logs"]


def test_an_item_that_no_message_has_room_for_is_told() -> None:
    bundles = Bundles(1000)
    ((group, item),) = _cut(trace_request([span(1, 1, note="x" * 1000)]))
    assert not bundles.add(b"k", "traces", group, item)
    assert bundles.take() == []
    assert _spans(alone(b"k", "traces", group, item)) == [("shop", 1)]
