from collections import Counter

from benchmarks.generate import Shape, requests
from benchmarks.kills import Compared, Manifest, compare, template


def manifest(**spans: int) -> Manifest:
    return Manifest(sent=Counter(spans), acknowledged=Counter(spans))


def test_a_session_with_all_its_spans_in_the_newest_revision_is_whole() -> None:
    found = compare(manifest(a=20), [("a", 1, 12), ("a", 2, 20)])
    assert found == Compared(1, 20, lost=0, invented=0, unclosed=0, revisions=2, again=0)


def test_a_span_that_is_in_no_newest_revision_is_lost() -> None:
    assert compare(manifest(a=20, b=5), [("a", 1, 20), ("a", 2, 19), ("b", 1, 5)]).lost == 1


def test_a_session_without_a_closing_is_lost_and_told() -> None:
    found = compare(manifest(a=20, b=5), [("a", 1, 20)])
    assert (found.lost, found.unclosed) == (5, 1)


def test_spans_that_nobody_sent_are_told() -> None:
    assert compare(manifest(a=20), [("a", 1, 21)]).invented == 1


def test_a_revision_without_a_new_span_is_told() -> None:
    assert compare(manifest(a=20), [("a", 1, 20), ("a", 2, 20)]).again == 1


def test_what_was_sent_and_not_acknowledged_may_be_there_or_not() -> None:
    sent = Manifest(sent=Counter(a=20), acknowledged=Counter(a=15))
    for spans in (15, 20):
        found = compare(sent, [("a", 1, spans)])
        assert (found.lost, found.invented) == (0, 0)


def test_a_template_names_the_sessions_of_each_pass_and_counts_their_spans() -> None:
    shape = Shape("lean", batch=100, spans=8_000, open_sessions=100)
    templates = [template(request) for request in requests(shape)]
    second = Counter[str]()
    for each in templates:
        second += each.of_pass(2)[1]
    assert second.total() == 8_000
    of_this_pass = {name: count for name, count in second.items() if "-00000002-" in name}
    of_the_one_before = {name: count for name, count in second.items() if "-00000001-" in name}
    assert len(second) == len(of_this_pass) + len(of_the_one_before)
    assert of_this_pass
    assert of_the_one_before
    assert set(Counter(of_this_pass.values())) <= set(range(1, 21))
