"""Everything a verdict can be traced by, added to it (pure): session, closing, sampling, and what was running."""

from __future__ import annotations

from extractors.trajectory import ROOT_AGENT, Trajectory
from judge.verdict import Judged, Place, SessionRef, Verdict, verdict_id


def version_of(trajectory: Trajectory) -> str | None:
    """The agent's version, or the service's where the agent has none; as `version` in suites."""
    return trajectory.versions.agent_version or trajectory.versions.service_version


def attribute(
    verdict: Verdict,
    trajectory: Trajectory,
    ref: SessionRef,
    *,
    close_reason: str,
    inclusion_probability: float,
    judged_ns: int,
    place: Place | None = None,
) -> Judged:
    versions = trajectory.versions
    subject = verdict.subject
    bodies = versions.skill_bodies or {}
    agents = {agent.id: agent for agent in trajectory.agents}
    agent = agents.get(subject.agent or ROOT_AGENT)
    return Judged(
        id=verdict_id(ref, verdict),
        session=ref,
        verdict=verdict,
        harness=trajectory.harness,
        close_reason=close_reason,
        inclusion_probability=inclusion_probability,
        judged_ns=judged_ns,
        service=versions.service,
        service_version=versions.service_version,
        agent=(agent.name if agent else None) or versions.agent,
        agent_version=(agent.version if agent else None) or versions.agent_version,
        models=versions.models_answered or versions.models_requested,
        system_prompt_hash=versions.system_prompt_hash,
        tool_definitions_hash=versions.tool_definitions_hash,
        skill_version=bodies.get(subject.name or "") if subject.kind == "skill" else None,
        harness_version=versions.harness_version,
        supersedes=ref.revision > 1,
        place=place,
    )
