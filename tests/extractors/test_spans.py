from __future__ import annotations

from dataclasses import replace

from extractors.conventions.genai_spans import layout_of
from tests.extractors.spans import chat, record, session, span


def test_the_scopes_of_a_session_are_those_of_its_spans_and_records() -> None:
    found = session([span("a", scope="one"), span("b", scope="two")], [record("e")])
    assert found.scopes == {"one", "two", "test.agent"}
    assert session().scopes == frozenset()


def test_the_scopes_follow_when_the_spans_of_a_session_are_replaced() -> None:
    found = session([span("a", scope="one")])
    assert replace(found, spans=(span("b", scope="two"),)).scopes == {"two"}


def test_records_of_one_instant_are_in_the_order_of_their_positions() -> None:
    details = "gen_ai.client.inference.operation.details"
    records = [record(details, "gone", position=position) for position in range(11)]
    layout = layout_of(session([chat("m1", at_s=5)], records))
    assert [placed.anchor.record for placed in layout.exchanges] == [*range(11), None]
