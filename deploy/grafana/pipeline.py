"""Does SpanJudge itself keep up, and is nothing lost?"""

from __future__ import annotations

from deploy.grafana.choices import ALERT, INSTANCE, JOB, RELEASE, RELOAD
from deploy.grafana.intake import BOOKS, DOORS, JOURNAL
from deploy.grafana.kafka import RECEIVERS, ROUTERS, WORKERS
from deploy.grafana.parts import Dashboard, Panel, Query, Row, stat
from deploy.grafana.promql import (
    ALL_SHOWN,
    INSTANCES,
    WINDOW,
    events,
    growth,
    or_zero,
    per_second,
    quantile,
    ratio,
    series,
)


def _of_process(name: str) -> str:
    return f"{name}{{{INSTANCES}}}"


_AT_A_GLANCE = Row(
    "At a glance",
    [
        stat(
            "Instances",
            "Processes that Prometheus reaches. Fewer than you run: see the process and its log.",
            f"count ({series('build_info')})",
            width=4,
        ),
        stat(
            "Received",
            "Spans and records a second. Near 0 while agents work: look at the Collector's exporter, then at the "
            "outcomes of requests.",
            f"{per_second(series('spans_received_total'))} + {per_second(series('records_received_total'))}",
            unit="cps",
            width=4,
        ),
        stat(
            "Refused",
            "Share of spans and records that were sent back for want of room; senders keep them and come again. For "
            "more than minutes: disk, journal, or too little CPU.",
            ratio(
                growth(series("dropped_total", 'reason="refused"'), ALL_SHOWN),
                f"{growth(series('spans_received_total'), ALL_SHOWN)} "
                f"+ {growth(series('records_received_total'), ALL_SHOWN)}",
            ),
            unit="percentunit",
            width=4,
            thresholds=[(None, "green"), (0.001, "yellow"), (0.05, "red")],
        ),
        stat(
            "Sessions open",
            "Sessions waiting to close. Growing without end: sessions that never fall silent, see "
            "sessions.max_age_seconds.",
            f"sum ({series('sessions_open')})",
            width=4,
        ),
        stat(
            "Oldest evaluation",
            "How long the oldest closed session has waited to be evaluated. Above a minute: too few evaluation "
            "processes, or one that hangs.",
            f"max ({series('evaluation_oldest_seconds')})",
            unit="s",
            width=4,
            thresholds=[(None, "green"), (60, "yellow"), (600, "red")],
        ),
        stat(
            "Alerts firing",
            "Of SpanJudge's rules. Each has a runbook.",
            or_zero('count (ALERTS{alertname=~"SpanJudge.+",alertstate="firing"})'),
            width=4,
            thresholds=[(None, "green"), (1, "red")],
        ),
        Panel(
            "Alerts",
            "Which of SpanJudge's alerts fire or are about to. The page of the same name in docs/runbooks says what "
            "to do.",
            [
                Query(
                    "max by (alertname, alertstate, severity, service, skill, evaluator, instance) "
                    '(ALERTS{alertname=~"SpanJudge.+"})',
                    name="active",
                )
            ],
            kind="table",
            width=24,
            height=5,
            no_value="none",
        ),
    ],
)

_SESSIONS = Row(
    "Sessions",
    [
        Panel(
            "Open",
            "Sessions waiting to close, and traces whose session is not known yet. Many parked: names come late or "
            "never.",
            [
                Query(f"sum by (instance) ({series('sessions_open')})", "sessions {{instance}}"),
                Query(f"sum by (instance) ({series('traces_parked')})", "traces parked {{instance}}"),
            ],
        ),
        Panel(
            "Closed, by reason",
            "Sessions in each window. Many by max_age or max_size: agents that never stop. unreadable: see the log.",
            [Query(growth(series("sessions_closed_total"), WINDOW, "reason"), "{{reason}}")],
        ),
        Panel(
            "Closed and not judged, by reason",
            "sampled_out is meant to be; nothing_happened is telemetry without an agent in it. docs/metrics.md has "
            "the rest.",
            [Query(events(series("sessions_discarded_total"), WINDOW, "reason"), "{{reason}}")],
        ),
        Panel(
            "Not understood, by scope",
            "Sessions in which no extractor understood anything. A scope that is an agent's: spanjudge inspect "
            "--unrecognised, and tell us.",
            [Query(events(series("unrecognised_total"), WINDOW, "scope"), "{{scope}}")],
        ),
        Panel(
            "Evaluation",
            "Closed sessions that wait, and for how long the oldest does. Above evaluation.max_waiting none is closed.",
            [
                Query(f"sum by (instance) ({series('evaluation_waiting')})", "waiting {{instance}}"),
                Query(f"max by (instance) ({series('evaluation_oldest_seconds')})", "oldest, seconds {{instance}}"),
            ],
        ),
        Panel(
            "Behind with closing",
            "Time since every session whose time had come was closed; it rises to a second or so and falls. Rising on: "
            "evaluation.max_waiting is reached, or the store cannot be written. Kafka workers do not tell.",
            [
                Query(
                    f"time() - max by (instance) ({series('closing_caught_up_timestamp_seconds')} > 0)", "{{instance}}"
                )
            ],
            unit="s",
        ),
        Panel(
            "Evaluation processes",
            "Started again, by reason, and sessions evaluated again for it. timeout: one session takes too long; died: "
            "memory, or a plug-in.",
            [
                Query(growth(series("evaluation_restarts_total"), WINDOW, "reason"), "started again: {{reason}}"),
                Query(growth(series("evaluation_retries_total"), WINDOW), "sessions again"),
                Query(f"max by (instance) ({series('evaluation_ends_in_a_row')})", "ends in a row {{instance}}"),
            ],
        ),
        Panel(
            "Verdict lag",
            "From the closing of a session to its verdicts being durable: half and 95 %. Answers of the judge come "
            "later.",
            [
                Query(quantile(0.5, "verdict_lag_seconds"), "half"),
                Query(quantile(0.95, "verdict_lag_seconds"), "95 %"),
            ],
            unit="s",
        ),
        Panel(
            "Stored records that cannot be read",
            "Damaged, or of another version. Anything here: a disk, or two versions on one store.",
            [Query(events(series("stored_records_unreadable_total"), WINDOW, "record"), "{{record}}")],
        ),
    ],
)

_EXPORT = Row(
    "Export",
    [
        Panel(
            "Waiting",
            "Verdicts that wait to be delivered; they are durable. Growing: the receiver is down or slow.",
            [Query(f"max by (exporter) ({series('export_pending')})", "{{exporter}}")],
        ),
        Panel(
            "Sent, failed, tried again",
            "Verdicts delivered a second; in each window those refused for good, and attempts to be repeated, by "
            "reason.",
            [
                Query(per_second(series("export_sent_total"), "exporter"), "{{exporter}} sent a second"),
                Query(
                    events(series("export_failed_total"), WINDOW, "exporter", "reason"),
                    "{{exporter}} failed: {{reason}}",
                ),
                Query(
                    events(series("export_retries_total"), WINDOW, "exporter", "reason"),
                    "{{exporter}} again: {{reason}}",
                ),
            ],
        ),
        Panel(
            "Lag, and time since the last delivery",
            "95 % of verdicts were delivered this soon. Time since the last delivery is no problem while none waits.",
            [
                Query(quantile(0.95, "export_lag_seconds", (), "exporter"), "{{exporter}} 95 %"),
                Query(
                    f"time() - max by (exporter) ({series('export_last_success_timestamp_seconds')})",
                    "{{exporter}} since the last",
                ),
            ],
            unit="s",
        ),
    ],
)

_PROCESS = Row(
    "Process",
    [
        Panel(
            "Memory",
            "Resident, of the process that Prometheus scrapes; evaluation processes come on top.",
            [Query(_of_process("process_resident_memory_bytes"), "{{instance}}")],
            unit="bytes",
        ),
        Panel(
            "CPU",
            "Cores in use, of the same process. 1 is the most that one process takes: add receivers or workers.",
            [Query(f"rate({_of_process('process_cpu_seconds_total')}[$__rate_interval])", "{{instance}}")],
        ),
        Panel(
            "Open files",
            "Of those allowed. Near 1: too many connections, or a limit that is too low.",
            [Query(f"{_of_process('process_open_fds')} / ({_of_process('process_max_fds')} > 0)", "{{instance}}")],
            unit="percentunit",
            most=1,
        ),
        Panel(
            "Configuration in force",
            "0 while the configuration was read again and could not be used: the log has file, line and key, and the "
            "earlier one stays in force.",
            [Query(f"min by (instance) ({series('config_last_reload_successful')})", "{{instance}}")],
            most=1,
        ),
        Panel(
            "Reloads and labels",
            "Reloads by outcome, and label values folded into `other`, in each window. failure: the log has file, line "
            "and key; the old configuration stays in force. Many folded: names made up by agents.",
            [
                Query(growth(series("config_reloads_total"), WINDOW, "outcome"), "reload: {{outcome}}"),
                Query(growth(series("label_overflow_total"), WINDOW, "label"), "folded: {{label}}"),
            ],
        ),
        Panel(
            "Clock",
            "How far the wall clock was set since the start. Closing does not go by it; times on the page do.",
            [Query(f"max by (instance) ({series('clock_stepped_seconds')})", "{{instance}}")],
            unit="s",
            least=None,
        ),
        Panel(
            "Versions",
            "What runs. More than one version for longer than a rollout: finish it.",
            [
                Query(f"sum by (instance, version) ({series('build_info')})", name="runs"),
                Query(
                    f"time() - max by (instance) ({series('config_last_reload_success_timestamp_seconds')})",
                    name="configuration read, ago",
                    unit="s",
                ),
                Query(
                    f"time() - max by (instance) ({_of_process('process_start_time_seconds')})",
                    name="started, ago",
                    unit="s",
                ),
            ],
            kind="table",
        ),
    ],
)

PIPELINE = Dashboard(
    "spanjudge-pipeline",
    "SpanJudge: pipeline",
    "Whether telemetry arrives, is kept, evaluated and published, and what SpanJudge itself uses.",
    [JOB, INSTANCE],
    [_AT_A_GLANCE, BOOKS, JOURNAL, _SESSIONS, _EXPORT, _PROCESS, DOORS, RECEIVERS, ROUTERS, WORKERS],
    [RELOAD, RELEASE, ALERT],
)
