"""Skills that were asked for, as counted."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client import CollectorRegistry, Counter

from collector.metric_labels import OTHER
from collector.metrics import Metrics
from collector.skill_metrics import AskedFor, SkillMetrics, asked_for
from extractors.anchors import Anchor
from extractors.skills import LoadOutcome, SkillInvocation
from extractors.trajectory import ROOT_AGENT, Agent, Trajectory, Versions
from tests.judge.trajectories import trajectory

ANCHOR = Anchor("span", "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


def _session(*loads: SkillInvocation) -> Trajectory:
    versions = Versions(service="shop", agent_version="7")
    helper = Agent(id="helper", name="helper", version="3")
    return trajectory(skill_invocations=loads, versions=versions, agents=(helper,))


def _load(name: str | None, outcome: LoadOutcome, agent: str = ROOT_AGENT) -> SkillInvocation:
    return SkillInvocation(name, outcome, ANCHOR, agent)


def _value(metrics: Metrics, **labels: str) -> float | None:
    return metrics.registry.get_sample_value("spanjudge_skill_invocations_total", labels)


def test_each_attempt_is_counted_under_what_came_of_it() -> None:
    found = asked_for(_session(_load("refunds", LoadOutcome.REFUSED), _load("refunds", LoadOutcome.LOADED)))
    assert [one.outcome for one in found] == ["refused", "loaded"]
    assert found[0] == AskedFor("shop", "refunds", "refused", "7")


def test_a_sub_agents_attempt_is_under_its_own_version() -> None:
    (found,) = asked_for(_session(_load("refunds", LoadOutcome.LOADED, "helper")))
    assert found.agent_version == "3"


def test_a_name_that_was_not_recorded_is_an_empty_label() -> None:
    metrics = Metrics()
    metrics.skills.asked(asked_for(_session(_load(None, LoadOutcome.UNANSWERED)))[0], 2)
    assert _value(metrics, service="shop", skill="", outcome="unanswered", agent_version="7") == 2


def test_made_up_names_do_not_grow_the_series_without_end() -> None:
    metrics = Metrics()
    one = AskedFor("shop", "", "refused", "7")
    for number in range(1000):
        metrics.skills.asked(replace(one, skill=f"made-up-{number}"), 1)
    assert (_value(metrics, service="shop", skill=OTHER, outcome="refused", agent_version="7") or 0) > 700


def test_combinations_are_bounded_too() -> None:
    registry = CollectorRegistry()

    def counter(name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=registry)

    skills = SkillMetrics(counter, lambda _, value: value or "", lambda _: False)
    skills.asked(AskedFor("shop", "refunds", "loaded", "7"), 1)
    folded = {"service": OTHER, "skill": OTHER, "outcome": "loaded", "agent_version": OTHER}
    assert registry.get_sample_value("skill_invocations_total", folded) == 1
