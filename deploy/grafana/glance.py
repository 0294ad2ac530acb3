"""The first row of the quality dashboard: is anything wrong just now?"""

from __future__ import annotations

from deploy.grafana.choices import NOT_JUDGED, OF_SESSION, OF_VERDICT, SCORED, TO_BE_JUDGED
from deploy.grafana.links import sessions, verdict_spans
from deploy.grafana.parts import Panel, Query, Row, stat
from deploy.grafana.promql import ALL_SHOWN, events, largest, or_zero, ratio, series

_GATE_LABELS = ("gate", "service", "evaluator", "case", "agent_version")
_VIOLATED = series("verdicts_total", *OF_SESSION, 'evaluator="forbidden_events",label="violated"')
_GATES = series("gate_failures_total", *OF_VERDICT)
_RISKY = series("gate_failures_total", *OF_SESSION, 'gate="high_risk"')
_OVER = series("verdicts_total", *OF_SESSION, 'evaluator="budgets",label="over"')
_LEAKED = series("verdicts_total", *OF_SESSION, 'evaluator="sensitive_data",label="found"')


def _composite(name: str) -> str:
    about = series(name, *OF_SESSION, 'evaluator="composite"')
    return largest(about, "service", "evaluator", "agent_version")


def _passing_sessions() -> str:
    rate, behind = _composite("pass_ratio"), _composite("pass_ratio_verdicts")
    return ratio(f"sum ({rate} * {behind})", f"sum ({behind})")


AT_A_GLANCE = Row(
    "At a glance",
    [
        stat(
            "Scored verdicts",
            "Verdicts with a score in the time shown. None at all while agents work: see Pipeline, then whether the "
            "judge is ready.",
            or_zero(events(SCORED, ALL_SHOWN)),
            width=3,
            decimals=0,
        ),
        stat(
            "Sessions that pass",
            "Share of sessions that pass as a whole (composite), as counted, over calibration.window_seconds, a week "
            "unless set. No data: no suite names what is expected. Low: see which evaluator and version below.",
            _passing_sessions(),
            unit="percentunit",
            width=3,
            thresholds=[(None, "red"), (0.8, "yellow"), (0.95, "green")],
            links=[sessions("stat", evaluator="composite", label="fail")],
        ),
        stat(
            "Forbidden events",
            "Sessions in which something happened that a case forbids. One is too many: open the sessions, then stop "
            "the version or take the tool away.",
            or_zero(events(_VIOLATED, ALL_SHOWN)),
            width=3,
            thresholds=[(None, "green"), (0.5, "red")],
            links=[
                sessions("stat", evaluator="forbidden_events", label="violated"),
                verdict_spans("stat", evaluator="forbidden_events", label="violated"),
            ],
            decimals=0,
        ),
        stat(
            "High-risk failures",
            "Verdicts that fail a case of high risk. None is tolerated: the table below names the case, its sessions "
            "say why.",
            or_zero(events(_RISKY, ALL_SHOWN)),
            width=3,
            thresholds=[(None, "green"), (0.5, "red")],
            links=[sessions("stat", outcome="failed")],
            decimals=0,
        ),
        stat(
            "Sensitive data",
            "Sessions with a secret or personal data in the answer or in arguments of tools. Open them; a secret is "
            "to be replaced.",
            or_zero(events(_LEAKED, ALL_SHOWN)),
            width=3,
            thresholds=[(None, "green"), (0.5, "red")],
            links=[
                sessions("stat", evaluator="sensitive_data", label="found"),
                verdict_spans("stat", evaluator="sensitive_data", label="found"),
            ],
            decimals=0,
        ),
        stat(
            "Not judged",
            "Share of verdicts that should have a score and have none. They are no failures of the agent, but the "
            "rates here are blind to them: see the reasons at the bottom.",
            ratio(events(NOT_JUDGED, ALL_SHOWN), events(TO_BE_JUDGED, ALL_SHOWN)),
            unit="percentunit",
            width=3,
            thresholds=[(None, "green"), (0.05, "yellow"), (0.2, "red")],
            links=[sessions("stat", label="not_judged")],
        ),
        stat(
            "Worst change against a baseline",
            "The largest fall of a pass rate against the service's current baseline. No data: no baseline was "
            "promoted. Below: of which version and evaluator, and on how many verdicts it rests.",
            f"min ({series('baseline_delta', *OF_VERDICT)})",
            unit="percentunit",
            width=3,
            thresholds=[(None, "red"), (-0.1, "yellow"), (-0.02, "green")],
        ),
        stat(
            "Over budget",
            "Sessions that took more time, tokens, calls or money than a case of a suite allows.",
            or_zero(events(_OVER, ALL_SHOWN)),
            width=3,
            thresholds=[(None, "green"), (0.5, "yellow")],
            links=[sessions("stat", evaluator="budgets", label="over")],
            decimals=0,
        ),
        Panel(
            "Gates failed in the time shown",
            "What may never happen, by case of a suite, with the last time (since the start of the process). Click a "
            "line for the sessions.",
            [
                Query(events(_GATES, ALL_SHOWN, *_GATE_LABELS), name="failures"),
                Query(
                    f"1000 * {largest(series('gate_last_failure_timestamp_seconds', *OF_VERDICT), *_GATE_LABELS)}",
                    name="last",
                    unit="dateTimeFromNow",
                ),
            ],
            kind="table",
            width=24,
            height=6,
            links=[sessions("table", "service", "evaluator", "agent_version", outcome="failed")],
            decimals=0,
        ),
    ],
)
