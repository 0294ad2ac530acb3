"""Guessing is made slow: so many failures of one address, and it has to wait (pure)."""

from __future__ import annotations

import ipaddress
import math

_SLOTS = 4096
_FAILURES = 10
_SECONDS_EACH = 6.0


class FailureLimit:
    """Ten failures at once, and one more every six seconds, for each address (IPv6: each /64). Its memory is as large
    from the start as it ever gets: addresses share slots, so a stranger may now and then wait for another's guesses."""

    def __init__(self, slots: int = _SLOTS) -> None:
        self._failures = [0.0] * slots
        self._at_ns = [0] * slots

    def wait_s(self, address: str, now_ns: int) -> int:
        """Whole seconds until this address may try again; 0 when it may now."""
        over = self._now(self._slot(address), now_ns) - (_FAILURES - 1)
        return 0 if over <= 0 else math.ceil(over * _SECONDS_EACH)

    def failed(self, address: str, now_ns: int) -> None:
        slot = self._slot(address)
        self._failures[slot] = min(self._now(slot, now_ns) + 1, _FAILURES)
        self._at_ns[slot] = now_ns

    def _now(self, slot: int, now_ns: int) -> float:
        """Failures that are not forgotten yet."""
        return max(0.0, self._failures[slot] - (now_ns - self._at_ns[slot]) / 1e9 / _SECONDS_EACH)

    def _slot(self, address: str) -> int:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return hash(address) % len(self._failures)
        whole = int(parsed) >> 64 if parsed.version == 6 else int(parsed)
        return hash((parsed.version, whole)) % len(self._failures)
