"""What values each label of each metric may have, as docs/metrics.md says it; a test holds all metrics against it."""

from __future__ import annotations

from dataclasses import dataclass

from collector.kafka.outcomes import READ, UNPARKED
from collector.metric_labels import MAX_VALUES


@dataclass(frozen=True, slots=True)
class Values:
    """`known` are all there are, where we choose them; else `what` says where they come from, and at most `most` of
    them are kept apart (None: as many as are configured)."""

    what: str
    known: tuple[str, ...] = ()
    most: int | None = None

    def __str__(self) -> str:
        if self.known:
            return ", ".join(f"`{value}`" if value else "none" for value in self.known)
        return self.what if self.most is None else f"{self.what}; the first {self.most}"


def _known(*values: str) -> Values:
    return Values("", values)


def _first(what: str) -> Values:
    return Values(what, most=MAX_VALUES)


def _configured(what: str) -> Values:
    return Values(what)


_SUCCESS = _known("success", "failure")
_SIGNALS = _known("traces", "logs")

LABELS: dict[str, Values] = {
    "agent_version": _first("from telemetry"),
    "case": _first("names of cases in suites"),
    "cause": _known("undecodable", "malformed", "oversized", "unknown_version"),
    "evaluator": _first("ids of evaluators and rubrics"),
    "exporter": _known("otlp"),
    "fate": _known("kept", "sampled_out", "session_full"),
    "gate": _known("forbidden_events", "high_risk"),
    "how": _known("rebuilt", "resumed"),
    "key": _configured("keys of the configuration that name certificates or tokens"),
    "kind": _known("input", "output", "cache_read", "cache_write"),
    "label": _first("labels of scores"),
    "listener": _known("grpc", "http", "admin"),
    "model": _first("names of models, as the judge's service answers"),
    "record": _known("verdict", "session"),
    "scope": _first("from telemetry"),
    "service": _first("from telemetry"),
    "signal": _SIGNALS,
    "skill": _first("from telemetry"),
    "state": _known("held", "beginning", "paused"),
    "topic": _configured("topics of the configuration"),
    "transport": _known("grpc", "http"),
    "unit": _known("tokens", "dollars"),
    "version": _configured("the one that runs"),
    "window": _known("hour", "day"),
}
"""Wherever the label occurs and nothing else is said below."""

OF_METRICS: dict[tuple[str, str], Values] = {
    ("label_overflow_total", "label"): _first("names of labels, and `series`"),
    ("judge_budget_remaining_ratio", "evaluator"): _configured("evaluators with a budget of their own, and none"),
    ("dropped_total", "reason"): _known(
        "sampled_out", "refused", "malformed", "own", "no_session", "session_full", "oversized"
    ),
    ("sessions_closed_total", "reason"): _known(
        "end_marker", "roots_ended", "idle", "max_age", "max_size", "unreadable", "late"
    ),
    ("sessions_discarded_total", "reason"): _known(
        "sampled_out", "no_session", "revisions", "empty", "nothing_happened", "moved"
    ),
    ("evaluation_restarts_total", "reason"): _known("died", "timeout", "not_started"),
    ("sessions_removed_total", "reason"): _known("age", "size"),
    ("access_refused_total", "reason"): _known(
        "wrong_token", "too_many_failures", "no_credentials", "other_site", "csrf", "read_only", "not_configured"
    ),
    ("requests_denied_total", "reason"): _known("missing", "malformed", "unknown", "read_only", "tenant"),
    ("not_judged_total", "reason"): _first("reasons of `NotJudged`"),
    ("high_risk_undecided_total", "reason"): _first("reasons of `NotJudged`"),
    ("judge_circuit_opened_total", "reason"): _first("reasons of the judge's errors"),
    ("questions_expired_total", "reason"): _first("reasons of `NotJudged`"),
    ("export_failed_total", "reason"): _first("answers of the receiver"),
    ("export_retries_total", "reason"): _first("answers of the receiver"),
    ("kafka_send_failures_total", "reason"): _first("errors of Kafka"),
    ("request_duration_seconds", "outcome"): _known(
        "ok", "partial", "refused", "malformed", "too_large", "denied", "abandoned", "error"
    ),
    ("judge_requests_total", "outcome"): _first("`answered`, and reasons of the judge's errors"),
    ("kafka_router_items_total", "outcome"): _known(*READ),
    ("kafka_router_unparked_total", "outcome"): _known(*UNPARKED),
    ("skill_invocations_total", "outcome"): _known("loaded", "refused", "unanswered"),
    ("config_reloads_total", "outcome"): _SUCCESS,
    ("sign_ins_total", "outcome"): _SUCCESS,
    ("access_tokens_reloads_total", "outcome"): _SUCCESS,
}
"""Metric without prefix, and label."""


def values_of(metric: str, label: str) -> Values:
    """`metric` with or without prefix. Raises KeyError for what nobody has said anything of."""
    own = OF_METRICS.get((metric.removeprefix("spanjudge_"), label))
    return own or LABELS[label]
