from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors import attributes as at
from extractors.spans import Attributes, Value

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=8) | st.text(max_size=20)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
READERS = (
    at.text,
    at.texts,
    at.integer,
    at.number,
    at.boolean,
    at.json_value,
    at.json_object,
    at.json_list,
)


@given(value=VALUES)
def test_no_reader_raises_whatever_the_value(value: Value) -> None:
    for read in READERS:
        read({"key": value}, "key")


@pytest.mark.parametrize("read", READERS)
def test_an_absent_key_is_not_recorded(read: Callable[[Attributes, str], object]) -> None:
    assert read({}, "key") is None


def test_an_empty_text_is_recorded_and_another_type_is_not() -> None:
    assert at.text({"key": ""}, "key") == ""
    assert at.text({"key": 3}, "key") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), ("12", 12), ("-4", -4), (2.0, 2), (2.5, None), (True, None), ("1e3", None), ("", None), ("9" * 30, None)],
)
def test_integers_are_also_read_from_digits_but_not_from_truth_values(value: Value, expected: int | None) -> None:
    assert at.integer({"key": value}, "key") == expected


@pytest.mark.parametrize(("value", "expected"), [(1, 1.0), ("0.5", 0.5), ("nan", None), ("inf", None), ("x", None)])
def test_numbers_are_finite(value: Value, expected: float | None) -> None:
    assert at.number({"key": value}, "key") == expected


def test_cut_json_is_not_recorded_and_empty_json_is() -> None:
    assert at.json_object({"key": '{"a": 1'}, "key") is None
    assert at.json_object({"key": "{}"}, "key") == {}
    assert at.json_list({"key": "[]"}, "key") == []


def test_json_of_another_kind_than_asked_for_is_not_recorded() -> None:
    assert at.json_object({"key": "[1]"}, "key") is None
    assert at.json_list({"key": '{"a": 1}'}, "key") is None


def test_structured_values_need_no_json() -> None:
    assert at.json_object({"key": {"a": 1}}, "key") == {"a": 1}
    assert at.json_list({"key": ["a"]}, "key") == ["a"]


def test_json_nested_beyond_reason_is_not_recorded() -> None:
    assert at.json_value({"key": "[" * 100_000}, "key") is None
    assert at.json_value({"key": "[" * 100_000 + "]" * 100_000}, "key") is None


def test_pythons_nan_does_not_spoil_the_rest_of_a_document() -> None:
    assert at.parse_json('{"loss": NaN, "limit": -Infinity}') == {"loss": "NaN", "limit": "-Infinity"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (r'{"task": "caf\u00e9 \ud83d", "left": 1}', {"task": "café \ufffd", "left": 1}),
        (r'["\ud83d\ude00", "\ude00\ud83d"]', ["\U0001f600", "\ufffd\ufffd"]),
        (r'["C:\\ud83d", "\ud83d"]', [r"C:\ud83d", "\ufffd"]),
    ],
)
def test_half_an_emoji_does_not_spoil_the_rest_of_a_document(document: str, expected: Value) -> None:
    assert at.parse_json(document) == expected


@given(value=VALUES)
def test_any_value_can_be_written_as_text(value: Value) -> None:
    assert isinstance(at.json_text(value), str)


def test_equal_objects_give_equal_text_whatever_their_order() -> None:
    assert at.json_text({"a": 1, "b": 2}) == at.json_text({"b": 2, "a": 1})


def test_values_that_json_cannot_hold_are_still_written() -> None:
    assert at.json_text({"key": b"\x01\xff"}) == '{"key":"01ff"}'
    assert at.json_text(2**70) == str(2**70)
