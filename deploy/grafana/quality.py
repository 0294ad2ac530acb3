"""Are agents doing well, and is a new version worse?"""

from __future__ import annotations

from deploy.grafana.choices import (
    AGENT_VERSION,
    ALERT,
    EVALUATOR,
    INSTANCE,
    JOB,
    NEW_VERSION,
    OF_SESSION,
    OF_VERDICT,
    RELOAD,
    SERVICE,
)
from deploy.grafana.links import sessions, verdict_spans
from deploy.grafana.parts import Dashboard, Panel, Query, Row
from deploy.grafana.promql import ALL_SHOWN, WINDOW, events, largest, or_zero, ratio, series

_RATE_LABELS = ("service", "evaluator", "agent_version")
_VERDICTS = series("verdicts_total", *OF_VERDICT)
_SCORED = series("verdicts_total", *OF_VERDICT, 'label!~"not_judged|not_applicable"')
_NOT_JUDGED = series("verdicts_total", *OF_VERDICT, 'label="not_judged"')
_TO_BE_JUDGED = series("verdicts_total", *OF_VERDICT, 'label!="not_applicable"')
_VIOLATED = series("verdicts_total", *OF_SESSION, 'evaluator="forbidden_events",label="violated"')
_LEAKED = series("verdicts_total", *OF_SESSION, 'evaluator="sensitive_data",label="found"')


def _rate(name: str, *matchers: str) -> str:
    return largest(series(name, *(matchers or OF_VERDICT)), *_RATE_LABELS)


def _passing_sessions() -> str:
    composite = (*OF_SESSION, 'evaluator="composite"')
    rate, behind = _rate("pass_ratio", *composite), _rate("pass_ratio_verdicts", *composite)
    return ratio(f"sum ({rate} * {behind})", f"sum ({behind})")


_AT_A_GLANCE = Row(
    "At a glance",
    [
        Panel(
            "Scored verdicts",
            "Verdicts with a score in the time shown. None at all while agents work: see Pipeline, then whether the "
            "judge is ready.",
            [Query(or_zero(events(_SCORED, ALL_SHOWN)))],
            kind="stat",
            width=4,
            height=4,
            decimals=0,
        ),
        Panel(
            "Sessions that pass",
            "Share of sessions that pass as a whole (composite), as counted, over calibration.window_seconds, a week "
            "unless set. No data: no suite names what is expected. Low: see which evaluator and version below.",
            [Query(_passing_sessions())],
            unit="percentunit",
            kind="stat",
            width=4,
            height=4,
            thresholds=[(None, "red"), (0.8, "yellow"), (0.95, "green")],
            links=[sessions("stat", evaluator="composite", label="fail")],
        ),
        Panel(
            "Forbidden events",
            "Sessions in which something happened that a case forbids. One is too many: open the sessions, then stop "
            "the version or take the tool away.",
            [Query(or_zero(events(_VIOLATED, ALL_SHOWN)))],
            kind="stat",
            width=4,
            height=4,
            thresholds=[(None, "green"), (0.5, "red")],
            links=[
                sessions("stat", evaluator="forbidden_events", label="violated"),
                verdict_spans("stat", evaluator="forbidden_events", label="violated"),
            ],
            decimals=0,
        ),
        Panel(
            "Sensitive data",
            "Sessions with a secret or personal data in the answer or in arguments of tools. Open them; a secret is "
            "to be replaced.",
            [Query(or_zero(events(_LEAKED, ALL_SHOWN)))],
            kind="stat",
            width=4,
            height=4,
            thresholds=[(None, "green"), (0.5, "red")],
            links=[
                sessions("stat", evaluator="sensitive_data", label="found"),
                verdict_spans("stat", evaluator="sensitive_data", label="found"),
            ],
            decimals=0,
        ),
        Panel(
            "Not judged",
            "Share of verdicts that should have a score and have none. They are no failures of the agent, but the "
            "rates here are blind to them: see the reasons at the bottom.",
            [Query(ratio(events(_NOT_JUDGED, ALL_SHOWN), events(_TO_BE_JUDGED, ALL_SHOWN)))],
            unit="percentunit",
            kind="stat",
            width=4,
            height=4,
            thresholds=[(None, "green"), (0.05, "yellow"), (0.2, "red")],
            links=[sessions("stat", label="not_judged")],
        ),
        Panel(
            "Worst change against a baseline",
            "The largest fall of a pass rate against the service's current baseline. No data: no baseline was "
            "promoted. Below: of which version and evaluator, and on how many verdicts it rests.",
            [Query(f"min ({series('baseline_delta', *OF_VERDICT)})")],
            unit="percentunit",
            kind="stat",
            width=4,
            height=4,
            thresholds=[(None, "red"), (-0.1, "yellow"), (-0.02, "green")],
        ),
    ],
)

_PASS_RATIO = Row(
    "Pass ratio",
    [
        Panel(
            "Pass ratio as counted",
            "Share of scored verdicts that passed, over calibration.window_seconds. A step down with a new version is "
            "a regression until shown otherwise: click for its sessions.",
            [Query(_rate("pass_ratio"), "{{service}} {{agent_version}} {{evaluator}}")],
            unit="percentunit",
            width=12,
            most=1,
            links=[sessions("timeseries", *_RATE_LABELS)],
        ),
        Panel(
            "Pass ratio corrected, with its interval",
            "The share of all traffic that would pass if evaluators made no errors, and its 95 % interval (dashed). "
            "Judge by this where it exists. No data: too few labels (spanjudge label, spanjudge calibrate).",
            [
                Query(_rate("pass_ratio_corrected"), "{{service}} {{agent_version}} {{evaluator}}"),
                Query(
                    _rate("pass_ratio_corrected_low"), "{{service}} {{agent_version}} {{evaluator}} low", dashed=True
                ),
                Query(
                    _rate("pass_ratio_corrected_high"), "{{service}} {{agent_version}} {{evaluator}} high", dashed=True
                ),
            ],
            unit="percentunit",
            width=12,
            most=1,
        ),
        Panel(
            "Pass ratios now",
            "The last values, with what they rest on. Under about 20 verdicts a ratio says little.",
            [
                Query(_rate("pass_ratio"), name="as counted", unit="percentunit"),
                Query(_rate("pass_ratio_verdicts"), name="verdicts"),
                Query(_rate("pass_ratio_corrected"), name="corrected", unit="percentunit"),
                Query(_rate("pass_ratio_corrected_low"), name="low", unit="percentunit"),
                Query(_rate("pass_ratio_corrected_high"), name="high", unit="percentunit"),
                Query(_rate("pass_ratio_labels"), name="labels of people"),
            ],
            kind="table",
            width=24,
            links=[sessions("table", *_RATE_LABELS)],
        ),
    ],
)

_BASELINE = Row(
    "Against the baseline",
    [
        Panel(
            "Change of the pass rate",
            "Live pass rate over gates.live_hours, minus that of the service's current baseline. Below zero is worse. "
            "Look at the number of verdicts beside it, then at spanjudge diff.",
            [
                Query(
                    largest(series("baseline_delta", *OF_VERDICT), *_RATE_LABELS),
                    "{{service}} {{agent_version}} {{evaluator}}",
                )
            ],
            unit="percentunit",
            width=12,
            least=None,
            thresholds=[(None, "red"), (0, "text")],
            links=[sessions("timeseries", *_RATE_LABELS)],
        ),
        Panel(
            "Verdicts compared, and left out",
            "What the change rests on. Left out are verdicts that the baseline has none of the same evaluator version, "
            "prompt and model for: save and promote a new baseline after such a change.",
            [
                Query(
                    largest(series("baseline_live_verdicts", *OF_VERDICT), *_RATE_LABELS),
                    "{{service}} {{agent_version}} {{evaluator}}",
                ),
                Query(
                    largest(series("baseline_left_out_verdicts", *OF_VERDICT), *_RATE_LABELS),
                    "{{service}} {{agent_version}} {{evaluator}} left out",
                    dashed=True,
                ),
                Query(
                    largest(series("baseline_verdicts", *OF_VERDICT[:2]), "service", "evaluator"),
                    "{{service}} {{evaluator}} in the baseline",
                    dashed=True,
                ),
            ],
            width=12,
        ),
    ],
)

_LABELS = Row(
    "Verdicts",
    [
        Panel(
            "Mean score by evaluator",
            "Of the scores in each window. A fall without a fall of the pass ratio: the same sessions pass, but "
            "barely.",
            [
                Query(
                    ratio(
                        events(series("score_sum", *OF_VERDICT[:2]), WINDOW, "service", "evaluator"),
                        events(series("score_count", *OF_VERDICT[:2]), WINDOW, "service", "evaluator"),
                    ),
                    "{{service}} {{evaluator}}",
                )
            ],
            unit="percentunit",
            most=1,
            links=[sessions("timeseries", "service", "evaluator")],
        ),
        Panel(
            "Scores",
            "How many scores fell where. The dots are single verdicts: click one for its trace or its session.",
            [
                Query(
                    f"sum by (le) (increase({series('score_bucket', *OF_VERDICT[:2])}[$__rate_interval]))",
                    "{{le}}",
                    exemplars=True,
                )
            ],
            kind="heatmap",
        ),
        Panel(
            "Verdicts by label",
            "Verdicts in each window, by what they say. The dots are single verdicts: click one for its trace or "
            "session.",
            [Query(events(_SCORED, WINDOW, "evaluator", "label"), "{{evaluator}} {{label}}", exemplars=True)],
            links=[
                sessions("timeseries", "evaluator", "label"),
                verdict_spans("timeseries", "evaluator", "label"),
            ],
        ),
        Panel(
            "Labels in the time shown",
            "How many verdicts said what. Click a line for the sessions.",
            [
                Query(
                    events(_VERDICTS, ALL_SHOWN, "service", "agent_version", "evaluator", "label"),
                    name="verdicts",
                ),
                Query(
                    events(
                        series("verdicts_weighted_total", *OF_VERDICT),
                        ALL_SHOWN,
                        "service",
                        "agent_version",
                        "evaluator",
                        "label",
                    ),
                    name="estimate for all traffic",
                ),
            ],
            kind="table",
            width=24,
            links=[
                sessions("table", "service", "agent_version", "evaluator", "label"),
                verdict_spans("table", "evaluator", "label"),
            ],
            decimals=0,
        ),
    ],
)

_UNJUDGED = Row(
    "Not judged",
    [
        Panel(
            "Share not judged by evaluator",
            "Of the verdicts that should have a score. Above a few per cent, find the reason beside this.",
            [
                Query(
                    ratio(events(_NOT_JUDGED, WINDOW, "evaluator"), events(_TO_BE_JUDGED, WINDOW, "evaluator")),
                    "{{evaluator}}",
                )
            ],
            unit="percentunit",
            width=12,
            most=1,
            links=[sessions("timeseries", "evaluator", label="not_judged")],
        ),
        Panel(
            "Not judged, by reason",
            "content_not_recorded: switch content on at the agent (spanjudge inspect says how). budget_spent, "
            "judge_unavailable, judge_not_authorised: see the dashboard of the judge. Others: docs/evaluators.md.",
            [
                Query(
                    events(series("not_judged_total", 'evaluator=~"$evaluator"'), WINDOW, "evaluator", "reason"),
                    "{{evaluator}} {{reason}}",
                )
            ],
            width=12,
            links=[sessions("timeseries", "evaluator", label="not_judged")],
        ),
    ],
)

QUALITY = Dashboard(
    "spanjudge-quality",
    "SpanJudge: quality",
    "Pass rates of agents by service and version, against the baseline, and what was not judged.",
    [JOB, INSTANCE, SERVICE, EVALUATOR, AGENT_VERSION],
    [_AT_A_GLANCE, _PASS_RATIO, _BASELINE, _LABELS, _UNJUDGED],
    [NEW_VERSION, RELOAD, ALERT],
    since="now-24h",
)
