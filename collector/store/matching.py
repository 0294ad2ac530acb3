"""What is asked of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Column, ColumnElement


def equal(columns: Mapping[Column[Any], object]) -> Iterator[ColumnElement[bool]]:
    """Each column has its value; None asks nothing of it."""
    for column, value in columns.items():
        if value is not None:
            yield column == value
