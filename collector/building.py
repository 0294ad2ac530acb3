"""Builds the parts of a process from its configuration; nothing runs yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from collector.asking import Asking
from collector.baseline_watch import BaselineWatch
from collector.calibrating import Calibrating
from collector.clock import Clock
from collector.closing import Closing
from collector.config import Config
from collector.data_directory import JOURNAL_DIRECTORY
from collector.evaluation.evaluators import Apart, Evaluators, Here
from collector.exporters.otlp import OtlpExporter
from collector.exporting import Backoff, Exporting
from collector.in_force import InForce
from collector.ingest import Ingest, Limits
from collector.journal.journal import Journal, JournalSettings
from collector.judge_building import build_asking, build_judge, build_without_judge, redaction_of
from collector.judge_queue.batching import Batching, LettingGo
from collector.judge_queue.expiring import WithoutJudge
from collector.judging import Judging
from collector.metrics import Metrics
from collector.rules import session_names
from collector.sampling import ceiling
from collector.sessions.book import IdleRule, Policy, SessionBook
from collector.sessions.gathering import Chains
from collector.sessions.routing import Marks, Router
from collector.store.store import Store
from collector.tidying import Tidying
from judge.calibration import Minimum
from judge.verdict import NotJudged

if TYPE_CHECKING:  # a large library, imported where there is a judge to ask
    from judge.clients.anthropic import AnthropicJudge


class Rows(Chains, Protocol):
    """Where the rows of closed sessions are, in this process."""

    def clear_readers(self) -> None:
        """A process that read them has died."""


NO_JUDGE = NotJudged(
    "no_judge_configured", "set ANTHROPIC_API_KEY, or judge.api_key in the configuration, to have this judged"
)


@dataclass(frozen=True, slots=True)
class Common:
    """What judges and publishes, wherever sessions come from. `asking`, `batching` and `judge` are None without a
    judge, `without_judge` with one, `exporting` and `exporter` without an export. `on_finished` is to be called when
    closings were kept."""

    evaluators: Evaluators
    judge: AnthropicJudge | None
    asking: Asking | None
    batching: Batching | LettingGo | None
    without_judge: WithoutJudge | None
    exporter: OtlpExporter | None
    exporting: Exporting | None
    calibrating: Calibrating
    baseline_watch: BaselineWatch
    on_finished: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Parts:
    """From the receivers to closings that are judged, in one process."""

    book: SessionBook
    journal: Journal
    ingest: Ingest
    closing: Closing
    judging: Judging
    tidying: Tidying


def build_common(now: InForce, store: Store, clock: Clock, metrics: Metrics, journal: Rows, *, lock: int) -> Common:
    """What stands behind closed sessions, whose rows are in `journal`. `lock` is the descriptor that holds the data
    directory."""
    config = now.config
    exporter, exporting = _export(config, store, clock, metrics)
    exporters = [exporter.name] if exporter else []

    def on_verdict() -> None:
        if exporting is not None:
            exporting.poke()

    judge = build_judge(config.judge)
    asking = batching = without_judge = None
    if judge is None:
        without_judge = build_without_judge(
            config.judge, NO_JUDGE, store, clock, metrics, exporters=exporters, on_verdict=on_verdict
        )
    else:
        built = build_asking(config.judge, judge, store, clock, metrics, exporters=exporters, on_verdict=on_verdict)
        asking, batching = built.asking, built.batching

    def on_finished() -> None:
        on_verdict()
        if asking is not None:
            asking.poke()

    problem = None if judge else NO_JUDGE
    evaluators: Evaluators
    if config.evaluation.processes:
        evaluators = Apart(
            now,
            metrics,
            exporters=exporters,
            judge_problem=problem,
            inherited=(lock,),
            on_death=journal.clear_readers,
        )
    else:
        evaluators = Here(now, store, journal, clock, exporters=exporters, judge_problem=problem)
    calibrating = _calibrating(config, store, clock, metrics)
    watch = BaselineWatch(store, clock, metrics, hours=config.gates.live_hours)
    return Common(
        evaluators,
        judge,
        asking,
        batching,
        without_judge,
        exporter,
        exporting,
        calibrating,
        watch,
        on_finished,
    )


def build_journal(config: Config, clock: Clock, metrics: Metrics) -> Journal:
    """Opens it: raises `StoreUnavailable`."""
    return Journal(
        config.data_dir / JOURNAL_DIRECTORY,
        journal_settings(config),
        lambda: clock.steady_ns() // 1_000_000,
        metrics.journal_committed,
        metrics.journal_emptied,
    )


def build_parts(
    config: Config, journal: Journal, common: Common, store: Store, clock: Clock, metrics: Metrics
) -> Parts:
    """Everything between the receivers and what is common."""
    book = SessionBook(policy_of(config), clock.steady_ns() // 1_000_000)
    judging = Judging(
        book,
        journal,
        store,
        common.evaluators,
        clock,
        metrics,
        workers=common.evaluators.workers,
        max_waiting=config.evaluation.max_waiting,
        on_finished=common.on_finished,
    )
    limits = Limits(
        pending_bytes=config.receivers.max_pending_bytes,
        in_flight=config.receivers.max_in_flight,
        open_sessions=config.sessions.max_open,
    )
    ingest = Ingest(book, Router(book, marks_of(config)), journal, limits, clock, metrics, judging.add)
    closing = Closing(book, journal, judging, clock, metrics)
    return Parts(book, journal, ingest, closing, judging, Tidying(book, journal, clock, metrics))


def policy_of(config: Config) -> Policy:
    sessions = config.sessions
    return Policy(
        idle_ms=_ms(sessions.idle_seconds),
        max_age_ms=_ms(sessions.max_age_seconds),
        settle_ms=_ms(sessions.settle_seconds),
        late_window_ms=_ms(sessions.late_window_seconds),
        max_spans=sessions.max_spans,
        max_bytes=sessions.max_bytes,
        rate=ceiling(config.sampling.sampling()),
        trace_is_session=sessions.without_id == "trace",
        roots_end=sessions.close_when_roots_ended,
        rules=tuple(
            IdleRule(
                rule.service,
                _ms(sessions.idle_seconds if rule.idle_seconds is None else rule.idle_seconds),
                _ms(sessions.max_age_seconds if rule.max_age_seconds is None else rule.max_age_seconds),
            )
            for rule in sessions.rules
        ),
    )


def marks_of(config: Config) -> Marks:
    """What in the telemetry means more than telemetry, as the configuration has it."""
    marker = config.sessions.end_marker
    return Marks(
        names=session_names(config),
        tenant_attribute=config.receivers.tenant_attribute,
        end_events=marker.events,
        end_attributes=marker.attributes,
    )


def journal_settings(config: Config) -> JournalSettings:
    settings = config.journal
    return JournalSettings(
        segment_bytes=settings.segment_bytes,
        segment_ms=_ms(settings.segment_seconds),
        min_free_bytes=settings.min_free_bytes,
        max_bytes=settings.max_bytes,
    )


def _export(
    config: Config, store: Store, clock: Clock, metrics: Metrics
) -> tuple[OtlpExporter, Exporting] | tuple[None, None]:
    settings = config.export.otlp
    if settings is None:
        return None, None
    exporter = OtlpExporter(settings, version("spanjudge"), redaction_of(config.judge))
    backoff = Backoff(max_s=settings.retry_max_seconds)
    return exporter, Exporting(store, exporter, clock, metrics, backoff=backoff)


def _calibrating(config: Config, store: Store, clock: Clock, metrics: Metrics) -> Calibrating:
    settings = config.calibration
    return Calibrating(
        store,
        clock,
        metrics,
        window_s=settings.window_seconds,
        interval_s=settings.interval_seconds,
        minimum=Minimum(settings.min_labels, settings.min_each),
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
