"""Builds what asks the judge, from the configuration; nothing runs yet."""

from __future__ import annotations

import os
import random
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from collector.asking import Asking
from collector.clock import Clock
from collector.judge_config import BudgetLimits, JudgeSettings
from collector.judge_queue.batch_collecting import BatchCollecting
from collector.judge_queue.batch_judge import BatchJudge, BatchRules
from collector.judge_queue.batch_sending import BatchSending
from collector.judge_queue.batching import Batching, LettingGo
from collector.judge_queue.expiring import Expiring, WithoutJudge
from collector.judge_queue.gate import Gate, Waiting
from collector.judge_queue.keeping import Keeping
from collector.judge_queue.preparing import Preparing
from collector.judge_queue.settling import Settling
from collector.judge_queue.terms import Terms
from collector.judge_queue.turns import Turns
from collector.metrics import Metrics
from collector.secret_text import token_fault
from collector.store.store import Store
from collector.tls.errors import CredentialsUnusable
from collector.tls.material import load_authorities
from judge.breaker import CircuitPolicy
from judge.budget import Budget, Limit
from judge.concurrency import Concurrency, Pace
from judge.prices import NANO
from judge.question import Judge
from judge.redaction import NOTHING, Redaction
from judge.retry import RetryPolicy
from judge.verdict import NotJudged

if TYPE_CHECKING:  # a large library: half of the time a start takes, and wanted only where there is a judge to ask
    from judge.clients.anthropic import AnthropicJudge
    from judge.clients.connections import Place

_KEY_VARIABLE = "ANTHROPIC_API_KEY"


@dataclass(frozen=True, slots=True)
class AskingParts:
    """`batching` sends questions in batches if the configuration says so, and deals with those on their way."""

    asking: Asking
    batching: Batching | LettingGo


def build_judge(settings: JudgeSettings) -> AnthropicJudge | None:
    """None without a key: then nobody can be asked. Raises `CredentialsUnusable`."""
    place = _place(settings)
    if place is None:
        return None

    from judge.clients.anthropic import AnthropicJudge
    from judge.clients.connections import connect

    return AnthropicJudge(
        settings.model,
        settings.effort,
        settings.max_output_tokens,
        settings.timeout_seconds,
        thinking=settings.thinking,
        client=connect(place, _authorities(settings)),
    )


def build_asking(
    settings: JudgeSettings,
    judge: AnthropicJudge,
    store: Store,
    clock: Clock,
    metrics: Metrics,
    *,
    exporters: Sequence[str],
    on_verdict: Callable[[], None],
) -> AskingParts:
    terms = terms_of(settings)
    gate = Gate(
        circuit_policy(settings),
        Concurrency(settings.concurrency),
        Pace(settings.questions_per_minute),
        metrics.judge,
        default_model=settings.model,
    )
    settling = Settling(store, clock, metrics, exporters=exporters, on_verdict=on_verdict)
    jitter = random.Random()  # noqa: S311 - spreads retries, keeps no secrets
    keeping = Keeping(store, gate, settling, terms, clock, metrics, jitter=jitter)
    preparing = Preparing(terms, settings.model)
    ask: Judge = judge
    turns = Turns(ask, gate, keeping, settling, preparing, clock, metrics)
    batches = settings.batches
    asking = Asking(store, turns, gate, settling, terms, clock, metrics, only_high_risk=batches.enabled)
    if settings.provider != "anthropic":
        return AskingParts(asking, LettingGo(store.ledger))

    from judge.clients.anthropic_batches import AnthropicBatches

    rules = BatchRules(
        batches.max_wait_seconds, batches.max_questions, batches.max_open, batches.poll_seconds, batches.enabled
    )
    service: BatchJudge = AnthropicBatches(judge)
    sending = BatchSending(store, service, gate, keeping, settling, preparing, rules, clock, lambda: asking.in_flight)
    collecting = BatchCollecting(store, service, gate, keeping, settling, clock, metrics)
    return AskingParts(asking, Batching(store.ledger, sending, collecting, rules, metrics))


def build_without_judge(
    settings: JudgeSettings,
    problem: NotJudged,
    store: Store,
    clock: Clock,
    metrics: Metrics,
    *,
    exporters: Sequence[str],
    on_verdict: Callable[[], None],
) -> WithoutJudge:
    """What becomes of questions that an earlier configuration left behind. Batches on their way are left to a judge
    that may be configured in time."""
    settling = Settling(store, clock, metrics, exporters=exporters, on_verdict=on_verdict)
    why = Waiting(problem.reason, problem.detail)
    expiring = Expiring(
        store, settling, metrics, lambda _pending, _now_ns: why, max_wait_s=settings.max_wait_seconds, in_batches=True
    )
    return WithoutJudge(expiring, store, why, clock)


def terms_of(settings: JudgeSettings) -> Terms:
    return Terms(
        retry=RetryPolicy(max_attempts=settings.max_attempts, max_s=settings.retry_max_seconds),
        budget=budget_of(settings),
        price_of=settings.price_of,
        redaction=redaction_of(settings),
        manner=f"{settings.effort} {settings.thinking}",
        max_output_tokens=settings.max_output_tokens,
        max_wait_s=settings.max_wait_seconds,
        answer_cache_s=settings.answer_cache_seconds,
    )


def redaction_of(settings: JudgeSettings) -> Redaction:
    """What is masked before text leaves the process; for the page and exports too."""
    redaction = settings.redaction
    if not redaction.enabled:
        return NOTHING
    return Redaction(redaction.patterns, redaction.keys, defaults=redaction.defaults)


def circuit_policy(settings: JudgeSettings) -> CircuitPolicy:
    circuit = settings.circuit
    return CircuitPolicy(circuit.failures, circuit.first_seconds, circuit.max_seconds)


def budget_of(settings: JudgeSettings) -> Budget:
    budget = settings.budget
    limits = list(_limits(budget, None))
    for evaluator, own in budget.evaluators.items():
        limits += _limits(own, evaluator)
    return Budget(tuple(limits), budget.high_risk_share)


def _limits(limits: BudgetLimits, evaluator: str | None) -> Iterator[Limit]:
    if limits.dollars_per_hour is not None:
        yield Limit("hour", "dollars", round(limits.dollars_per_hour * NANO), evaluator)
    if limits.dollars_per_day is not None:
        yield Limit("day", "dollars", round(limits.dollars_per_day * NANO), evaluator)
    if limits.tokens_per_hour is not None:
        yield Limit("hour", "tokens", limits.tokens_per_hour, evaluator)
    if limits.tokens_per_day is not None:
        yield Limit("day", "tokens", limits.tokens_per_day, evaluator)


def _authorities(settings: JudgeSettings) -> ssl.SSLContext | None:
    """None for the well-known ones. Raises `CredentialsUnusable`."""
    if settings.ca_file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    load_authorities(context, settings.ca_file, "judge.ca_file")
    return context


def _key_of_environment() -> str:
    """ "" without one. Raises `CredentialsUnusable`."""
    key = os.environ.get(_KEY_VARIABLE, "").strip()
    if key and (fault := token_fault(key)):
        raise CredentialsUnusable(f"{_KEY_VARIABLE} {fault}")
    return key


def _place(settings: JudgeSettings) -> Place | None:
    key = settings.api_key.get_secret_value() if settings.api_key else _key_of_environment()
    if settings.provider == "anthropic" and not key:
        return None

    from judge.clients.connections import AnthropicApi, Bedrock, Vertex

    match settings.provider:
        case "bedrock" if bedrock := settings.bedrock:
            own = bedrock.api_key.get_secret_value() if bedrock.api_key else None
            return Bedrock(bedrock.region, own, bedrock.profile, settings.base_url)
        case "vertex" if vertex := settings.vertex:
            token = vertex.access_token.get_secret_value() if vertex.access_token else None
            return Vertex(vertex.project_id, vertex.region, token, settings.base_url)
    return AnthropicApi(key, settings.base_url) if key else None
