"""One session as the page shows it: head, timeline with the verdicts beside what they judge, the rest (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from collector.explaining import Reason, explain_cases, explain_evaluators
from collector.page.addresses import session_url
from collector.page.links import trace_link
from collector.page.moments import duration
from collector.page.reading import Found
from collector.page.texts import Texts
from collector.page.timeline import MOST_ENTRIES, Entry, entries, happenings
from collector.page.verdict_view import Beside, VerdictView, severity, verdict_view
from collector.reading import Rules
from extractors.coverage import missing
from extractors.registry import UNRECOGNISED
from extractors.trajectory import Trajectory
from judge.passing import passed
from judge.verdict import Judged, NotApplicable, NotJudged, Score

MOST_VERDICTS = 200
"""On the session as a whole, and in the list of failures."""
_MOST_NAMES = 100
_SAID = 240


@dataclass(frozen=True, slots=True)
class Standing:
    """How many verdicts stand how."""

    passed: int
    failed: int
    without: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Revision:
    number: int
    url: str
    current: bool


def session_values(
    found: Found, verdicts: Sequence[Judged], beside: Beside, rules: Rules, texts: Texts, first: int
) -> dict[str, Any]:
    """For the template `session.html`; `first` is the number of the first entry of the timeline to show."""
    session, trajectory = found.session, found.session.trajectory
    happened = happenings(trajectory) if trajectory is not None else []
    first = first if first < len(happened) else 0
    on_page = happened[first : first + MOST_ENTRIES]
    by_subject: dict[tuple[str, str], list[Judged]] = {}
    places = {one.key for one in happened if one.key is not None}
    for judged in verdicts:
        key = (judged.verdict.subject.kind, judged.verdict.subject.ref)
        if key in places:
            by_subject.setdefault(key, []).append(judged)
    rest = sorted((one for one in verdicts if _key(one) not in places), key=severity)
    idle = [one for one in rest if isinstance(one.verdict.outcome, NotApplicable)]
    views = [verdict_view(one, texts, beside) for one in rest[: min(MOST_VERDICTS, len(rest) - len(idle))]]
    scored, unscored = _without_repeating(views)
    shown: list[Entry] = []
    if trajectory is not None:
        for one, entry in zip(on_page, entries(trajectory, on_page, texts, beside.trace_url), strict=True):
            own = sorted(by_subject.get(one.key, ()) if one.key else (), key=severity)
            shown.append(replace(entry, verdicts=tuple(verdict_view(judged, texts, beside) for judged in own)))
    newest = max(found.revisions)
    return {
        "id": texts.identifier(session.ref.session_id, 200),
        "tenant": texts.name(session.ref.tenant) if session.ref.tenant else "",
        "ref": session.ref,
        "task": texts.piece(None if trajectory is None else trajectory.task, "task", 400),
        "standing": _standing(verdicts),
        "session": session,
        "note": texts.name(session.note, 1_000) if session.note else "",
        "unreadable": trajectory is None,
        "unrecognised": trajectory is not None and trajectory.harness == UNRECOGNISED,
        "versions": _versions(trajectory, texts) if trajectory else [],
        "ran": _ran(trajectory, texts) if trajectory else [],
        "remarks": [texts.name(one, 300) for one in (trajectory.notes if trajectory else ())][:_MOST_NAMES],
        "offered": _offered(trajectory, texts),
        "lacking": missing(trajectory) if trajectory and trajectory.harness != UNRECOGNISED else (),
        "took": duration(trajectory.ended_ns - trajectory.started_ns) if trajectory and trajectory.started_ns else None,
        "root_trace": trace_link(beside.trace_url, trajectory.root_anchor if trajectory else None),
        "newest": newest,
        "revisions": [
            Revision(one, session_url(session.ref, one), one == session.ref.revision) for one in found.revisions
        ],
        "entries": shown,
        "first": first,
        "count": len(happened),
        "pages": _pages(len(happened), first),
        "whole": scored,
        "unscored": unscored,
        "whole_left_out": max(0, len(rest) - len(idle) - MOST_VERDICTS) + max(0, len(idle) - MOST_VERDICTS),
        "idle": [verdict_view(one, texts, beside) for one in idle[:MOST_VERDICTS]],
        "failures": _jumps(verdicts, happened, first, texts),
        "reasons": _reasons(found, verdicts, beside, rules, texts),
    }


def _key(judged: Judged) -> tuple[str, str]:
    return judged.verdict.subject.kind, judged.verdict.subject.ref


def _standing(verdicts: Sequence[Judged]) -> Standing:
    scores = [good for judged in verdicts if (good := passed(judged.verdict)) is not None]
    without = [judged.verdict.outcome.reason for judged in verdicts if isinstance(judged.verdict.outcome, NotJudged)]
    waiting = without.count("pending")
    return Standing(scores.count(True), scores.count(False), len(without) - waiting, waiting)


@dataclass(frozen=True, slots=True)
class Unscored:
    """Verdicts that lack a score for the same reason, about which the same can be done."""

    why: str
    to_do: str
    high_risk: bool
    verdicts: tuple[VerdictView, ...]


def _without_repeating(views: Sequence[VerdictView]) -> tuple[list[VerdictView], list[Unscored]]:
    """Those to be shown one by one, and those of which the same would be said again and again."""
    alike: dict[tuple[str, str], list[VerdictView]] = {}
    for one in views:
        if one.tone == "odd":
            alike.setdefault((one.why, one.to_do), []).append(one)
    groups = {key: found for key, found in alike.items() if len(found) > 1}
    alone = [one for one in views if one.tone != "odd" or (one.why, one.to_do) not in groups]
    return alone, [Unscored(*key, any(one.high_risk for one in found), tuple(found)) for key, found in groups.items()]


def _ran(trajectory: Trajectory, texts: Texts) -> list[tuple[str, str]]:
    """What went wrong or right, in a line: names and values of what was recorded."""
    known = trajectory.versions
    found = (
        ("service", (known.service, known.service_version)),
        ("agent", (known.agent, known.agent_version)),
        ("harness", (trajectory.harness, known.harness_version)),
        ("model", (", ".join(known.models_answered or known.models_requested),)),
    )
    return [(name, texts.name(words, 100)) for name, parts in found if (words := " ".join(filter(None, parts)))]


def _versions(trajectory: Trajectory, texts: Texts) -> list[tuple[str, str | None]]:
    """Names and values; None: not recorded."""
    known = trajectory.versions
    facts: list[tuple[str, str | None]] = [
        ("service", known.service),
        ("service version", known.service_version),
        ("agent", known.agent),
        ("agent version", known.agent_version),
        ("harness", trajectory.harness),
        ("harness version", known.harness_version),
        ("models requested", ", ".join(known.models_requested) or None),
        ("models answered", ", ".join(known.models_answered) or None),
        ("system prompt hash", known.system_prompt_hash),
        ("tool definitions hash", known.tool_definitions_hash),
    ]
    bodies: list[tuple[str, str | None]] = [
        (f"body hash of skill {name}", body) for name, body in (known.skill_bodies or {}).items()
    ]
    bodies = bodies[:_MOST_NAMES] or [("skill body hashes", None)]
    return [(texts.name(name), value and texts.name(value, 300)) for name, value in (*facts, *bodies)]


def _offered(trajectory: Trajectory | None, texts: Texts) -> list[tuple[str, str | None]] | None:
    """Names and descriptions; None: not recorded."""
    if trajectory is None or trajectory.offered_skills is None:
        return None
    return [
        (texts.name(skill.name), None if skill.description is None else texts.name(skill.description, 300))
        for skill in trajectory.offered_skills[:_MOST_NAMES]
    ]


def _pages(count: int, first: int) -> list[tuple[str, int, bool]]:
    """Words, first entry and whether it is this one, of each part of a long timeline; none for a short one."""
    if count <= MOST_ENTRIES:
        return []
    starts = range(0, count, MOST_ENTRIES)
    return [(f"{at + 1} to {min(count, at + MOST_ENTRIES)}", at, at == first) for at in starts]


@dataclass(frozen=True, slots=True)
class Jump:
    """A verdict that failed, and where it stands; `first` is the part of the timeline where that is another one."""

    evaluator: str
    label: str
    about: str
    high_risk: bool
    said: str
    verdict: str
    first: int | None


def _jumps(verdicts: Sequence[Judged], happened: Sequence[Any], first: int, texts: Texts) -> list[Jump]:
    places = {one.key: at for at, one in enumerate(happened) if one.key is not None}
    found = [one for one in sorted(verdicts, key=severity) if passed(one.verdict) is False]
    jumps = []
    for judged in found[:MOST_VERDICTS]:
        place = places.get(_key(judged))
        part = None if place is None else place - place % MOST_ENTRIES
        view = verdict_view(judged, texts, Beside({}, {}, {}))
        elsewhere = None if part == first else part
        jumps.append(
            Jump(view.evaluator, view.label, view.about, view.high_risk, _said(judged, texts), view.id, elsewhere)
        )
    return jumps


def _said(judged: Judged, texts: Texts) -> str:
    outcome = judged.verdict.outcome
    return texts.name(outcome.explanation, _SAID) if isinstance(outcome, Score) and outcome.explanation else ""


def _reasons(
    found: Found, verdicts: Sequence[Judged], beside: Beside, rules: Rules, texts: Texts
) -> Mapping[str, list[tuple[list[str], str]]]:
    """Of evaluators and cases without a verdict, why: (names, reason) under what kind of reason it is."""
    cases = [case for suite in rules.suites for case in suite.cases]
    told: list[Reason] = [
        *explain_evaluators(found.session, verdicts, rules, beside.waiting),
        *explain_cases(found.session, verdicts, cases, beside.waiting),
    ]
    kinds: dict[str, dict[str, list[str]]] = {}
    for reason in told:
        if reason.judged is None:
            alike = kinds.setdefault(reason.standing, {}).setdefault(texts.name(reason.why, 400), [])
            alike.append(texts.name(reason.of))
    return {
        kind: [(names[:_MOST_NAMES], why) for why, names in list(kinds[kind].items())[:_MOST_NAMES]]
        for kind in ("no_verdict", "disabled", "does_not_match")
        if kind in kinds
    }
