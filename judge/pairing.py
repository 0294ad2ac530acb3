"""Which session of one set belongs beside which of another: those of the same cases, else of the same task (pure)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from judge.case_results import JudgedSession, cases_of


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a baseline's sessions and others, and on each side those that are left over. `name` says for people
    what the two of a pair have in common."""

    pairs: tuple[tuple[str, JudgedSession, JudgedSession], ...]
    only_before: tuple[JudgedSession, ...]
    only_after: tuple[JudgedSession, ...]


def pair(before: Sequence[JudgedSession], after: Sequence[JudgedSession]) -> Pairs:
    """Sessions that fall under the same cases and have the same task come together in order; then those of the same
    cases, whose tasks are worded differently; then those of the same task. Each is used once."""
    pairs: list[tuple[str, JudgedSession, JudgedSession]] = []
    left, right = list(before), list(after)
    for key in (_case_and_task, _case, _task):
        waiting: dict[Hashable, list[JudgedSession]] = {}
        for one in right:
            if (found := key(one)) is not None:
                waiting.setdefault(found, []).append(one)
        rest = []
        for one in left:
            others = waiting.get(key(one))
            if others:
                other = others.pop(0)
                pairs.append((_name(one), one, other))
                right.remove(other)
            else:
                rest.append(one)
        left = rest
    return Pairs(tuple(pairs), tuple(left), tuple(right))


def _case_and_task(session: JudgedSession) -> Hashable:
    cases, task = _case(session), _task(session)
    return None if cases is None or task is None else (cases, task)


def _case(session: JudgedSession) -> Hashable:
    return tuple(sorted(cases_of(session.verdicts, session))) or None


def _task(session: JudgedSession) -> str | None:
    """White space does not tell tasks apart."""
    task = session.trajectory.task if session.trajectory else None
    return None if task is None else " ".join(task.split())


def _name(session: JudgedSession) -> str:
    cases = cases_of(session.verdicts, session)
    return ", ".join(cases) if cases else _task(session) or session.ref.session_id
