"""Why a rule is not about a session, condition by condition."""

from __future__ import annotations

from extractors.trajectory import Trajectory
from judge.conditions import Condition
from judge.suites import Match, attribute_of, is_about

_NOT_RECORDED = "not recorded"


def mismatches(match: Match, trajectory: Trajectory) -> tuple[str, ...]:
    """The conditions that do not hold, each with what was found; empty when all hold."""
    failed = []
    for name in Match.model_fields:
        wanted = getattr(match, name)
        if name == "attributes":
            for key, value in wanted.items():
                if not is_about(Match(attributes={key: value}), trajectory):
                    wanted_text = str(value) if isinstance(value, Condition) else repr(value)
                    failed.append(f"attribute {key} is {_found(attribute_of(trajectory, key))}, not {wanted_text}")
        elif wanted and not is_about(Match.model_validate({name: wanted}), trajectory):
            failed.append(f"{name} wants {' or '.join(wanted)}; {_actual(name, trajectory)}")
    return tuple(failed)


def _actual(name: str, trajectory: Trajectory) -> str:
    versions = trajectory.versions
    found = {
        "service": versions.service,
        "agent": versions.agent,
        "version": versions.agent_version or versions.service_version,
        "harness": trajectory.harness,
    }
    if name in found:
        return f"it is {_found(found[name])}"
    return "the task was not recorded" if trajectory.task is None else "the task is another"


def _found(value: object) -> str:
    return _NOT_RECORDED if value is None else repr(value)
