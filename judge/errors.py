"""Why a judge did not answer. Every one of these ends as `NotJudged`, never as a label."""

from __future__ import annotations

from typing import Literal, TypeAlias

Concern: TypeAlias = Literal["request", "model", "account"]


class JudgeError(Exception):
    """`reason` is the `NotJudged.reason` this becomes when nothing more can be done."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class JudgeUnavailable(JudgeError):
    """Overloaded, slow, unreachable: ask again, not before `retry_after_s` seconds.

    `perhaps_billed`: we gave up waiting, and the service may have done the work all the same.
    """

    def __init__(
        self, reason: str, detail: str, retry_after_s: float | None = None, *, perhaps_billed: bool = False
    ) -> None:
        super().__init__(reason, detail)
        self.retry_after_s = retry_after_s
        self.perhaps_billed = perhaps_billed


class JudgeDeclined(JudgeError):
    """The judge refused, was cut off, or answered out of form; the same question will fare no better.

    What it used is paid for all the same: `input_tokens` (cached tokens included) and `output_tokens`.
    """

    def __init__(self, reason: str, detail: str, input_tokens: int = 0, output_tokens: int = 0) -> None:
        super().__init__(reason, detail)
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens


class JudgeMisconfigured(JudgeError):
    """A person must act. `concerns` says how far it reaches: this request alone (400, 413), every question put to its
    model (403, 404), or every question there is, the key or the account being refused (401, 402)."""

    def __init__(self, reason: str, detail: str, concerns: Concern = "request") -> None:
        super().__init__(reason, detail)
        self.concerns = concerns


def refuses_model(error: JudgeError) -> bool:
    """Would every question put to the same model fare the same?"""
    return isinstance(error, JudgeMisconfigured) and error.concerns == "model"
