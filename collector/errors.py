"""What the sender, or the caller, should do next."""

from __future__ import annotations

from typing import Literal, TypeAlias

Denial: TypeAlias = Literal["missing", "malformed", "unknown", "read_only", "tenant"]
"""What is wrong with a bearer token, or with what it was used for."""


class Refused(Exception):
    """No room just now: keep the data and send it again after `retry_after_s` seconds. `reason` labels a metric."""

    def __init__(self, reason: str, detail: str, retry_after_s: int = 5) -> None:
        super().__init__(detail)
        self.reason = reason
        self.retry_after_s = retry_after_s


class StoreUnavailable(Refused):
    """The disk or the database is gone; nothing was acknowledged."""

    def __init__(self, detail: str, retry_after_s: int = 10) -> None:
        super().__init__("store_unavailable", detail, retry_after_s)


class StoreOutdated(StoreUnavailable):
    """An older SpanJudge wrote the store, and it was not to be brought up to this version."""


class Malformed(Exception):
    """The bytes are not OTLP; sending them again will not help."""


class TooLarge(Exception):
    """The request is over the size limit, before or after inflation; sending it again will not help."""


class Denied(Exception):
    """The sender is not known, or may not send this; `reason` labels a metric. Sending again will not help."""

    def __init__(self, reason: Denial, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason

    @property
    def known(self) -> bool:
        """Whether it is known who it is: then it is a matter of what they may do."""
        return self.reason in {"read_only", "tenant"}
