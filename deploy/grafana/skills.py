"""Do agents choose the right skills, and do what the skills say?"""

from __future__ import annotations

from deploy.grafana.choices import (
    AGENT_VERSION,
    ALERT,
    INSTANCE,
    JOB,
    NEW_VERSION,
    OF_SESSION,
    OF_SKILL,
    RELOAD,
    SERVICE,
    SKILL,
)
from deploy.grafana.links import sessions, verdict_spans
from deploy.grafana.parts import Dashboard, Panel, Query, Row, Thresholds, stat
from deploy.grafana.promql import ALL_SHOWN, WINDOW, events, or_zero, ratio, series

_GOOD: Thresholds = [(None, "red"), (0.8, "yellow"), (0.95, "green")]
_FOLLOWED = "followed|mostly|partly"


def _verdicts(evaluator: str, labels: str) -> str:
    """About skills; labels as a pattern."""
    return series("verdicts_total", *OF_SKILL, f'skill!="",evaluator="{evaluator}",label=~"{labels}"')


def _of_sessions(evaluator: str, matcher: str) -> str:
    return series("verdicts_total", *OF_SESSION, f'evaluator="{evaluator}",{matcher}')


def _share_of_sessions(evaluator: str, label: str) -> str:
    wanted = events(_of_sessions(evaluator, f'label="{label}"'), ALL_SHOWN)
    return ratio(wanted, events(_of_sessions(evaluator, _SCORED), ALL_SHOWN))


def _accuracy(over: str, *by: str) -> str:
    right, all_judged = _verdicts("skill_selection", "Yes"), _verdicts("skill_selection", "Yes|No")
    return ratio(events(right, over, *by), events(all_judged, over, *by))


def _following(over: str, *by: str) -> str:
    """Mean share of the steps followed; from scores, which have no agent version."""
    about = (*OF_SKILL[:2], 'skill!="",evaluator="skill_instruction_following"')
    return ratio(events(series("score_sum", *about), over, *by), events(series("score_count", *about), over, *by))


def _followed(over: str, *by: str) -> str:
    evaluator = "skill_instruction_following"
    followed, all_judged = _verdicts(evaluator, _FOLLOWED), _verdicts(evaluator, f"{_FOLLOWED}|not_followed")
    return ratio(events(followed, over, *by), events(all_judged, over, *by))


_ASKED = series("skill_invocations_total", *OF_SKILL)
_REFUSED = series("skill_invocations_total", *OF_SKILL, 'outcome="refused"')
_SCORED = 'label!~"not_judged|not_applicable"'


_AT_A_GLANCE = Row(
    "At a glance",
    [
        stat(
            "Selection accuracy",
            "Share of judged choices of a skill that were sensible, in the time shown. Low: find the skill in the "
            "table, read the reasons, mend its description or the catalog.",
            _accuracy(ALL_SHOWN),
            unit="percentunit",
            width=4,
            thresholds=_GOOD,
            links=[sessions("stat", evaluator="skill_selection", label="No")],
        ),
        stat(
            "Instructions followed",
            "Mean share of the steps of loaded skills that were followed, in order. Low: the skill's text is unclear, "
            "too long, or asks for what the agent cannot do.",
            _following(ALL_SHOWN),
            unit="percentunit",
            width=4,
            thresholds=_GOOD,
            links=[sessions("stat", evaluator="skill_instruction_following", label="not_followed")],
        ),
        stat(
            "Skills asked for",
            "Attempts to load a skill, by agents and by people. None while agents work: they are offered no skills, or "
            "the telemetry does not show it (spanjudge inspect).",
            or_zero(events(_ASKED, ALL_SHOWN)),
            width=4,
            decimals=0,
        ),
        stat(
            "Refused",
            "Share of attempts that the harness refused: names that do not exist, or skills that are not allowed. The "
            "table has the names that were asked for.",
            ratio(events(_REFUSED, ALL_SHOWN), events(_ASKED, ALL_SHOWN)),
            unit="percentunit",
            width=4,
            thresholds=[(None, "green"), (0.05, "yellow"), (0.2, "red")],
        ),
        stat(
            "Rightly without a skill",
            "Of sessions that were offered skills and asked for none: share in which that was right. Low: agents "
            "overlook skills.",
            _share_of_sessions("skill_abstention", "Yes"),
            unit="percentunit",
            width=4,
            thresholds=_GOOD,
            links=[sessions("stat", evaluator="skill_abstention", label="No")],
        ),
        stat(
            "Expected skill loaded",
            "Of sessions that a case of a suite is about: share in which the expected skill was loaded. Decided by "
            "code.",
            _share_of_sessions("skill_expected", "as_expected"),
            unit="percentunit",
            width=4,
            thresholds=_GOOD,
        ),
    ],
)

_BY_SKILL = Row(
    "By skill",
    [
        Panel(
            "Skills in the time shown",
            "One line a skill. A name that is only ever refused was made up by the agent, or is not installed. Click "
            "a line for its sessions.",
            [
                Query(events(_ASKED, ALL_SHOWN, "service", "skill"), name="asked for"),
                Query(
                    events(
                        series("skill_invocations_total", *OF_SKILL, 'outcome="loaded"'), ALL_SHOWN, "service", "skill"
                    ),
                    name="loaded",
                ),
                Query(events(_REFUSED, ALL_SHOWN, "service", "skill"), name="refused"),
                Query(_accuracy(ALL_SHOWN, "service", "skill"), name="selection accuracy", unit="percentunit"),
                Query(_following(ALL_SHOWN, "service", "skill"), name="instructions followed", unit="percentunit"),
                Query(
                    events(_verdicts("skill_selection", "not_judged"), ALL_SHOWN, "service", "skill"), name="not judged"
                ),
            ],
            kind="table",
            width=24,
            links=[sessions("table", "service", "skill")],
            decimals=0,
        ),
        Panel(
            "Selection accuracy by skill",
            "Over the window. Lines of few choices jump: widen the window before you act.",
            [Query(_accuracy(WINDOW, "skill"), "{{skill}}", exemplars=True)],
            unit="percentunit",
            width=12,
            most=1,
            links=[
                sessions("timeseries", "skill", evaluator="skill_selection", label="No"),
                verdict_spans("timeseries", evaluator="skill_selection", label="No"),
            ],
        ),
        Panel(
            "Instructions followed by skill",
            "Mean share of steps followed, over the window. A fall at a change of the skill's text: compare body "
            "hashes on the page.",
            [Query(_following(WINDOW, "skill"), "{{skill}}")],
            unit="percentunit",
            width=12,
            most=1,
            links=[sessions("timeseries", "skill", evaluator="skill_instruction_following")],
        ),
        Panel(
            "Asked for, by what came of it",
            "Attempts in each window. unanswered: nothing shows that it was loaded, perhaps since results are not "
            "recorded.",
            [Query(events(_ASKED, WINDOW, "skill", "outcome"), "{{skill}} {{outcome}}")],
            width=12,
            links=[sessions("timeseries", "skill")],
        ),
        Panel(
            "What was found where a case expects a skill",
            "Sessions in each window by label: not_loaded, other_skill, refused and unexpected_skill are failures.",
            [
                Query(
                    events(_of_sessions("skill_expected", _SCORED), WINDOW, "service", "label"), "{{service}} {{label}}"
                )
            ],
            width=12,
            links=[sessions("timeseries", "service", "label", evaluator="skill_expected")],
        ),
    ],
)

_BY_VERSION = Row(
    "By agent version",
    [
        Panel(
            "Selection accuracy by agent version",
            "Over the window. A lower line of the newer version is a regression if it rests on enough choices.",
            [Query(_accuracy(WINDOW, "service", "agent_version"), "{{service}} {{agent_version}}", exemplars=True)],
            unit="percentunit",
            width=12,
            most=1,
            links=[sessions("timeseries", "service", "agent_version", evaluator="skill_selection", label="No")],
        ),
        Panel(
            "Instructions at least partly followed, by agent version",
            "Share of loaded skills with half of their steps or more followed, over the window.",
            [Query(_followed(WINDOW, "service", "agent_version"), "{{service}} {{agent_version}}")],
            unit="percentunit",
            width=12,
            most=1,
            links=[
                sessions(
                    "timeseries",
                    "service",
                    "agent_version",
                    evaluator="skill_instruction_following",
                    label="not_followed",
                )
            ],
        ),
        Panel(
            "Skills by agent version, in the time shown",
            "The same skill under two versions, side by side.",
            [
                Query(events(_ASKED, ALL_SHOWN, "service", "agent_version", "skill"), name="asked for"),
                Query(events(_REFUSED, ALL_SHOWN, "service", "agent_version", "skill"), name="refused"),
                Query(
                    _accuracy(ALL_SHOWN, "service", "agent_version", "skill"),
                    name="selection accuracy",
                    unit="percentunit",
                ),
                Query(
                    _followed(ALL_SHOWN, "service", "agent_version", "skill"),
                    name="at least partly followed",
                    unit="percentunit",
                ),
            ],
            kind="table",
            width=24,
            links=[sessions("table", "service", "agent_version", "skill")],
            decimals=0,
        ),
    ],
)

SKILLS = Dashboard(
    "spanjudge-skills",
    "SpanJudge: skills",
    "Which skills agents ask for, whether the choice was right, and whether they do what the skill says.",
    [JOB, INSTANCE, SERVICE, SKILL, AGENT_VERSION],
    [_AT_A_GLANCE, _BY_SKILL, _BY_VERSION],
    [NEW_VERSION, RELOAD, ALERT],
    since="now-24h",
)
