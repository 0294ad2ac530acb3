"""The configuration file: every key, its default, its meaning. Values are checked all at once; see `load_config`.

A path in the file is taken relative to the file. `${env:NAME}` and `${env:NAME:-default}` stand for environment
variables in any text value.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator

from collector.access.settings import AccessSettings
from collector.config_section import Seconds, Section, paths_from
from collector.judge_config import JudgeSettings
from collector.kafka.settings import KafkaSettings
from collector.page.settings import PageSettings
from collector.sampling_config import SamplingSettings
from collector.scoring_config import CompositeSettings, GateSettings
from collector.secret_text import header_fault
from collector.tls_config import ExportTls, ListenerTls, ReceiverAuth
from judge.documents import DocumentError, Problem, parse_document
from judge.options import MAX_QUESTIONS
from judge.suites import Match

SESSION_ALIASES = (
    "gen_ai.conversation.id",
    "conversation.id",
    "gcp.vertex.agent.session_id",
    "lmnr.association.properties.session_id",
    "traceloop.association.properties.session_id",
)
"""Attributes that name a session where `session.id` does not, strongest first."""

SCOPE_NAMES: dict[str, tuple[str, ...]] = {"codex": ("conversation.id", "thread_id")}
"""Codex calls the sandbox of a script `session.id`; the conversation has its own name."""


class Listener(Section):
    listen: str = Field(description="address:port; port 0 takes a free one")
    enabled: bool = True
    tls: ListenerTls | None = None

    @field_validator("listen")
    @classmethod
    def _is_an_address(cls, listen: str) -> str:
        host, _, port = listen.rpartition(":")
        # gRPC takes 70000 for another port, and says nothing.
        if not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
            raise ValueError("must be address:port, with a port from 0 to 65535, as 127.0.0.1:4317")
        return listen


class Receivers(Section):
    """Where OTLP comes in, and how much of it may wait."""

    grpc: Listener = Listener(listen="127.0.0.1:4317")
    http: Listener = Listener(listen="127.0.0.1:4318")
    max_request_bytes: int = Field(64 * 1024 * 1024, gt=0, le=2**30, description="per request, after inflation")
    max_pending_bytes: int = Field(256 * 1024 * 1024, gt=0, description="accepted and not yet on disk")
    max_receiving: int = Field(
        16,
        gt=0,
        description="gRPC requests whose bytes are coming in, each up to max_request_bytes; others wait to send",
    )
    max_in_flight: int = Field(512, gt=0, description="requests waiting for the disk")
    tenant_header: str | None = Field(None, description="request header that names the tenant of all in the request")
    tenant_attribute: str | None = Field(
        None, min_length=1, description="resource attribute that names the tenant where no header does"
    )
    auth: ReceiverAuth | None = None

    @field_validator("grpc")
    @classmethod
    def _speaks_what_its_library_can(cls, grpc: Listener) -> Listener:
        if grpc.tls is not None and grpc.tls.min_version == "1.3":
            raise ValueError("tls.min_version: gRPC takes TLS 1.2 too, and cannot be told not to: leave this out")
        return grpc

    @model_validator(mode="after")
    def _one_request_fits(self) -> Receivers:
        if self.max_pending_bytes < self.max_request_bytes:
            raise ValueError(
                f"max_pending_bytes ({self.max_pending_bytes}) must be at least max_request_bytes "
                f"({self.max_request_bytes}), or the largest requests are refused for ever"
            )
        return self


class EndMarker(Section):
    """What tells that a session is over."""

    events: tuple[str, ...] = Field(("session.end",), description="names of log events or span events")
    attributes: tuple[str, ...] = Field((), description="span or record attributes; any value but false counts")


class SessionRule(Section):
    """Other times for the sessions of some services."""

    service: str = Field(min_length=1, description="service.name, or a pattern of names: desk-*")
    idle_seconds: Seconds | None = Field(None, description="instead of sessions.idle_seconds")
    max_age_seconds: Seconds | None = Field(None, description="instead of sessions.max_age_seconds")


class Sessions(Section):
    """What belongs to one session and when it is over. All times are by SpanJudge's clock."""

    idle_seconds: Seconds = Field(300, description="close after this long without telemetry")
    max_age_seconds: Seconds = Field(14_400, description="close this long after the first telemetry")
    settle_seconds: float = Field(
        2, ge=0, allow_inf_nan=False, description="wait this long after an end marker for the rest"
    )
    late_window_seconds: float = Field(
        600, ge=0, allow_inf_nan=False, description="telemetry this long after closing reopens"
    )
    close_when_roots_ended: bool = Field(
        False, description="close, after settle_seconds, when each trace of the session has its root span"
    )
    rules: tuple[SessionRule, ...] = Field(
        (), description="times by service, the first that matches; where several services feed a session the longest"
    )
    max_spans: int = Field(
        20_000,
        gt=0,
        le=1_000_000_000,
        description="close a session that grows past this, and take no more of it; a trace that only its resource "
        "gives to the session counts as one",
    )
    max_bytes: int = Field(
        256 * 1024 * 1024,
        gt=0,
        le=2**31,
        description="close a session that grows past this, and take no more of it; a closing reads no more than this "
        "of its traces, nor of the sessions that share them, and tells what it left out",
    )
    max_open: int = Field(2_000_000, gt=0, description="refuse new telemetry above this many open sessions")
    without_id: Literal["trace", "drop"] = Field("trace", description="what to do with traces no id names")
    aliases: tuple[str, ...] = Field(SESSION_ALIASES, description="used where session.id is missing")
    scope_names: dict[str, tuple[str, ...]] = Field(
        SCOPE_NAMES, description="by beginning of the scope's name: what names a session there instead"
    )
    end_marker: EndMarker = EndMarker()

    @model_validator(mode="after")
    def _age_covers_idle(self) -> Sessions:
        if self.max_age_seconds < self.idle_seconds:
            raise ValueError(
                f"max_age_seconds ({self.max_age_seconds:g}) must be at least idle_seconds ({self.idle_seconds:g})"
            )
        for rule in self.rules:
            idle = self.idle_seconds if rule.idle_seconds is None else rule.idle_seconds
            age = self.max_age_seconds if rule.max_age_seconds is None else rule.max_age_seconds
            if age < idle:
                raise ValueError(
                    f"rules: for {rule.service!r} max_age_seconds ({age:g}) must be at least idle_seconds ({idle:g})"
                )
        return self


class Evaluation(Section):
    """Where closed sessions are read and judged by code."""

    processes: int = Field(
        1, ge=0, le=64, description="processes for it, so that ingest never waits; 0: within the one process"
    )
    timeout_seconds: Seconds = Field(
        120, description="a process busy with one session this long is ended; after two the session is unreadable"
    )
    max_waiting: int = Field(
        2_000, gt=0, description="above this many closed sessions waiting, the others stay open until there is room"
    )


class Journal(Section):
    """Where telemetry waits, durably, until its session is judged."""

    segment_bytes: int = Field(1024 * 1024 * 1024, ge=1024 * 1024, description="start a new file at this size")
    segment_seconds: Seconds = Field(900, description="start a new file at this age")
    max_bytes: int = Field(20 * 1024**3, gt=0, description="refuse telemetry above this much on disk")
    min_free_bytes: int = Field(512 * 1024 * 1024, ge=0, description="refuse telemetry below this much free")


class StoreSettings(Section):
    """Where verdicts are kept. Several replicas share one PostgreSQL; without `url` it is a file in `data_dir`."""

    url: SecretStr | None = Field(None, description="postgresql://user:password@host:5432/database, encoded in UTF8")
    pool_size: int = Field(5, ge=1, le=100, description="connections to read by; two more write")
    connect_timeout_seconds: Seconds = 5
    statement_timeout_seconds: Seconds = Field(30, description="longest wait for one statement, or for a connection")
    lease_seconds: Seconds = Field(
        600, description="what a replica took to ask or to send is left to it for this long, if it does not end before"
    )

    @field_validator("url")
    @classmethod
    def _names_a_postgresql(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            from collector.store.postgres_url import postgres_url  # slow, and seldom needed

            postgres_url(url.get_secret_value())
        return url


class Price(Section):
    """Dollars for a million tokens. Cached input counts as input."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)


class EvaluatorSettings(Section):
    """Settings of one evaluator; what is left out comes from `judge`. Not every evaluator takes every key."""

    enabled: bool = True
    only: Match | None = Field(None, description="look at these sessions only; the same keys as match in suites")
    model: str | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    prompt_version: str | None = None
    system_prompt: str | None = Field(None, description="replaces the evaluator's own system prompt")
    votes: int = Field(1, ge=1, le=15, description="ask this often, and go by the majority; an odd number")
    max_questions: int = Field(MAX_QUESTIONS, ge=1, description="most questions about one session; the rest are told")
    ask: bool = Field(False, description="ask the judge where code cannot decide (three evaluators)")
    prices: dict[str, Price] = Field(
        default_factory=dict, description="budgets: model name, or a pattern of names → price"
    )
    allow: tuple[str, ...] = Field((), description="sensitive_data: patterns of values that are no findings")
    kinds: tuple[str, ...] | None = Field(None, description="sensitive_data: what to look for")

    @model_validator(mode="after")
    def _votes_can_be_decided(self) -> EvaluatorSettings:
        if self.votes % 2 == 0:
            raise ValueError(f"votes ({self.votes}) must be odd: an even number can be a tie")
        return self


class OtlpExport(Section):
    """Where verdict spans and `gen_ai.evaluation.result` events go: your Collector's verdict pipeline."""

    endpoint: str = Field(description="http://host:4317 for grpc, http://host:4318 for http/protobuf; https:// for TLS")
    protocol: Literal["grpc", "http/protobuf"] = "grpc"
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    bearer_token_file: Path | None = Field(
        None, description="file with a token, sent as authorization: Bearer TOKEN; read again when it changes"
    )
    tls: ExportTls | None = None
    timeout_seconds: Seconds = 10
    retry_max_seconds: Seconds = 60
    spans: bool = True
    events: bool = True

    @field_validator("endpoint")
    @classmethod
    def _keeps_secrets_elsewhere(cls, endpoint: str) -> str:
        if "@" in endpoint.partition("://")[2].partition("/")[0]:  # it is shown at the start and in messages
            raise ValueError("must hold no user or password: put them into headers")
        return endpoint

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        faults = [fault for name, value in headers.items() if (fault := header_fault(name, value.get_secret_value()))]
        if faults:
            raise ValueError("; ".join(faults))
        return headers

    @field_validator("bearer_token_file")
    @classmethod
    def _is_the_only_authorization(cls, file: Path | None, info: ValidationInfo) -> Path | None:
        if file is not None and any(name.lower() == "authorization" for name in info.data.get("headers", {})):
            raise ValueError("headers has an authorization already: remove one of them")
        return file

    @field_validator("tls")
    @classmethod
    def _is_used(cls, tls: ExportTls | None, info: ValidationInfo) -> ExportTls | None:
        if tls is not None and not info.data.get("endpoint", "https://").startswith("https://"):
            raise ValueError("is not used with an endpoint that does not begin with https://: write that, or remove it")
        return tls


class Retention(Section):
    """How long closed sessions and their verdicts stay, and how many. Labels and baselines are copies and stay."""

    days: float = Field(30, gt=0, allow_inf_nan=False, description="delete sessions that closed this long ago")
    max_bytes: int | None = Field(
        None,
        ge=1024 * 1024,
        description="delete the oldest sessions while the verdict store uses more than this; never those with open "
        "questions or verdicts to be sent, nor what closed within an hour and sessions.late_window_seconds",
    )


class Export(Section):
    otlp: OtlpExport | None = None


class Calibration(Section):
    """When people's labels are trusted, and how pass rates are worked out for the metrics."""

    window_seconds: Seconds = Field(604_800, description="rates are of sessions closed within this long")
    interval_seconds: Seconds = Field(300, description="work the rates out anew this often")
    min_labels: int = Field(30, ge=1, description="labelled verdicts it takes to say how accurate an evaluator is")
    min_each: int = Field(10, ge=1, description="of them, how many people must say pass, and how many fail")


class Log(Section):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


Role = Literal["all", "receiver", "router", "worker"]


class Config(Section):
    """The whole file. Every key may be left out."""

    data_dir: Path = Field(Path("data"), description="journal and verdicts live here")
    store: StoreSettings = StoreSettings()
    receivers: Receivers = Receivers()
    admin: Listener = Listener(listen="127.0.0.1:9464")
    access: AccessSettings = AccessSettings()
    page: PageSettings = PageSettings()
    sessions: Sessions = Sessions()
    sampling: SamplingSettings = SamplingSettings()
    journal: Journal = Journal()
    evaluation: Evaluation = Evaluation()
    suites: tuple[str, ...] = Field((), description="files of expectations; globs are allowed")
    rubrics: tuple[str, ...] = Field((), description="files with criteria of your own; globs are allowed")
    evaluators: dict[str, EvaluatorSettings] = Field(default_factory=dict)
    judge: JudgeSettings = JudgeSettings()
    composite: CompositeSettings = CompositeSettings()
    gates: GateSettings = GateSettings()
    export: Export = Export()
    calibration: Calibration = Calibration()
    retention: Retention = Retention()
    log: Log = Log()
    shutdown_seconds: Seconds = Field(20, description="finish within this long after SIGTERM")
    kafka: KafkaSettings | None = None
    role: Role = Field("all", description="which part of the work this process does; with kafka only, but for all")

    @field_validator("role")
    @classmethod
    def _has_kafka(cls, role: Role, info: ValidationInfo) -> Role:
        if role != "all" and "kafka" in info.data and info.data["kafka"] is None:
            raise ValueError(f"{role} works through Kafka: add kafka.bootstrap_servers, or set role to all")
        receivers = info.data.get("receivers")
        if role == "receiver" and receivers and not (receivers.grpc.enabled or receivers.http.enabled):
            raise ValueError("a receiver with receivers.grpc and receivers.http off takes nothing: enable one of them")
        return role

    @model_validator(mode="after")
    def _asking_ends_before_its_lease(self) -> Config:
        if self.store.url is not None and self.store.lease_seconds <= self.judge.timeout_seconds:
            raise ValueError(
                f"store.lease_seconds ({self.store.lease_seconds:g}) must be more than judge.timeout_seconds "
                f"({self.judge.timeout_seconds:g}): another replica would ask what is being asked"
            )
        return self

    @model_validator(mode="after")
    def _every_model_asked_has_its_price(self) -> Config:
        models = sorted({entry.model for entry in self.evaluators.values() if entry.enabled and entry.model})
        if problems := [problem for model in models for problem in self.judge.price_problems(model)]:
            raise ValueError("; ".join(f"judge: {problem}" for problem in problems))
        return self


def load_config(path: Path, environment: Mapping[str, str]) -> Config:
    """The configuration in a YAML file, its paths made absolute from where the file stands.

    Raises `DocumentError` with every problem: file, line, key, and how to mend it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError((Problem(str(path), 1, "", f"the file cannot be read: {error}"),)) from error
    if not text.strip():  # as while it is being written; it must not put the defaults into force
        raise DocumentError((Problem(str(path), 1, "", "the file is empty; for the defaults write {}"),))
    return made_absolute(parse_document(text, str(path), Config, environment), path)


def made_absolute(config: Config, file: Path) -> Config:
    """The configuration that stands in the file, with its paths taken from there."""
    base = file.resolve().parent
    suites, rubrics = (tuple(str(base / pattern) for pattern in each) for each in (config.suites, config.rubrics))
    return paths_from(config, base).model_copy(update={"suites": suites, "rubrics": rubrics})
