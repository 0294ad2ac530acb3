"""Are agents doing well, and is a new version worse?"""

from __future__ import annotations

from deploy.grafana.choices import (
    AGENT_VERSION,
    ALERT,
    EVALUATOR,
    INSTANCE,
    JOB,
    NEW_VERSION,
    NOT_JUDGED,
    OF_VERDICT,
    RELOAD,
    SCORED,
    SERVICE,
    TO_BE_JUDGED,
)
from deploy.grafana.glance import AT_A_GLANCE
from deploy.grafana.links import sessions, verdict_spans
from deploy.grafana.parts import Dashboard, Panel, Query, Row
from deploy.grafana.promql import ALL_SHOWN, WINDOW, events, largest, ratio, series

_RATE_LABELS = ("service", "evaluator", "agent_version")
_VERDICTS = series("verdicts_total", *OF_VERDICT)


def _rate(name: str) -> str:
    return largest(series(name, *OF_VERDICT), *_RATE_LABELS)


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
            [Query(events(SCORED, WINDOW, "evaluator", "label"), "{{evaluator}} {{label}}", exemplars=True)],
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
                    ratio(events(NOT_JUDGED, WINDOW, "evaluator"), events(TO_BE_JUDGED, WINDOW, "evaluator")),
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
    [AT_A_GLANCE, _PASS_RATIO, _BASELINE, _LABELS, _UNJUDGED],
    [NEW_VERSION, RELOAD, ALERT],
    since="now-24h",
)
