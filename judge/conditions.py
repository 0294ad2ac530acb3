"""Conditions on one value of the telemetry, as people write them in files."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeGuard

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from extractors.spans import Value
from judge.globs import contains, matches

Plain: TypeAlias = str | bool | int | float
Number: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


def _as_tuple(value: Any) -> Any:
    return [value] if isinstance(value, str | bool | int | float) else value


class Condition(BaseModel):
    """All that is given must hold. What was not recorded holds nothing but `exists: false`; `not`, too, wants a value
    that is another."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    equals: Plain | None = Field(None, description="a pattern for text (`*` stands for any), else the value itself")
    differs: Plain | None = Field(None, alias="not", description="recorded, and not equal to this")
    contains: str | None = Field(None, min_length=1, description="text with this in it, in any letter case")
    exists: bool | None = Field(None, description="recorded, or (false) not recorded")
    one_of: Annotated[tuple[Plain, ...], BeforeValidator(_as_tuple)] | None = Field(
        None, alias="in", min_length=1, description="equal to one of these"
    )
    gt: Number | None = Field(None, description="a number above this")
    lt: Number | None = Field(None, description="a number below this")
    glob: str | None = Field(None, min_length=1, description="text that fits this pattern")

    @model_validator(mode="after")
    def _says_something(self) -> Condition:
        if not self.model_fields_set:
            raise ValueError("give one of equals, not, contains, exists, in, gt, lt and glob")
        if self.exists is False and len(self.model_fields_set) > 1:
            raise ValueError("exists: false goes alone: what is not recorded holds nothing else")
        return self

    def __str__(self) -> str:
        return " and ".join(
            f"{name} {value!r}" for name, value in self.model_dump(by_alias=True, exclude_unset=True).items()
        )


def holds(condition: Condition, value: Value) -> bool:
    """Of a value of the telemetry; None is one that was not recorded."""
    if value is None:
        return condition.exists is False
    return (
        condition.exists is not False
        and (condition.equals is None or equal(condition.equals, value))
        and (condition.differs is None or not equal(condition.differs, value))
        and (condition.one_of is None or any(equal(wanted, value) for wanted in condition.one_of))
        and (condition.contains is None or (isinstance(value, str) and contains(condition.contains, value)))
        and (condition.glob is None or (isinstance(value, str) and matches(condition.glob, value)))
        and (condition.gt is None or (_is_number(value) and value > condition.gt))
        and (condition.lt is None or (_is_number(value) and value < condition.lt))
    )


def equal(wanted: Plain, value: Value) -> bool:
    """A text is a pattern; true is not 1."""
    if isinstance(wanted, str):
        return isinstance(value, str) and matches(wanted, value)
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
