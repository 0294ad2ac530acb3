"""What a router goes by, from the configuration."""

from __future__ import annotations

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


def _patience(config: Config, kafka: KafkaSettings) -> Patience:
    router, sessions = kafka.router, config.sessions
    unnamed_s = sessions.idle_seconds if router.unnamed_seconds is None else router.unnamed_seconds
    remember_s = router.remember_seconds
    if remember_s is None:
        remember_s = sessions.idle_seconds + sessions.late_window_seconds
    return Patience(
        name_ms=round(unnamed_s * 1000),
        root_ms=round(router.root_seconds * 1000),
        most_ms=round(sessions.max_age_seconds * 1000),
        remember_ms=round(remember_s * 1000),
        most_traces=router.max_traces,
    )
