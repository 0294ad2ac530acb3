"""What a router goes by, from the configuration."""

from __future__ import annotations

import hashlib

from collector.building import policy_of
from collector.config import Config
from collector.kafka.lane_work import RoutingRules
from collector.kafka.settings import KafkaSettings
from collector.kafka.traces import Patience
from collector.sessions.surroundings import Marks


def routing_rules(config: Config, kafka: KafkaSettings, marks: Marks) -> RoutingRules:
    """`marks` is `building.marks_of(config)`."""
    policy = policy_of(config)
    return RoutingRules(marks, _patience(config, kafka), policy.rate, policy.trace_is_session)


def fingerprint(rules: RoutingRules, kafka: KafkaSettings) -> bytes:
    """Of all that routers of one group must agree on; of another version of us it may be another."""
    return hashlib.sha256(repr((rules, kafka.topics, kafka.transactional_id)).encode()).digest()[:8]


def _patience(config: Config, kafka: KafkaSettings) -> Patience:
    router, sessions = kafka.router, config.sessions
    # Of all rules the longest: a trace does not tell whose it is before its resource is read, and one that is given out
    # too early would be judged alone. One that waits longer than its own rule says is only judged later.
    idle_s = max([sessions.idle_seconds, *(rule.idle_seconds or 0 for rule in sessions.rules)])
    max_age_s = max([sessions.max_age_seconds, *(rule.max_age_seconds or 0 for rule in sessions.rules)])
    unnamed_s = idle_s if router.unnamed_seconds is None else router.unnamed_seconds
    remember_s = router.remember_seconds
    if remember_s is None:
        remember_s = idle_s + sessions.late_window_seconds
    return Patience(
        name_ms=round(unnamed_s * 1000),
        root_ms=round(router.root_seconds * 1000),
        most_ms=round(max_age_s * 1000),
        remember_ms=round(remember_s * 1000),
        most_traces=router.max_traces,
    )
