from collections import defaultdict
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from benchmarks.generate import BEFORE, NOW, Shape, Stamper, read_pool, requests, write_pool
from benchmarks.sessions import SPANS_PER_SESSION, Ids, Profile

SMALL = Shape("lean", batch=100, spans=3_200, open_sessions=40)


def decoded(made: list[bytes]) -> list[Span]:
    return [
        span
        for request in made
        for resource in ExportTraceServiceRequest.FromString(request).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def text(span: Span, key: str) -> str | None:
    found = [pair.value.string_value for pair in span.attributes if pair.key == key]
    return found[0] if found else None


def by_trace(spans: list[Span]) -> dict[bytes, list[Span]]:
    traces: dict[bytes, list[Span]] = defaultdict(list)
    for span in spans:
        traces[span.trace_id].append(span)
    return traces


@pytest.mark.parametrize(
    ("profile", "span_bytes", "attributes"), [("rich", (5_500, 7_000), (20, 24)), ("lean", (700, 900), (18, 21))]
)
def test_a_profile_has_the_size_that_it_promises(
    profile: Profile, span_bytes: tuple[int, int], attributes: tuple[int, int]
) -> None:
    made = list(requests(Shape(profile, batch=500, spans=4_000, open_sessions=100)))
    spans = decoded(made)
    assert span_bytes[0] < sum(map(len, made)) / len(spans) < span_bytes[1]
    assert attributes[0] < sum(len(span.attributes) for span in spans) / len(spans) < attributes[1]


def test_messages_of_rich_chats_grow_from_one_to_twenty_kilobytes() -> None:
    spans = decoded(list(requests(Shape("rich", batch=500, spans=4_000, open_sessions=100))))
    sizes = sorted(len(messages) for span in spans if (messages := text(span, "gen_ai.input.messages")))
    assert sizes[0] < 1_500
    assert 15_000 < sizes[-1] <= 20_000


def test_every_request_holds_exactly_one_batch() -> None:
    assert [len(decoded([request])) for request in requests(SMALL)] == [100] * 32


def test_a_collector_batch_mixes_services_and_a_small_one_comes_from_one() -> None:
    def services(request: bytes) -> int:
        return len(ExportTraceServiceRequest.FromString(request).resource_spans)

    assert {services(request) for request in requests(SMALL)} == {8}
    small = Shape("lean", batch=10, spans=3_200, open_sessions=40)
    assert {services(request) for request in requests(small)} == {1}


def test_the_same_shape_gives_the_same_bytes_and_another_seed_does_not() -> None:
    assert list(requests(SMALL)) == list(requests(SMALL))
    other = Shape("lean", batch=100, spans=3_200, open_sessions=40, seed=2)
    assert list(requests(SMALL)) != list(requests(other))


def test_ids_of_spans_are_valid_and_differ() -> None:
    spans = decoded(list(requests(SMALL)))
    assert {len(span.trace_id) for span in spans} == {16}
    assert {len(span.span_id) for span in spans} == {8}
    assert len({span.span_id for span in spans}) == len(spans) == SMALL.spans


def test_over_two_passes_every_session_of_the_first_is_whole_and_children_come_before_roots() -> None:
    pool = [Stamper(request) for request in requests(SMALL)]
    spans = decoded([stamper.stamped(number) for number in (1, 2, 3) for stamper in pool])
    sessions: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        name = text(span, "session.id")
        assert name is not None
        sessions[name].append(span)
    whole = [members for name, members in sessions.items() if "-00000001-" in name or "-00000002-" in name]
    assert len(whole) == 2 * SMALL.spans / SPANS_PER_SESSION
    assert {len(members) for members in whole} == {SPANS_PER_SESSION}
    for members in whole:
        for trace in by_trace(members).values():
            assert [span.parent_span_id == b"" for span in trace] == [False] * (len(trace) - 1) + [True]


def test_stamping_changes_nothing_but_tags() -> None:
    request = next(requests(SMALL))
    stamped = Stamper(request).stamped(7)
    assert len(stamped) == len(request)
    assert stamped == request.replace(NOW, b"00000007").replace(BEFORE, b"00000006")
    assert NOW not in stamped


@pytest.mark.parametrize(
    ("ids", "named", "key"),
    [("all", 1.0, "session.id"), ("root", 0.1, "session.id"), ("conversation", 1.0, "gen_ai.conversation.id")],
)
def test_the_mode_says_which_spans_name_their_session(ids: Ids, named: float, key: str) -> None:
    shape = Shape("lean", batch=100, spans=3_200, ids=ids, open_sessions=40)
    spans = decoded(list(requests(shape)))
    assert sum(text(span, key) is not None for span in spans) / len(spans) == pytest.approx(named)
    other = {"session.id", "gen_ai.conversation.id"} - {key}
    assert not any(pair.key in other for span in spans for pair in span.attributes)


def test_mixed_ids_use_all_three_ways() -> None:
    spans = decoded(list(requests(Shape("lean", batch=100, spans=3_200, ids="mixed", open_sessions=40))))
    by_session = sum(text(span, "session.id") is not None for span in spans)
    by_conversation = sum(text(span, "gen_ai.conversation.id") is not None for span in spans)
    assert by_session / len(spans) == pytest.approx((1 + 0.1) / 3, abs=0.02)
    assert by_conversation / len(spans) == pytest.approx(1 / 3, abs=0.02)


def test_a_pool_comes_back_from_its_file(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool", SMALL)
    pool = read_pool(tmp_path / "pool")
    assert pool.shape == SMALL
    assert list(pool.requests) == list(requests(SMALL))


def test_a_pool_cut_short_is_an_error(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool", SMALL)
    whole = (tmp_path / "pool").read_bytes()
    (tmp_path / "pool").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match="ends in the middle of request 31"):
        read_pool(tmp_path / "pool")


def test_a_shape_that_does_not_divide_says_so() -> None:
    with pytest.raises(ValueError, match="not whole sessions of 20 spans for 8 services in whole requests of 300"):
        Shape("lean", batch=300, spans=3_200, open_sessions=40)
    with pytest.raises(ValueError, match="too few to keep 400 sessions open"):
        Shape("lean", batch=100, spans=3_200)
