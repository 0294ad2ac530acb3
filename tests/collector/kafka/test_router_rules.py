"""Times that are not given follow from those of sessions."""

from __future__ import annotations

from typing import Any

import pytest

from collector.building import marks_of
from collector.config import Config
from collector.kafka.lane_work import RoutingRules
from collector.kafka.router_rules import fingerprint, routing_rules


def _config(kafka: dict[str, Any], **sections: Any) -> Config:
    return Config.model_validate({"kafka": {"bootstrap_servers": "127.0.0.1:9092", **kafka}, **sections})


def _rules(router: dict[str, Any], **sections: Any) -> RoutingRules:
    config = _config({"router": router}, **sections)
    assert config.kafka is not None
    return routing_rules(config, config.kafka, marks_of(config))


def _fingerprint(config: Config) -> bytes:
    assert config.kafka is not None
    return fingerprint(routing_rules(config, config.kafka, marks_of(config)), config.kafka)


def test_times_of_sessions_hold_where_none_are_given() -> None:
    sessions = {"idle_seconds": 60, "late_window_seconds": 120, "max_age_seconds": 600}
    patience = _rules({}, sessions=sessions).patience
    assert (patience.name_ms, patience.remember_ms, patience.most_ms) == (60_000, 180_000, 600_000)


def test_the_longest_times_of_any_rule_hold_for_all_traces() -> None:
    rules = [
        {"service": "slow-*", "idle_seconds": 900, "max_age_seconds": 7200},
        {"service": "quick-*", "idle_seconds": 5},
        {"service": "long-*", "max_age_seconds": 3600},
    ]
    sessions = {"idle_seconds": 60, "late_window_seconds": 120, "max_age_seconds": 600, "rules": rules}
    patience = _rules({}, sessions=sessions).patience
    assert (patience.name_ms, patience.remember_ms, patience.most_ms) == (900_000, 1_020_000, 7_200_000)


def test_times_that_are_given_hold() -> None:
    router = {"unnamed_seconds": 1, "root_seconds": 2, "remember_seconds": 3, "max_traces": 4}
    patience = _rules(router).patience
    assert (patience.name_ms, patience.root_ms, patience.remember_ms, patience.most_traces) == (1000, 2000, 3000, 4)


def test_sampling_and_unnamed_traces_are_as_for_one_process() -> None:
    rules = _rules({}, sampling={"rate": 0.25}, sessions={"without_id": "drop"})
    assert (rules.rate, rules.trace_is_session) == (0.25, False)
    assert _rules({}).trace_is_session


@pytest.mark.parametrize(
    "other",
    [
        {"sampling": {"rate": 0.5}},
        {"sessions": {"idle_seconds": 60}},
        {"sessions": {"aliases": ["some.id"]}},
        {"receivers": {"tenant_attribute": "tenant.id"}},
        {"kafka": {"router": {"root_seconds": 1}}},
        {"kafka": {"topics": {"sessions": "elsewhere"}}},
        {"kafka": {"transactional_id": "another"}},
    ],
    ids=str,
)
def test_what_routers_must_agree_on_tells_them_apart(other: dict[str, Any]) -> None:
    changed = _config(**{"kafka": {}, **other})
    assert _fingerprint(changed) != _fingerprint(_config({}))


def test_what_each_may_have_as_it_likes_does_not() -> None:
    own = {"instance_id": "router-0", "client_id": "here", "router": {"parked_bytes": 0, "transaction_bytes": 65_536}}
    assert _fingerprint(_config(own, data_dir="elsewhere")) == _fingerprint(_config({}))
