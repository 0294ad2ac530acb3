"""Arguments against the JSON Schema of a tool definition, with schema and arguments both written by strangers.

Nothing is fetched: a reference leads inside the schema or nowhere. Depth and size are bounded, and so is the work:
every keyword that is looked at counts a step. Expressions of `pattern` are run only where their time is bounded (see
`judge.linear`). What was not checked is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from extractors.spans import Value
from judge.describe import listed, shorten
from judge.linear import MOST_TEXT, bounded_pattern

MOST_DEPTH = 40
MOST_VALUES = 20_000
"""Values in a schema, and in arguments; a tool definition of a thousand lines has about 5,000."""
MOST_STEPS = 20_000
"""Keywords looked at for one call."""
MOST_ERRORS = 5

_PASSED_OVER = ("$dynamicRef", "unevaluatedItems", "unevaluatedProperties", "uniqueItems")
"""Keywords whose work cannot be counted from outside."""
_IGNORED = frozenset({"$schema", "$id", "$vocabulary", "$comment", "description", "title", "examples", "default"})
"""They do not decide; `$id` would move the place that references start from, and `$schema` would bring validators
that do not count."""
_BY_PATTERN = frozenset({"patternProperties", "additionalProperties"})
"""Beside `patternProperties`, `additionalProperties` runs its expressions too."""
_NAMED = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose keys are names, not keywords."""
_LITERAL = frozenset({"const", "enum"})
"""Keywords whose values are data, not schemas."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a check. `errors` name place and fault, never a value; `unchecked` the keywords passed over."""

    errors: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


class SchemaUnusable(ValueError):
    """The schema cannot be used, or the check would not end in reasonable time. Says why without quoting values."""


class _Work:
    """Steps done, and keywords passed over, in one check."""

    def __init__(self) -> None:
        self.steps = 0
        self.unchecked: set[str] = set()

    def step(self, size: int) -> None:
        self.steps += 1 + size // 10
        if self.steps > MOST_STEPS:
            raise SchemaUnusable(f"checking took more than {MOST_STEPS:,} steps")


class SchemaChecker:
    """One tool's schema (draft 2020-12; `definitions` work too), made ready once for all calls of the tool. Raises
    `SchemaUnusable`, from the constructor as from `check`."""

    def __init__(self, schema: Mapping[str, Value]) -> None:
        self._work = _Work()
        self._passed: set[str] = set()
        plain = _plain(schema, "the schema", self._schema_keys)
        self._validator = _COUNTING(plain, registry=Registry())

    def check(self, arguments: Mapping[str, Value]) -> Checked:
        """The first few faults of the arguments."""
        self._work.steps = 0
        self._work.unchecked = set(self._passed)
        plain = _plain(arguments, "the argument object", None)
        before = _WORK.set(self._work)
        try:
            found = list(islice(self._validator.iter_errors(plain), MOST_ERRORS))
        except SchemaUnusable:
            raise
        except Unresolvable as error:
            raise SchemaUnusable("a reference leads to no part of the schema") from error
        except Exception as error:  # a schema that is none makes the library fail in many ways
            raise SchemaUnusable(f"the schema is not one ({type(error).__name__})") from error
        finally:
            _WORK.reset(before)
        return Checked(tuple(sorted(map(_told, found))), tuple(sorted(self._work.unchecked)))

    def _schema_keys(self, schema: Mapping[str, Value]) -> frozenset[str]:
        """The keywords of a schema that are not for the validator."""
        if "patternProperties" not in schema:
            return _IGNORED
        self._passed.add("patternProperties")
        return _IGNORED | _BY_PATTERN


Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]

_WORK: ContextVar[_Work] = ContextVar("work")
"""Of the check that runs. Making a validator class takes longer than most checks, so all checks share one, and its
keywords find here what they count for."""


def _counting() -> Any:
    """A validator class whose keywords count what they do."""
    keywords: dict[str, Any] = {name: _counted(name, check) for name, check in Draft202012Validator.VALIDATORS.items()}
    keywords |= {name: _passed_over(name) for name in _PASSED_OVER}
    keywords |= {"pattern": _pattern, "format": _nothing}
    return extend(Draft202012Validator, keywords)  # type: ignore[no-untyped-call]


def _counted(name: str, check: Any) -> Keyword:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError] | None:
        _WORK.get().step((_size(value) if name in _LITERAL else _length(value)) + _length(instance))
        found: Iterator[ValidationError] | None = check(validator, value, instance, schema)
        return found

    return keyword


def _length(value: object) -> int:
    return len(value) if isinstance(value, (dict, list)) else 0


def _size(value: object) -> int:
    """Values inside, at any depth. Bounded, since the schema is."""
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _passed_over(name: str) -> Keyword:
    def keyword(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> None:
        _WORK.get().unchecked.add(name)

    return keyword


def _pattern(_validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    work = _WORK.get()
    work.step(0)
    if not isinstance(instance, str):
        return
    expression = bounded_pattern(value) if isinstance(value, str) and len(instance) <= MOST_TEXT else None
    if expression is None:
        work.unchecked.add("pattern")
    elif not expression.search(instance):
        yield ValidationError("does not match")


def _nothing(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> None:
    """`format` is a remark unless both sides agree otherwise."""


_COUNTING = _counting()


def _told(error: ValidationError) -> str:
    """Place and fault. The library's own message quotes the value."""
    place = ".".join(str(part) for part in list(error.absolute_path)[:10]) or "arguments"
    keyword: object = error.validator
    wanted: object = error.validator_value
    instance: object = error.instance
    match keyword, wanted, instance:
        case "required", list(), Mapping():
            fault = f"lacks {', '.join(str(name) for name in wanted if name not in instance)}"
        case "type", list(), _:
            fault = f"is not of type {' or '.join(map(str, wanted))}"
        case "type", _, _:
            fault = f"is not of type {wanted}"
        case "enum", _, _:
            fault = f"is not one of {shorten(str(wanted))}"
        case "additionalProperties", False, Mapping():
            known = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
            fault = f"has unknown keys {listed(sorted(set(instance) - set(known)))}"
        case None, _, _:
            fault = "is not allowed"
        case _:
            fault = f"breaks {keyword} {shorten(str(wanted))}"
    return f"{shorten(place)} {shorten(fault)}"


_Kind: TypeAlias = Literal["schema", "names", "data"]
"""What a mapping is: a schema, a mapping from names to schemas, or data."""


def _inside(kind: _Kind, key: str) -> _Kind:
    """What stands under a key."""
    if kind != "schema":
        return "schema" if kind == "names" else "data"
    return "names" if key in _NAMED else "data" if key in _LITERAL else "schema"


def _plain(value: Value, what: str, dropped: Callable[[Mapping[str, Value]], frozenset[str]] | None) -> Any:
    """The value as plain dicts and lists, of bounded depth and size. `dropped` says which keywords of a schema to leave
    out; None: the value is data."""
    left = MOST_VALUES

    def copy(item: Value, depth: int, kind: _Kind) -> Any:
        nonlocal left
        left -= 1
        if depth > MOST_DEPTH:
            raise SchemaUnusable(f"{what} is nested more than {MOST_DEPTH} levels deep")
        if left < 0:
            raise SchemaUnusable(f"{what} has more than {MOST_VALUES:,} values")
        if isinstance(item, Mapping):
            drop = dropped(item) if dropped is not None and kind == "schema" else frozenset()
            return {key: copy(inner, depth + 1, _inside(kind, key)) for key, inner in item.items() if key not in drop}
        if isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
            return [copy(inner, depth + 1, kind) for inner in item]
        return item

    return copy(value, 0, "data" if dropped is None else "schema")
