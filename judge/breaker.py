"""Is the judge, or one of its models, worth asking just now? Opened by failures in a row or by a refusal; closed by one
answer.

While it is open nothing is asked, so an outage uses up nobody's attempts; then one question at a time is put to see
whether the judge is back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from judge.errors import JudgeError, JudgeMisconfigured, JudgeUnavailable

State: TypeAlias = Literal["closed", "open", "half_open"]

NOT_AUTHORISED = "judge_not_authorised"
"""The reason of a refused key, account or permission: a person must act."""
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class CircuitPolicy:
    """Open after `failures` in a row, for `first_s` seconds; twice as long after each failed try, up to `max_s`, or
    as long as the service asks for (up to `max_retry_after_s`)."""

    failures: int = 5
    first_s: float = 5.0
    max_s: float = 60.0
    max_retry_after_s: float = 3600.0


class Circuit:
    """Told of every call's beginning and end; never reads a clock."""

    def __init__(self, policy: CircuitPolicy) -> None:
        self._policy = policy
        self._failures = 0
        self._wait_s = policy.first_s
        self._open_until_ns: int | None = None
        self._probing = False
        self._why: JudgeError | None = None

    @property
    def why(self) -> JudgeError | None:
        """The error that keeps it open, None while it is closed."""
        return self._why if self._open_until_ns is not None else None

    @property
    def next_try_ns(self) -> int | None:
        """When one question may find out whether the judge is back, None while it is closed."""
        return self._open_until_ns

    def state(self, now_ns: int) -> State:
        if self._open_until_ns is None:
            return "closed"
        return "half_open" if self._probing or now_ns >= self._open_until_ns else "open"

    def may_ask(self, now_ns: int) -> bool:
        return self.state(now_ns) == "closed" or (self.state(now_ns) == "half_open" and not self._probing)

    def begins(self, now_ns: int) -> bool:
        """A question is about to be asked; True when it is the one that tries whether the judge is back. To be
        followed by `answered`, `failed` or `abandoned`."""
        probe = self.state(now_ns) == "half_open" and not self._probing
        self._probing = self._probing or probe
        return probe

    def answered(self) -> None:
        """The service did its work, whatever it said."""
        self._failures = 0
        self._wait_s = self._policy.first_s
        self._open_until_ns = self._why = None
        self._probing = False

    def failed(self, error: JudgeError, now_ns: int, *, probe: bool) -> bool:
        """`JudgeUnavailable`, or a refusal, which opens at once. True when it counts as an attempt of its question: an
        outage is no fault of the question that noticed it."""
        was_closed = self._open_until_ns is None
        refused = isinstance(error, JudgeMisconfigured)
        self._failures += 1
        if probe:
            self._probing = False
            self._wait_s = min(self._wait_s * 2, self._policy.max_s)
        if probe or refused or (was_closed and self._failures >= self._policy.failures):
            self._open(error, now_ns)
        return was_closed and not refused

    def abandoned(self, *, probe: bool) -> None:
        """The question was not asked after all."""
        if probe:
            self._probing = False

    def _open(self, error: JudgeError, now_ns: int) -> None:
        asked_s = error.retry_after_s if isinstance(error, JudgeUnavailable) else None
        wait_s = max(self._wait_s, min(asked_s or 0.0, self._policy.max_retry_after_s))
        self._open_until_ns = now_ns + int(wait_s * _SECOND_NS)
        self._why = error
