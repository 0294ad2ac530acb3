"""Rows of the pipeline dashboard about what comes in: the books, the journal, and who may send."""

from __future__ import annotations

from deploy.grafana.parts import Panel, Query, Row
from deploy.grafana.promql import WINDOW, events, growth, per_second, quantile, series


def _in_flight(items: str, signal: str) -> str:
    """Received, and neither stored nor dropped."""
    dropped = series("dropped_total", f'signal="{signal}"')
    received, stored = series(f"{items}_received_total"), series(f"{items}_stored_total")
    return f"sum by (instance) ({received}) - sum by (instance) ({stored}) - sum by (instance) ({dropped})"


BOOKS = Row(
    "Books",
    [
        Panel(
            "Received and stored",
            "Spans and records a second. Stored far below received: see Dropped.",
            [
                Query(per_second(series("spans_received_total")), "spans received"),
                Query(per_second(series("spans_stored_total")), "spans stored"),
                Query(per_second(series("records_received_total")), "records received"),
                Query(per_second(series("records_stored_total")), "records stored"),
            ],
            unit="cps",
        ),
        Panel(
            "Dropped, by reason",
            "sampled_out and own are meant to be. refused: the sender keeps them. malformed: a broken sender. "
            "no_session: sessions.without_id. session_full: sessions.max_spans, max_bytes. oversized: among the dead "
            "letters.",
            [Query(per_second(series("dropped_total"), "signal", "reason"), "{{signal}} {{reason}}")],
            unit="cps",
        ),
        Panel(
            "Books: received, and neither stored nor dropped",
            "What is in flight; 0 when nothing arrives. A line that stays above 0 for minutes is lost telemetry: "
            "report it.",
            [
                Query(_in_flight("spans", "traces"), "spans {{instance}}"),
                Query(_in_flight("records", "logs"), "records {{instance}}"),
            ],
            least=None,
        ),
        Panel(
            "Requests by outcome",
            "OTLP requests a second. ok and partial are acknowledged; malformed and too_large are dropped by their "
            "senders.",
            [
                Query(
                    per_second(series("request_duration_seconds_count"), "transport", "outcome"),
                    "{{transport}} {{outcome}}",
                )
            ],
            unit="reqps",
        ),
        Panel(
            "Time to answer a request",
            "99 % of requests were quicker. Exporters give up after 5 to 10 seconds by default.",
            [Query(quantile(0.99, "request_duration_seconds", (), "transport", "signal"), "{{transport}} {{signal}}")],
            unit="s",
        ),
        Panel(
            "Late or undecodable",
            "Late: came after sessions.late_window_seconds, kept and not judged. Undecodable: stored, and no span or "
            "record after all.",
            [
                Query(growth(series("late_total"), WINDOW, "signal"), "late {{signal}}"),
                Query(growth(series("undecodable_total"), WINDOW, "signal"), "undecodable {{signal}}"),
            ],
        ),
    ],
)

JOURNAL = Row(
    "Journal",
    [
        Panel(
            "Time of a commit",
            "Half and 99 % of commits were quicker. A slow disk shows here first.",
            [
                Query(quantile(0.5, "journal_commit_duration_seconds"), "half"),
                Query(quantile(0.99, "journal_commit_duration_seconds"), "99 %"),
            ],
            unit="s",
        ),
        Panel(
            "Size, and room",
            "Without room telemetry is refused: at journal.max_bytes, or below journal.min_free_bytes of free disk. "
            "Receivers have no journal.",
            [
                Query(f"max by (instance) ({series('journal_bytes')})", "size {{instance}}"),
                Query(f"min by (instance) ({series('journal_room_bytes')})", "room {{instance}}", dashed=True),
            ],
            unit="bytes",
            least=None,
        ),
        Panel(
            "Age of the oldest telemetry needed",
            "No file behind it can go. Near sessions.max_age_seconds is usual; far above: sessions that are not "
            "evaluated.",
            [Query(f"max by (instance) ({series('journal_oldest_needed_age_seconds')})", "{{instance}}")],
            unit="s",
        ),
        Panel(
            "Moved",
            "Bytes a second of long sessions that are copied, so that older files can go. Much for long: sessions that "
            "stay open for hours; see sessions.max_age_seconds.",
            [
                Query(
                    f"sum by (instance) (rate({series('journal_moved_bytes_total')}[$__rate_interval]))", "{{instance}}"
                )
            ],
            unit="Bps",
        ),
    ],
)

DOORS = Row(
    "Doors: tokens and certificates",
    [
        Panel(
            "Requests turned away",
            "OTLP requests in each window without a good token, by reason. unknown after a rotation: a sender has the "
            "old one.",
            [Query(events(series("requests_denied_total"), WINDOW, "transport", "reason"), "{{transport}} {{reason}}")],
        ),
        Panel(
            "Page and API: refused, and signed in",
            "In each window. Many wrong_token from nobody you know: somebody guesses.",
            [
                Query(events(series("access_refused_total"), WINDOW, "reason"), "refused: {{reason}}"),
                Query(events(series("sign_ins_total"), WINDOW, "outcome"), "sign-in: {{outcome}}"),
            ],
        ),
        Panel(
            "Certificates expire in",
            "By listener. New files are taken without a restart.",
            [
                Query(
                    f"min by (instance, listener) ({series('tls_certificate_expiry_timestamp_seconds')}) - time()",
                    "{{listener}} {{instance}}",
                )
            ],
            unit="s",
            least=None,
            thresholds=[(None, "red"), (7 * 86_400, "text")],
        ),
        Panel(
            "Files of certificates and tokens",
            "unusable: what is in the file cannot be used, and what was in it before is. The log says what is wrong.",
            [
                Query(f"max by (key) ({series('credential_files_unusable')})", "unusable: {{key}}"),
                Query(events(series("credential_files_replaced_total"), WINDOW, "key"), "taken: {{key}}"),
                Query(
                    events(series("access_tokens_reloads_total"), WINDOW, "outcome"), "tokens of people: {{outcome}}"
                ),
            ],
        ),
    ],
    folded=True,
)
