"""Arguments against the schemas of strangers: right answers, in bounded time, without fetching anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.schemas import MOST_DEPTH, Checked, SchemaChecker, SchemaUnusable

PAY_BACK: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "order": {"type": "string", "pattern": "^[0-9]+$", "description": "the order's number"},
        "currency": {"enum": ["EUR", "USD"]},
        "amount": {"type": ["number", "null"], "minimum": 0},
        "title": {"$ref": "#/definitions/short"},
    },
    "definitions": {"short": {"type": "string", "maxLength": 5}},
    "required": ["order"],
    "additionalProperties": False,
}


def _check(arguments: dict[str, Any], schema: dict[str, Any]) -> Checked:
    return SchemaChecker(schema).check(arguments)


def test_what_a_definition_asks_for_has_no_faults() -> None:
    assert _check({"order": "77", "currency": "EUR", "amount": None, "title": "Back"}, PAY_BACK) == Checked()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "arguments lacks order"),
        ({"order": 77}, "order is not of type string"),
        ({"order": "s3cr3t"}, "order breaks pattern ^[0-9]+$"),
        ({"order": "77", "amount": "s3cr3t"}, "amount is not of type number or null"),
        ({"order": "77", "amount": -1}, "amount breaks minimum 0"),
        ({"order": "77", "currency": "s3cr3t"}, "currency is not one of ['EUR', 'USD']"),
        ({"order": "77", "title": "s3cr3ts"}, "title breaks maxLength 5"),
        ({"order": "77", "note": "s3cr3t"}, "arguments has unknown keys note"),
    ],
)
def test_a_fault_names_place_and_rule_and_never_the_value(arguments: dict[str, Any], told: str) -> None:
    assert _check(arguments, PAY_BACK).errors == (told,)


def test_one_checker_serves_many_calls() -> None:
    checker = SchemaChecker(PAY_BACK)
    assert checker.check({}).errors
    assert checker.check({"order": "7"}) == Checked()


def test_checkers_used_in_turn_tell_each_what_it_passed_over() -> None:
    sparse = SchemaChecker({"properties": {"tags": {"uniqueItems": True}}})
    plain = SchemaChecker({"required": ["tags"]})
    assert sparse.check({"tags": [1]}).unchecked == ("uniqueItems",)
    assert plain.check({"tags": [1]}) == Checked()
    assert sparse.check({"tags": [1]}).unchecked == ("uniqueItems",)


def _doubling(levels: int, place: str = "#") -> dict[str, Any]:
    """Two references on each level to the next: twice the work on each. `place` is where the schema will stand."""
    levels_of = {f"d{at}": {"allOf": [{"$ref": f"{place}/$defs/d{at + 1}"}] * 2} for at in range(levels)}
    return {"$defs": {**levels_of, f"d{levels}": {"type": "object"}}, "$ref": f"{place}/$defs/d0"}


NESTED: dict[str, Any] = {}
for _ in range(MOST_DEPTH + 5):
    NESTED = {"properties": {"a": NESTED}}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        _doubling(60),
        NESTED,
        {"$ref": "https://schemas.example/x.json"},
        {"$id": "https://schemas.example/y.json", "$ref": "z.json"},
        {"type": 3},
        {"properties": [1]},
        {"properties": {"a": {"multipleOf": 0}}},
        {"properties": {"many": {"items": {"enum": list(range(15_000))}}}},
        {"enum": [[0] * 25_000]},
    ],
)
def test_a_hostile_or_broken_schema_is_said_to_be_unusable(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaUnusable):
        _check({"a": 1, "many": [14_999] * 15_000}, schema)


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, "pattern"),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, "patternProperties"),
        ({"properties": {"a": {"uniqueItems": True}}}, "uniqueItems"),
        ({"unevaluatedProperties": False}, "unevaluatedProperties"),
    ],
)
def test_what_is_passed_over_is_told(schema: dict[str, Any], keyword: str) -> None:
    assert _check({"a": "a" * 500 + "b"}, schema) == Checked(unchecked=(keyword,))


def test_a_dialect_inside_cannot_bring_keywords_that_do_not_count() -> None:
    dialect = {"$schema": "http://json-schema.org/draft-07/schema#"}
    schema = {"properties": {"a": dialect | _doubling(60, "#/properties/a")}}
    with pytest.raises(SchemaUnusable, match="steps"):
        _check({"a": {}}, schema)


def test_arguments_called_like_keywords_are_arguments() -> None:
    schema = {"properties": {"title": {"type": "string"}, "description": {"type": "string"}}, "required": ["title"]}
    assert _check({"title": 1, "description": 2}, schema).errors == (
        "description is not of type string",
        "title is not of type string",
    )
    assert _check({"a": {"b": {"title": "x"}}}, {"properties": {"a": {"const": {"b": {"title": "x"}}}}}) == Checked()


KEYWORDS = ("type", "properties", "items", "$ref", "allOf", "enum", "const", "pattern", "required", "minimum", "not")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["object", "a", "#", "#/properties/a", "^a+$"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=4),
    max_leaves=12,
)


@given(schema=st.dictionaries(st.sampled_from(KEYWORDS), ANYTHING, max_size=5), value=ANYTHING)
def test_any_schema_is_checked_or_unusable(schema: dict[str, Any], value: Any) -> None:
    try:
        checked = _check({"a": value}, schema)
    except SchemaUnusable:
        return
    assert len(checked.errors) <= 5
