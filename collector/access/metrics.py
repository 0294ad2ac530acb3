"""Who was let in, and who was not. A part of `collector.metrics.Metrics`, which declares and documents."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from collector.judge_metrics import Declare

Refusal: TypeAlias = Literal[
    "wrong_token", "too_many_failures", "no_credentials", "other_site", "csrf", "read_only", "not_configured"
]
Outcome: TypeAlias = Literal["success", "failure"]


class AccessMetrics:
    def __init__(self, counter: Declare) -> None:
        self._refused = counter(
            "access_refused_total",
            "Requests to page and API not served: wrong_token (also at sign-in), too_many_failures (of that address), "
            "no_credentials, other_site (sent by a page of another site), csrf (a form without its secret), read_only, "
            "not_configured (nobody can sign in)",
            "reason",
        )
        self._sign_ins = counter("sign_ins_total", "Browsers that signed in: success, failure", "outcome")
        self._token_reads = counter(
            "access_tokens_reloads_total", "Times a changed file of tokens was read: success, failure", "outcome"
        )
        for reason in get_args(Refusal):
            self._refused.labels(reason)
        for outcome in get_args(Outcome):
            self._sign_ins.labels(outcome)
            self._token_reads.labels(outcome)

    def refused(self, reason: Refusal) -> None:
        self._refused.labels(reason).inc()

    def signed_in(self, good: bool) -> None:
        self._sign_ins.labels("success" if good else "failure").inc()

    def tokens_read(self, good: bool) -> None:
        self._token_reads.labels("success" if good else "failure").inc()
