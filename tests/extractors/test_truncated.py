from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.spans import Value
from extractors.truncated import salvaged

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("document", "value"),
    [
        ('[{"text": "net', [{"text": "net…"}]),
        ('[{"text": "net"}, {"te', [{"text": "net"}, {}]),
        ('{"a": {"b": [1, 2', {"a": {"b": [1]}}),
        ('{"a": true, "b": fal', {"a": True}),
        ('{"a": "x", "b":', {"a": "x"}),
        ('"a lone text', "a lone text…"),
        ('["a\\', ["a…"]),
        ('["a\\u00', ["a…"]),
        ('["a\\\\', ["a\\…"]),
        ('["\\ud83d', ["…"]),
        ('["a\\\\ud83d', ["a\\ud83d…"]),
        ("[", []),
        ("[1, 2]", [1, 2]),
        ("[1] and more", [1]),
    ],
)
def test_what_stands_before_the_cut_is_read_and_a_begun_text_is_marked(document: str, value: Value) -> None:
    assert salvaged(document, "…") == value


@pytest.mark.parametrize("document", ["", "  ", "nul", "]", "{]", ":", "tell me", '{"a": }]'])
def test_what_is_no_json_is_nothing_or_an_empty_whole(document: str) -> None:
    assert salvaged(document) in (None, {})


@given(value=JSON, data=st.data())
def test_every_cut_of_a_document_gives_a_beginning_of_its_value(value: Value, data: st.DataObject) -> None:
    document = json.dumps([value], ensure_ascii=data.draw(st.booleans()))
    found = salvaged(document[: data.draw(st.integers(1, len(document)))])
    assert isinstance(found, list)
    assert len(found) <= 1
    if found:
        assert begins(found[0], value)


def begins(part: Value, whole: Value) -> bool:
    match part, whole:
        case str(), str():
            return whole.startswith(part)
        case list(), list():
            return len(part) <= len(whole) and all(map(begins, part, whole))
        case dict(), dict():
            return all(key in whole and begins(part[key], whole[key]) for key in part)
    return part == whole


@given(document=st.text(alphabet='[]{}",:\\u0a1 tnf'))
def test_any_text_is_read_without_raising(document: str) -> None:
    salvaged(document, "…")


@pytest.mark.parametrize(
    "document", ["[" * 50_000, '{"a":' * 50_000, '"' * 50_000, '\\"' * 50_000, '["' + "\\" * 50_001]
)
def test_hostile_text_is_read_without_raising(document: str) -> None:
    salvaged(document, "…")
