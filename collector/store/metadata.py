"""What all tables are registered with, and the types they share."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import BigInteger, Dialect, Integer, MetaData, Text, TypeDecorator
from sqlalchemy.types import TypeEngine

metadata = MetaData()

Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself under this type only
Instant = BigInteger  # nanoseconds

_ESCAPE = "\x1a"
_NOT_FOR_POSTGRESQL = re.compile(f"[\x00{_ESCAPE}\ud800-\udfff]")
_ESCAPED = re.compile(f"{_ESCAPE}([0-9a-f]{{4}})")


class Words(TypeDecorator[str]):
    """Text of any characters. PostgreSQL takes neither NUL nor half a surrogate pair: there they are written as
    SUBSTITUTE and four hexadecimal digits, and read back as what they were, so that two texts stay two texts. It sorts
    as SQLite does, by character, whatever the database was made with.

    Records have no need of it: JSON escapes what is odd."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Text(collation="C") if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value if value is None or dialect.name != "postgresql" else escaped(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value if value is None or dialect.name != "postgresql" else unescaped(value)


def escaped(text: str) -> str:
    return _NOT_FOR_POSTGRESQL.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text)


def unescaped(text: str) -> str:
    """The text that `escaped` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _ESCAPE in text else text
