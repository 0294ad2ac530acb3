"""How long to wait before a question is asked again, or whether to give up."""

from __future__ import annotations

from dataclasses import dataclass

from judge.errors import JudgeError, JudgeUnavailable, refuses_model

MAX_DOUBLINGS = 30
"""Past this, doubling only makes numbers that no limit keeps."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Doubling waits between `first_s` and `max_s` seconds, shortened at random by up to half.

    A wait is never shorter than the service asked for, unless it asked for more than `max_retry_after_s`: a header
    of ten years is a mistake of somebody's.
    """

    max_attempts: int = 6
    first_s: float = 2.0
    max_s: float = 300.0
    max_retry_after_s: float = 3600.0

    def wait_s(self, error: JudgeError, attempts: int, jitter: float) -> float | None:
        """Seconds to wait after the `attempts`-th failed attempt (1 is the first); None means give up.

        `jitter` is a number from 0 to 1, drawn by the caller. Worth another attempt are `JudgeUnavailable` and a
        refused model, since permissions come and go.
        """
        if not (isinstance(error, JudgeUnavailable) or refuses_model(error)) or attempts >= self.max_attempts:
            return None
        grown_s = min(self.max_s, self.first_s * 2.0 ** min(max(attempts, 1) - 1, MAX_DOUBLINGS))
        own_s = grown_s * (1 - jitter / 2)
        after_s = error.retry_after_s if isinstance(error, JudgeUnavailable) else None
        if after_s is None:
            return own_s
        # Everybody was told the same time; the jitter on top keeps them from returning in the same instant.
        return max(own_s, min(after_s, self.max_retry_after_s) + jitter * self.first_s)
