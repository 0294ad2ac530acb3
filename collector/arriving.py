"""Bodies of requests that are being received in parts: many slow senders must not fill the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Arriving:
    """Belongs to the event loop. `bytes` is what has come of all bodies under way."""

    def __init__(self, admit: Callable[[int], None]) -> None:
        """`admit` raises `Refused` when so many bytes more have no room."""
        self.bytes = 0
        self._admit = admit

    @contextmanager
    def body(self) -> Iterator[Callable[[int], None]]:
        """While a body is being received: call for each part with its bytes. Raises `Refused`."""
        held = 0

        def part(size: int) -> None:
            nonlocal held
            self._admit(size)
            held += size
            self.bytes += size

        try:
            yield part
        finally:
            self.bytes -= held
