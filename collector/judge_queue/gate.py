"""May another question be asked now? The circuit, the number at a time, the pace and the budget, in one place."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from collector.judge_metrics import JudgeMetrics
from collector.store.store import Held
from judge.breaker import NOT_AUTHORISED, Circuit
from judge.budget import Refusal
from judge.concurrency import Concurrency, Pace
from judge.errors import JudgeError

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """A question on its way. `probe`: it tries whether the judge is back."""

    began_ns: int
    probe: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why questions wait: a `NotJudged` reason, and the details for people."""

    reason: str
    detail: str


class Gate:
    """Every `begins` is followed by `answered`, `failed` or `abandoned`."""

    def __init__(self, circuit: Circuit, concurrency: Concurrency, pace: Pace, metrics: JudgeMetrics) -> None:
        self._circuit = circuit
        self._concurrency = concurrency
        self._pace = pace
        self._metrics = metrics
        self._refusals: dict[Held, Refusal] = {}
        self._show(0)

    def room(self, now_ns: int, in_flight: int) -> int:
        """How many questions may be taken up, with so many on their way."""
        self._show(now_ns)
        if not self._circuit.may_ask(now_ns):
            return 0
        if self._circuit.state(now_ns) == "half_open":
            return 1
        free = self._concurrency.limit - in_flight
        pace = self._pace.room(now_ns)
        return max(0, free if pace is None else min(free, pace))

    def begins(self, now_ns: int) -> Call | None:
        """None when the circuit opened since there was room."""
        if not self._circuit.may_ask(now_ns):
            return None
        self._pace.begins(now_ns)
        return Call(now_ns, self._circuit.begins(now_ns))

    def answered(self, now_ns: int) -> None:
        if self._circuit.why is not None:
            log.info("judge_answers_again")
        self._circuit.answered()
        self._concurrency.answered()
        self._show(now_ns)

    def failed(self, call: Call, error: JudgeError, now_ns: int) -> bool:
        """True when it counts as an attempt of the question."""
        was_open = self._circuit.why is not None
        counts = self._circuit.failed(error, now_ns, probe=call.probe)
        self._concurrency.overloaded(call.began_ns, now_ns)
        if self._circuit.why is not None and not was_open:
            self._metrics.circuit_opened(error.reason)
            tell = log.error if error.reason == NOT_AUTHORISED else log.warning
            tell("judge_circuit_open", reason=error.reason, detail=error.detail, questions="wait")
        self._show(now_ns)
        return counts

    def abandoned(self, call: Call) -> None:
        """The question was not asked after all."""
        self._circuit.abandoned(probe=call.probe)

    def hold(self, refusal: Refusal, *, high_risk: bool) -> None:
        """The budget has no room for such questions, until its window ends or `spent_less`."""
        held = Held(refusal.limit.evaluator, high_risk)
        if held not in self._refusals:
            log.warning("judge_budget_spent", detail=refusal.detail, evaluator=held.evaluator, high_risk=high_risk)
        self._refusals[held] = refusal

    def spent_less(self) -> None:
        """A call cost less than was set aside for it: there may be room again."""
        self._refusals.clear()

    def held(self, now_ns: int) -> list[Held]:
        self._refusals = {held: refusal for held, refusal in self._refusals.items() if now_ns < refusal.until_ns}
        return list(self._refusals)

    def waiting(self, now_ns: int, evaluator: str | None = None, *, high_risk: bool = False) -> Waiting | None:
        """Why questions, or those of one evaluator, are not asked just now; None when they are."""
        if (why := self._circuit.why) is not None:
            return Waiting(why.reason, why.detail)
        for held in self.held(now_ns):
            if (evaluator is None or held.evaluator in {None, evaluator}) and (held.high_risk or not high_risk):
                return Waiting("budget_spent", self._refusals[held].detail)
        return None

    def _show(self, now_ns: int) -> None:
        self._metrics.circuit(self._circuit.state(now_ns))
        self._metrics.concurrency(self._concurrency.limit)
