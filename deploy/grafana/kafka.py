"""Rows of the pipeline dashboard for those who scale out over Kafka. Folded: elsewhere there is nothing to see."""

from __future__ import annotations

from deploy.grafana.parts import Panel, Query, Row
from deploy.grafana.promql import WINDOW, events, growth, per_second, series

RECEIVERS = Row(
    "Kafka: what every role sends",
    [
        Panel(
            "Messages sent",
            "A second, by topic. Receivers write to the topics of telemetry, routers to that of sessions, workers to "
            "that of verdicts.",
            [Query(per_second(series("kafka_messages_sent_total"), "topic"), "{{topic}}")],
            unit="cps",
        ),
        Panel(
            "Bytes sent",
            "A second, before compression: what the brokers' network and disks are to hold.",
            [Query(per_second(series("kafka_sent_bytes_total"), "topic"), "{{topic}}")],
            unit="Bps",
        ),
        Panel(
            "Given to the client, not taken by Kafka",
            "Growing: brokers are slow or away; senders will be told to come back.",
            [Query(f"sum by (instance) ({series('kafka_pending_bytes')})", "{{instance}}")],
            unit="bytes",
        ),
        Panel(
            "Requests that Kafka did not take",
            "In each window, by reason. Senders keep them and come again.",
            [Query(events(series("kafka_send_failures_total"), WINDOW, "reason"), "{{reason}}")],
        ),
        Panel(
            "Dead letters",
            "Messages put aside in each window, by cause. They are in the dead letter topic, with the reason in a "
            "header.",
            [Query(growth(series("kafka_dead_letters_total"), WINDOW, "cause"), "{{cause}}")],
        ),
        Panel(
            "Topics and producers",
            "What is wrong with topics or with reaching Kafka (the log and /readyz say what), and producers replaced.",
            [
                Query(f"max by (instance) ({series('kafka_topic_problems')})", "problems {{instance}}"),
                Query(growth(series("kafka_producer_restarts_total"), WINDOW), "producers replaced"),
            ],
        ),
    ],
    folded=True,
)

ROUTERS = Row(
    "Kafka: routers",
    [
        Panel(
            "Messages waiting, and how far behind",
            "Everything older than so many seconds has been read. Growing: add routers, up to the number of "
            "partitions.",
            [
                Query(f"sum by (instance) ({series('kafka_router_waiting_messages')})", "waiting {{instance}}"),
                Query(f"max by (instance) ({series('kafka_router_behind_seconds')})", "seconds behind {{instance}}"),
            ],
        ),
        Panel(
            "Spans and records, by what became of them",
            "A second. Parked ones wait for the name of their session.",
            [Query(per_second(series("kafka_router_items_total"), "signal", "outcome"), "{{signal}} {{outcome}}")],
            unit="cps",
        ),
        Panel(
            "Parked ones, in the end",
            "A second, by what became of them; repeated were given to one more session, named later.",
            [
                Query(per_second(series("kafka_router_unparked_total"), "signal", "outcome"), "{{signal}} {{outcome}}"),
                Query(per_second(series("kafka_router_repeated_total")), "repeated"),
            ],
            unit="cps",
        ),
        Panel(
            "Read and committed",
            "Messages and transactions a second. Messages waiting and no transactions: see the log and Begun anew.",
            [
                Query(per_second(series("kafka_router_messages_total")), "messages"),
                Query(per_second(series("kafka_router_transactions_total")), "transactions"),
                Query(per_second(series("kafka_router_read_again_total")), "messages read again"),
            ],
            unit="cps",
        ),
        Panel(
            "Bytes read",
            "A second, after decompression: what a router's CPU goes into.",
            [Query(per_second(series("kafka_router_read_bytes_total")), "read")],
            unit="Bps",
        ),
        Panel(
            "Partitions and traces",
            "What each router has and remembers. A router without partitions is one too many.",
            [
                Query(f"sum by (instance) ({series('kafka_router_partitions')})", "partitions {{instance}}"),
                Query(f"sum by (instance) ({series('kafka_router_traces')})", "traces {{instance}}"),
            ],
        ),
        Panel(
            "Parked in memory",
            "Telemetry that waits for the name of its session, up to kafka.router.unnamed_seconds.",
            [Query(f"sum by (instance) ({series('kafka_router_parked_bytes')})", "{{instance}}")],
            unit="bytes",
        ),
        Panel(
            "Begun anew, skipped, unreadable",
            "In each window. Skipped: Kafka deleted messages before they were read; that telemetry is lost, so "
            "lengthen the topic's retention.",
            [
                Query(growth(series("kafka_router_started_over_total"), WINDOW), "begun anew"),
                Query(growth(series("kafka_router_takeovers_total"), WINDOW), "taken over"),
                Query(growth(series("kafka_router_skipped_total"), WINDOW), "skipped"),
                Query(growth(series("kafka_router_unreadable_facts_total"), WINDOW), "unreadable links"),
            ],
        ),
    ],
    folded=True,
)

WORKERS = Row(
    "Kafka: workers",
    [
        Panel(
            "Work waiting",
            "Messages not read yet, and closings not judged yet. Growing: add workers, up to the number of partitions.",
            [Query(f"sum by (instance) ({series('kafka_work_waiting_messages')})", "{{instance}}")],
        ),
        Panel(
            "Open offsets behind",
            "From the oldest message still needed to the newest: open sessions, not a backlog. Do not scale by it.",
            [Query(f"sum by (instance) ({series('kafka_open_offsets_behind')})", "{{instance}}")],
        ),
        Panel(
            "Spans and records filed",
            "A second, by what became of them; those of open sessions are read again after a takeover.",
            [Query(per_second(series("kafka_items_filed_total"), "signal", "fate"), "{{signal}} {{fate}}")],
            unit="cps",
        ),
        Panel(
            "Partitions",
            "By state. paused: too much waits, reading goes on by itself. beginning for minutes: a large takeover.",
            [Query(f"sum by (state) ({series('kafka_partitions')})", "{{state}}")],
        ),
        Panel(
            "Rebalances and takeovers",
            "In each window. Many without a rollout: members that do not answer in time, see "
            "kafka.session_timeout_seconds.",
            [
                Query(growth(series("kafka_rebalances_total"), WINDOW), "rebalances"),
                Query(growth(series("kafka_takeovers_total"), WINDOW, "how"), "{{how}}"),
            ],
        ),
        Panel(
            "Lost shares, failed reads, messages deleted unread",
            "In each window. The first two mend themselves; again and again they mean two workers with one identity, "
            "or a sick disk. What Kafka deleted is lost: lengthen the retention of the topic of sessions.",
            [
                Query(growth(series("kafka_shares_lost_total"), WINDOW), "shares lost"),
                Query(growth(series("kafka_read_failures_total"), WINDOW), "reads failed"),
                Query(growth(series("kafka_sessions_skipped_total"), WINDOW), "deleted before they were read"),
            ],
        ),
    ],
    folded=True,
)
