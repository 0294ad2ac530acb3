"""How the parts of a store that SQLAlchemy speaks for come by a connection."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

_Result = TypeVar("_Result")


class Transact(Protocol):
    """Runs something with a connection, in one transaction of the store, and raises what the store raises."""

    def __call__(self, apply: Callable[[Connection], _Result], /) -> Coroutine[Any, Any, _Result]: ...
