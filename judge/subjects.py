"""Calls and skill loads as subjects of verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from extractors.skills import SkillInvocation
from extractors.trajectory import ToolCall
from judge.verdict import Subject, SubjectKind


def subjects_of(items: Sequence[ToolCall] | Sequence[SkillInvocation]) -> list[Subject]:
    """One subject for each item, in order. Where one span or record holds several, `#0`, `#1`, ... tells them
    apart; the order of a trajectory is the same on every run."""
    shared = Counter(item.anchor for item in items)
    seen: Counter[object] = Counter()
    subjects = []
    for item in items:
        suffix = f"#{seen[item.anchor]}" if shared[item.anchor] > 1 else ""
        seen[item.anchor] += 1
        kind: SubjectKind = "tool_call" if isinstance(item, ToolCall) else "skill"
        subjects.append(Subject(kind, item.anchor.ref + suffix, item.anchor, item.name, item.agent))
    return subjects
