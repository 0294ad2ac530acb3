"""Skills that were asked for, and what came of it. A part of `collector.metrics.Metrics`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from collector.judge_metrics import Declare
from collector.metric_labels import OTHER
from extractors.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class AskedFor:
    """One attempt to load a skill, under the labels that verdicts about it have."""

    service: str | None
    skill: str | None
    outcome: str
    agent_version: str | None


def asked_for(trajectory: Trajectory) -> tuple[AskedFor, ...]:
    """In time order."""
    versions = trajectory.versions
    of_agents = {agent.id: agent.version for agent in trajectory.agents}
    return tuple(
        AskedFor(versions.service, load.name, str(load.outcome), of_agents.get(load.agent) or versions.agent_version)
        for load in trajectory.skill_invocations
    )


class SkillMetrics:
    """`bound` keeps the values of a label (its name, the value) from growing without end, `fits` their combinations."""

    def __init__(
        self, counter: Declare, bound: Callable[[str, str | None], str], fits: Callable[[tuple[str, ...]], bool]
    ) -> None:
        self._bound = bound
        self._fits = fits
        self._invocations = counter(
            "skill_invocations_total",
            "Attempts to load a skill, by agents and by people, in closed sessions: loaded, refused, unanswered "
            "(nothing shows what came of it)",
            "service",
            "skill",
            "outcome",
            "agent_version",
        )

    def asked(self, one: AskedFor, count: int) -> None:
        bound = self._bound
        labels = (
            bound("service", one.service),
            bound("skill", one.skill),
            one.outcome,
            bound("agent_version", one.agent_version),
        )
        labels = labels if self._fits(labels) else (OTHER, OTHER, one.outcome, OTHER)
        self._invocations.labels(*labels).inc(count)
