"""Every metric: its name, unit, labels and meaning, and the moments it is counted at, in the words of the domain.

`python -m collector.metrics` prints docs/metrics.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.metrics import disable_created_metrics

from collector.access.metrics import AccessMetrics
from collector.baseline_metrics import BaselineMetrics
from collector.gate_metrics import GateMetrics
from collector.judge_metrics import JudgeMetrics
from collector.kafka.metrics import KafkaMetrics
from collector.metric_labels import (
    MAX_HISTOGRAMS,
    MAX_SERIES,
    MAX_VALUES,
    OTHER,
    BoundedLabels,
    BoundedSeries,
    clean,
    exemplar_of,
)
from collector.metrics_document import Documented, document
from collector.rate_metrics import RateMetrics
from collector.skill_metrics import SkillMetrics
from collector.store_metrics import StoreMetrics
from collector.tls_metrics import TlsMetrics
from collector.verdict_facts import Example, VerdictFacts, example_of, facts_of
from judge.prices import usage_of
from judge.question import Answer
from judge.verdict import Judged

Signal: TypeAlias = Literal["traces", "logs"]
Transport: TypeAlias = Literal["grpc", "http"]
DropReason: TypeAlias = Literal["sampled_out", "refused", "malformed", "own", "no_session", "session_full", "oversized"]
RequestOutcome: TypeAlias = Literal[
    "ok", "partial", "refused", "malformed", "too_large", "denied", "abandoned", "error"
]
RestartReason: TypeAlias = Literal["died", "timeout", "not_started"]
ReloadOutcome: TypeAlias = Literal["success", "failure"]
CloseReason: TypeAlias = Literal["end_marker", "roots_ended", "idle", "max_age", "max_size"]

SCORES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
JUDGE_SECONDS = (0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
_EXACT = 2.0**53  # up to here floating point counts by ones
LAG_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)


class Metrics:
    """All metrics of one process on a registry of its own. No method raises for what telemetry contains."""

    def __init__(self, version: str = "", registry: CollectorRegistry | None = None) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the series and nothing reads them
        self.registry = registry or CollectorRegistry()
        self.documented: list[Documented] = []
        self._labels = BoundedLabels(self._overflowed)
        self._verdict_series = BoundedSeries(self._overflowed)
        self._score_series = BoundedSeries(self._overflowed, MAX_HISTOGRAMS)
        self._rate_series = BoundedSeries(self._overflowed)
        self._gate_series = BoundedSeries(self._overflowed)
        self._skill_series = BoundedSeries(self._overflowed)
        self._declare_ingest()
        self._declare_sessions()
        self._declare_evaluation()
        self._declare_verdicts()
        self._declare_judge()
        self._declare_export()
        self.store = StoreMetrics(self._counter, self._gauge)
        self.access = AccessMetrics(self._counter)
        self.tls = TlsMetrics(self._counter, self._gauge)
        self.kafka = KafkaMetrics(self._counter, self._gauge, self._labels.bound)
        self._declare_process(version)
        self._create_known_series()

    # Ingest

    def received(self, signal: Signal, count: int) -> None:
        """Spans or records of a well-formed request, before any of them is looked at."""
        self._received[signal].inc(count)

    def stored(self, signal: Signal, count: int) -> None:
        self._stored[signal].inc(count)

    def dropped(self, signal: Signal, reason: DropReason, count: int) -> None:
        if count:  # asked for every reason of every request; the series are there from the start
            self._dropped.labels(signal, reason).inc(count)

    def late(self, signal: Signal, count: int) -> None:
        """Came after its session had closed for good."""
        self._late.labels(signal).inc(count)

    def undecodable(self, signal: Signal, count: int) -> None:
        """Stored bytes that proved not to be a span or record when their session closed, or too many to be read."""
        self._undecodable.labels(signal).inc(count)

    def request(self, transport: Transport, signal: Signal, outcome: RequestOutcome, seconds: float) -> None:
        """One OTLP request from its arrival to our answer; `abandoned` when its sender did not wait for that."""
        self._requests.labels(transport, signal, outcome).observe(_finite(seconds))

    def journal_committed(self, seconds: float) -> None:
        self._journal_commits.observe(_finite(seconds))

    def journal_bytes(self, size: int) -> None:
        self._journal_bytes.set(size)

    def journal_room(self, size: int) -> None:
        """Bytes that the journal may grow by before telemetry is refused; below zero when it is."""
        self._journal_room.set(size)

    def journal_oldest(self, seconds: float) -> None:
        """How long ago the oldest row came that anybody needs; 0 when nobody needs any."""
        self._journal_oldest.set(_finite(seconds))

    def journal_emptied(self, files: int) -> None:
        """Files with nothing in them, found when they were opened."""
        self._journal_emptied.inc(files)

    def journal_moved(self, size: int) -> None:
        """Bytes of one session or trace, copied so that older files can go."""
        self._journal_moved.inc(size)

    def clock_stepped(self, seconds: float) -> None:
        """How far the wall clock was set forward since the start; below zero: backward."""
        self._clock_stepped.set(seconds if math.isfinite(seconds) else 0.0)

    # Sessions

    def sessions_open(self, sessions: int, traces: int) -> None:
        self._sessions_open.set(sessions)
        self._traces_parked.set(traces)

    def session_closed(self, reason: str, count: int = 1) -> None:
        self._sessions_closed.labels(self._labels.bound("close_reason", reason)).inc(count)

    def closing_caught_up(self, now_ns: int) -> None:
        """Every session whose time had come is closed."""
        self._closing_caught_up.set(now_ns / 1e9)

    def session_discarded(self, reason: str, count: int = 1) -> None:
        """Sessions that closed and are not judged: see `collector.sessions.book.Discarded`."""
        self._sessions_discarded.labels(self._labels.bound("close_reason", reason)).inc(count)

    def unrecognised(self, scopes: Sequence[str], count: int = 1) -> None:
        """Sessions in which no extractor understood anything, counted under each scope that sent them."""
        for scope in sorted({self._labels.bound("scope", scope) for scope in scopes or ("",)}):
            self._unrecognised.labels(scope).inc(count)

    # Evaluation

    def evaluation_waiting(self, sessions: int, oldest_s: float) -> None:
        self._evaluation_waiting.set(sessions)
        self._evaluation_oldest.set(_finite(oldest_s))

    def evaluation_restarted(self, reason: RestartReason) -> None:
        """An evaluation process ended, or did not start, and another one takes its place."""
        self._evaluation_restarts.labels(reason).inc()

    def evaluation_retried(self, sessions: int) -> None:
        self._evaluation_retries.inc(sessions)

    def evaluation_ends_in_a_row(self, count: int) -> None:
        """Of processes that had work in hand, since one last finished any."""
        self._evaluation_ends.set(count)

    def config_read(self, now_ns: int) -> None:
        """The configuration that is in force from now on was read."""
        self._reload_success.set(now_ns / 1e9)

    def config_reloaded(self, outcome: ReloadOutcome) -> None:
        """The configuration was to be read again."""
        self._reloads.labels(outcome).inc()
        self._reload_successful.set(1 if outcome == "success" else 0)

    # Verdicts

    def record_unreadable(self, kind: str) -> None:
        """A stored verdict or session was to be read and could not be."""
        self._records_unreadable.labels(kind).inc()

    def verdict(self, judged: Judged) -> None:
        """A verdict that is durable, counted once."""
        self.verdicts(facts_of(judged), 1, example_of(judged))

    def verdicts(self, facts: VerdictFacts, count: int, example: Example) -> None:
        """So many verdicts that are durable, of which the same is to be said; one of them is the example."""
        labels = self._verdict_labels(facts)
        exemplar = exemplar_of(example.trace_id, example.session_id)
        self._verdicts.labels(*labels).inc(count, exemplar)
        if 0 < facts.inclusion_probability <= 1 and (weight := count / facts.inclusion_probability) <= _EXACT:
            self._weighted.labels(*labels).inc(weight)
        if facts.score is not None and 0 <= facts.score <= 1:
            subject = labels[:3] if self._score_series.fits(labels[:3]) else (OTHER, labels[1], OTHER)
            scores = self._scores.labels(*subject)
            for _ in range(count):
                scores.observe(facts.score, exemplar)
        if facts.not_judged is not None:
            self._not_judged.labels(labels[1], self._labels.bound("reason", facts.not_judged)).inc(count)
        self.gates.count(facts, count, example.judged_ns)

    def verdict_lag(self, seconds: float) -> None:
        """From the closing of the session to the verdict being durable, by our clock."""
        self._lag.observe(_finite(seconds))

    # Judge

    def judge_asked(self, model: str, outcome: str, seconds: float | None) -> None:
        """One request to a model. `outcome` is `answered` or the reason of the `JudgeError`; `seconds` is None for
        one that was part of a batch."""
        model = self._labels.bound("model", model)
        self._judge_requests.labels(model, self._labels.bound("outcome", outcome)).inc()
        if seconds is not None:
            self._judge_seconds.labels(model).observe(_finite(seconds))

    def judge_answered(self, answer: Answer) -> None:
        """The tokens of one answer. Cached input is counted as cache_read and cache_write, not as input."""
        model = self._labels.bound("model", answer.model)
        usage = usage_of(answer)
        kinds = {
            "input": usage.fresh,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
        }
        for kind, tokens in kinds.items():
            self._judge_tokens.labels(model, kind).inc(max(0, tokens))

    def questions_pending(self, count: int) -> None:
        self._questions_pending.set(count)

    # Export

    def export_sent(self, exporter: str, count: int, now_ns: int) -> None:
        self._export_sent.labels(exporter).inc(count)
        self._export_success.labels(exporter).set(now_ns / 1e9)

    def export_lag(self, exporter: str, seconds: Sequence[float]) -> None:
        """From the closing of a session, or the answer of a judge, to the delivery of each verdict, by our clock."""
        lag = self._export_lag.labels(exporter)
        for each in seconds:
            lag.observe(_finite(each))

    def export_failed(self, exporter: str, reason: str, count: int) -> None:
        """Verdicts the receiver refused for good. They stay in the store and are not sent again."""
        self._export_failed.labels(exporter, self._labels.bound("export_reason", reason)).inc(count)

    def export_retried(self, exporter: str, reason: str) -> None:
        self._export_retries.labels(exporter, self._labels.bound("export_reason", reason)).inc()

    def export_pending(self, exporter: str, count: int) -> None:
        self._export_pending.labels(exporter).set(count)

    # Declarations

    def _declare_ingest(self) -> None:
        self._received = {
            "traces": self._counter("spans_received_total", "Spans in well-formed requests"),
            "logs": self._counter("records_received_total", "Log records in well-formed requests"),
        }
        self._stored = {
            "traces": self._counter(
                "spans_stored_total", "Spans made durable, in the journal or (a receiver's) in Kafka"
            ),
            "logs": self._counter("records_stored_total", "Log records made durable, likewise"),
        }
        self._dropped = self._counter(
            "dropped_total",
            "Spans and records received and not stored: sampled_out, refused (no room, the sender keeps them), "
            "malformed, own (our own verdicts coming back), no_session, session_full (sessions.max_spans, max_bytes), "
            "oversized (larger than a Kafka message may be; among the dead letters)",
            "signal",
            "reason",
        )
        self._late = self._counter("late_total", "Spans and records kept but not judged: too late", "signal")
        self._undecodable = self._counter(
            "undecodable_total",
            "Stored spans and records that could not be decoded at closing, or were left out there: those of traces "
            "that are more than sessions.max_bytes together, and those that came, in a trace that sessions share, for "
            "one that was full and closed; told at each closing of a session that reads them",
            "signal",
        )
        self._requests = self._histogram(
            "request_duration_seconds",
            "OTLP requests, from arrival to answer",
            REQUEST_SECONDS,
            "transport",
            "signal",
            "outcome",
        )
        self._journal_commits = self._histogram(
            "journal_commit_duration_seconds", "Commits of the journal; each may hold many requests", REQUEST_SECONDS
        )
        self._journal_bytes = self._gauge("journal_bytes", "Size of the journal on disk")
        self._journal_room = self._gauge(
            "journal_room_bytes",
            "What the journal may still grow by before telemetry is refused: to journal.max_bytes, or until the disk "
            "has journal.min_free_bytes left, whichever comes first; 0 in a role without a journal",
        )
        self._journal_oldest = self._gauge(
            "journal_oldest_needed_age_seconds",
            "Age of the oldest telemetry that an open, late or unjudged session still needs; no file behind it can go",
        )
        self._journal_emptied = self._counter(
            "journal_files_emptied_total",
            "Files of the journal found with nothing in them: what was acknowledged and stood there is lost, but for a "
            "crash just as the file was begun",
        )
        self._journal_moved = self._counter(
            "journal_moved_bytes_total", "Telemetry of long sessions copied to the end, so that older files can go"
        )

    def _declare_sessions(self) -> None:
        self._sessions_open = self._gauge("sessions_open", "Sessions waiting to close")
        self._traces_parked = self._gauge(
            "traces_parked", "Traces with telemetry that names no session: it follows the trace's session, or is one"
        )
        self._closing_caught_up = self._gauge(
            "closing_caught_up_timestamp_seconds",
            "When every session whose time had come was last closed, Unix time; 0 in a role that closes none, and in "
            "Kafka workers, which close by what they have read",
        )
        self._sessions_closed = self._counter(
            "sessions_closed_total",
            "Sessions closed and kept, by the reason of closing; where nothing is judged: unreadable (it "
            "could not be read), late (it came after the late window)",
            "reason",
        )
        self._sessions_discarded = self._counter(
            "sessions_discarded_total",
            "Sessions closed and not judged: sampled_out, no_session (a trace that nothing named), "
            "revisions (judged as often as can be counted), "
            "empty (all its telemetry belonged elsewhere), nothing_happened (a trace that nothing named, with nothing "
            "an agent did in it), moved (a trace that was named since, and is judged with its session)",
            "reason",
        )
        self._unrecognised = self._counter(
            "unrecognised_total", "Sessions in which no extractor understood anything, by scope that sent them", "scope"
        )

    def _declare_evaluation(self) -> None:
        self._evaluation_waiting = self._gauge(
            "evaluation_waiting", "Sessions closed and not evaluated yet; above evaluation.max_waiting none is closed"
        )
        self._evaluation_oldest = self._gauge(
            "evaluation_oldest_seconds", "How long the oldest of them has waited since it closed; 0 when none waits"
        )
        self._evaluation_restarts = self._counter(
            "evaluation_restarts_total",
            "Evaluation processes that had to be started again: died, timeout (evaluation.timeout_seconds), "
            "not_started",
            "reason",
        )
        self._evaluation_retries = self._counter(
            "evaluation_retries_total", "Sessions evaluated again because the process that had them ended"
        )
        self._evaluation_ends = self._gauge(
            "evaluation_ends_in_a_row",
            "Evaluation processes that ended with work in hand since one last finished any; above 2 /readyz tells, and "
            "what they had waits",
        )
        self._reloads = self._counter(
            "config_reloads_total", "Times the configuration was read again (SIGHUP): success, failure", "outcome"
        )
        self._reload_successful = self._gauge(
            "config_last_reload_successful",
            "0 when the configuration was read again and could not be used, so that an earlier one is in force",
        )
        self._reload_successful.set(1)
        self._reload_success = self._gauge(
            "config_last_reload_success_timestamp_seconds", "When the configuration in force was read, Unix time"
        )

    def _declare_verdicts(self) -> None:
        subject = ("service", "evaluator", "skill")
        self._verdicts = self._counter(
            "verdicts_total",
            "Verdicts; label is the score's label, or not_judged, or not_applicable",
            *subject,
            "label",
            "agent_version",
        )
        self._weighted = self._counter(
            "verdicts_weighted_total",
            "Verdicts divided by the share of sessions that is sampled: an estimate for all traffic",
            *subject,
            "label",
            "agent_version",
        )
        self._scores = self._histogram("score", "Scores, 0 to 1 (1 is best); scored verdicts only", SCORES, *subject)
        self.gates = GateMetrics(self._counter, self._gauge, self._labels.bound, self._gate_series.fits)
        self._records_unreadable = self._counter(
            "stored_records_unreadable_total",
            "Times that a stored record (verdict, session) was to be read, and was damaged or of another version",
            "record",
        )
        self._not_judged = self._counter(
            "not_judged_total", "Verdicts that should have had a score and have none", "evaluator", "reason"
        )
        self._lag = self._histogram(
            "verdict_lag_seconds", "From the closing of a session to its verdicts being durable", LAG_SECONDS
        )
        self.skills = SkillMetrics(self._counter, self._labels.bound, self._skill_series.fits)
        self.rates = RateMetrics(self._gauge, self._labels.bound, self._rate_series.fits)
        self.baselines = BaselineMetrics(self._gauge, self._labels.bound, self._rate_series.fits)

    def _declare_judge(self) -> None:
        self._judge_requests = self._counter("judge_requests_total", "Requests to a judge model", "model", "outcome")
        self._judge_tokens = self._counter(
            "judge_tokens_total", "Tokens of judge models: input, output, cache_read, cache_write", "model", "kind"
        )
        self._judge_seconds = self._histogram(
            "judge_question_duration_seconds", "Time of one request to a judge model", JUDGE_SECONDS, "model"
        )
        self._questions_pending = self._gauge("questions_pending", "Questions that wait for a judge")
        self.judge = JudgeMetrics(self._counter, self._gauge, self._labels.bound)

    def _declare_export(self) -> None:
        self._export_sent = self._counter("export_sent_total", "Verdicts delivered", "exporter")
        self._export_failed = self._counter(
            "export_failed_total", "Verdicts refused for good by the receiver", "exporter", "reason"
        )
        self._export_retries = self._counter(
            "export_retries_total", "Attempts to export that failed and will be repeated", "exporter", "reason"
        )
        self._export_pending = self._gauge("export_pending", "Verdicts that wait to be delivered", "exporter")
        self._export_lag = self._histogram(
            "export_lag_seconds",
            "From the closing of a session, or the answer of a judge, to the delivery of a verdict",
            LAG_SECONDS,
            "exporter",
        )
        self._export_success = self._gauge(
            "export_last_success_timestamp_seconds", "When verdicts were last delivered, Unix time", "exporter"
        )

    def _declare_process(self, version: str) -> None:
        self._overflow = self._counter(
            "label_overflow_total",
            f"Label values folded into `{OTHER}` because the label had its {MAX_VALUES} values "
            f"(label `series`: because a metric had its {MAX_SERIES} combinations, scores their {MAX_HISTOGRAMS})",
            "label",
        )
        self._clock_stepped = self._gauge(
            "clock_stepped_seconds",
            "How far the wall clock was set forward (below zero: backward) since the start; closing does not go by it",
        )
        build = Info("spanjudge_build", "The version that runs", registry=self.registry)
        build.info({"version": clean(version)})
        self._document("build_info", "gauge", ("version",), "The version that runs; always 1")
        ProcessCollector(registry=self.registry)

    def _create_known_series(self) -> None:
        """`rate()` and alerts need a zero to start from; a series that appears at 1 hides its first event."""
        for signal in get_args(Signal):
            self._late.labels(signal)
            self._undecodable.labels(signal)
            for reason in get_args(DropReason):
                self._dropped.labels(signal, reason)
        for restart in get_args(RestartReason):
            self._evaluation_restarts.labels(restart)
        for outcome in get_args(ReloadOutcome):
            self._reloads.labels(outcome)
        for reason in (*get_args(CloseReason), "unreadable", "late"):
            self._sessions_closed.labels(self._labels.bound("close_reason", reason))
        for reason in ("sampled_out", "no_session", "revisions", "empty", "nothing_happened", "moved"):
            self._sessions_discarded.labels(self._labels.bound("close_reason", reason))
        for record in ("verdict", "session"):
            self._records_unreadable.labels(record)
        for label in ("service", "evaluator", "skill", "label", "agent_version", "case", "scope", "model", "series"):
            self._overflow.labels(label)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        self._document(name, "counter", labels, meaning)
        return Counter(f"spanjudge_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        self._document(name, "gauge", labels, meaning)
        return Gauge(f"spanjudge_{name}", meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: Sequence[float], *labels: str) -> Histogram:
        self._document(name, "histogram", labels, meaning, tuple(buckets))
        return Histogram(f"spanjudge_{name}", meaning, labels, registry=self.registry, buckets=buckets)

    def _document(
        self, name: str, kind: str, labels: tuple[str, ...], meaning: str, buckets: tuple[float, ...] = ()
    ) -> None:
        self.documented.append(Documented(f"spanjudge_{name}", kind, labels, meaning, buckets))

    def _overflowed(self, label: str) -> None:
        self._overflow.labels(label).inc()

    def _verdict_labels(self, facts: VerdictFacts) -> tuple[str, str, str, str, str]:
        """service, evaluator, skill, label, agent_version; the first three are those of the score."""
        bound = self._labels.bound
        service, evaluator, skill = (
            bound("service", facts.service),
            bound("evaluator", facts.evaluator),
            bound("skill", facts.skill),
        )
        label = bound("label", facts.label)
        labels = (service, evaluator, skill, label, bound("agent_version", facts.agent_version))
        return labels if self._verdict_series.fits(labels) else (OTHER, evaluator, OTHER, label, OTHER)


def _finite(seconds: float) -> float:
    """A NaN would make the sum of a histogram NaN for the rest of the process, and so would what is no time."""
    return min(max(0.0, seconds), _EXACT) if math.isfinite(seconds) else 0.0


if __name__ == "__main__":
    sys.stdout.write(document(Metrics().documented))
