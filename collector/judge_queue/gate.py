"""May another question be asked now? The circuits, the number at a time, the pace and the budget, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from collector.judge_metrics import JudgeMetrics
from collector.judge_queue.circuits import Call, Circuits
from collector.store.obstacles import Obstacle
from collector.store.store import Held, OfModel
from judge.breaker import CircuitPolicy
from judge.budget import Refusal
from judge.concurrency import Concurrency, Pace
from judge.errors import JudgeError, JudgeMisconfigured, refuses_model

log = structlog.get_logger(__name__)

MESSAGE_BATCHES = "message batches"
"""In place of a model: the service's taking of batches. It may be refused where single questions are answered."""
_LATELY_NS = 3_600 * 1_000_000_000
"""An answer this old no longer shows that a model can be asked: the configuration may have changed since."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why questions wait: a `NotJudged` reason, and the details for people."""

    reason: str
    detail: str


class Gate:
    """Every `begins` is followed by `answered`, `rejected`, `failed` or `abandoned`. `default_model` is that of
    questions which bring none."""

    def __init__(
        self, policy: CircuitPolicy, concurrency: Concurrency, pace: Pace, metrics: JudgeMetrics, *, default_model: str
    ) -> None:
        self._circuits = Circuits(policy)
        self._concurrency = concurrency
        self._pace = pace
        self._metrics = metrics
        self._default_model = default_model
        self._refusals: dict[Held, Refusal] = {}
        self._answered_ns: dict[str, int] = {}
        self._show(0)

    def room(self, now_ns: int, in_flight: int) -> int:
        """How many questions may be taken up, with so many on their way."""
        self._show(now_ns)
        if not self._circuits.may_ask(now_ns):
            return 0
        if self._circuits.state(now_ns) == "half_open":
            return 1
        free = self._concurrency.limit - in_flight
        pace = self._pace.room(now_ns)
        return max(0, free if pace is None else min(free, pace))

    def begins(self, now_ns: int, model: str, questions: Sequence[str]) -> Call | None:
        """None when a circuit opened since there was room."""
        if not self._circuits.may_ask(now_ns, model):
            return None
        self._pace.begins(now_ns)
        return self._circuits.begins(now_ns, model, questions)

    def answered(self, call: Call, now_ns: int) -> None:
        """The judge did its work, whatever it said."""
        was_open, refused = self._circuits.why is not None, call.model in self._circuits.refused()
        self._circuits.answered(call)
        self._note_answer(call.model, now_ns)
        if was_open or refused:
            log.info("judge_answers_again", model=call.model)
        self._concurrency.answered()
        self._show(now_ns)

    def rejected(self, call: Call, now_ns: int) -> None:
        """The judge works, and will have nothing of this request."""
        self._circuits.rejected(call)
        self._concurrency.answered()
        self._show(now_ns)

    def failed(self, call: Call, error: JudgeError, now_ns: int) -> bool:
        """Unavailable or refused. True when it counts as an attempt of the question."""
        was_open, refused = self._circuits.why is not None, call.model in self._circuits.refused()
        if refuses_model(error):
            counts = self._circuits.refuses(call, error, now_ns)
            if not refused and call.model in self._circuits.refused():
                self._metrics.circuit_opened(error.reason)
                log.error("judge_model_refused", model=call.model, detail=error.detail, questions="of this model wait")
        else:
            counts = self._circuits.failed(call, error, now_ns)
            self._concurrency.overloaded(call.began_ns, now_ns)
            if self._circuits.why is not None and not was_open:
                self._metrics.circuit_opened(error.reason)
                tell = log.error if isinstance(error, JudgeMisconfigured) else log.warning
                tell("judge_circuit_open", reason=error.reason, detail=error.detail, questions="wait")
        self._show(now_ns)
        return counts

    def answered_in_batch(self, model: str, now_ns: int) -> None:
        """A question of this model was answered that was sent long ago."""
        self._circuits.answers(model)
        self._note_answer(model, now_ns)
        self._show(now_ns)

    def refused_in_batch(self, model: str, question: str, error: JudgeError, now_ns: int) -> bool:
        """As `failed`, of a question that was sent long ago."""
        return self.failed(Call(now_ns, model, (question,)), error, now_ns)

    def abandoned(self, call: Call) -> None:
        """The questions were not asked after all."""
        self._circuits.abandoned(call)

    def to_try(self, now_ns: int) -> list[str]:
        """Refused models of which one question may try whether they still are."""
        return [model for model in self._circuits.to_try(now_ns) if model != MESSAGE_BATCHES]

    def tried(self, model: str | None = None) -> frozenset[str]:
        """Ids of questions that tried the judge, or this model, in vain: the next to try is another."""
        return self._circuits.tried(model)

    def start_over(self, model: str | None = None) -> None:
        """All have tried: the first may try again."""
        self._circuits.start_over(model)

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
        """What the budget has no room for."""
        self._refusals = {held: refusal for held, refusal in self._refusals.items() if now_ns < refusal.until_ns}
        return list(self._refusals)

    def refused(self) -> list[OfModel]:
        """The questions whose model is refused."""
        return [one for model in self._circuits.refused() for one in self.of_model(model)]

    def of_model(self, model: str) -> list[OfModel]:
        return [OfModel(model), *([OfModel(None)] if model == self._default_model else [])]

    def obstacles(self, now_ns: int) -> tuple[Obstacle, ...]:
        """All that keeps questions waiting, for those who look from elsewhere: what holds most of them up first."""
        found: list[Obstacle] = []
        if (why := self._circuits.why) is not None:
            found.append(Obstacle(why.reason, why.detail, self._circuits.next_try_ns()))
        for model, error in self._circuits.refused().items():
            until_ns = self._circuits.next_try_ns(model)
            if model == MESSAGE_BATCHES:
                found.append(Obstacle(error.reason, f"{model}: {error.detail}", until_ns, spares_high_risk=True))
                continue
            models = (model, None) if model == self._default_model else (model,)
            found.append(Obstacle(error.reason, f"{model}: {error.detail}", until_ns, models=models))
        for held in self.held(now_ns):
            refusal = self._refusals[held]
            found.append(
                Obstacle(
                    "budget_spent",
                    refusal.detail,
                    refusal.until_ns,
                    evaluator=held.evaluator,
                    spares_high_risk=not held.high_risk,
                )
            )
        return tuple(found)

    def unready(self, now_ns: int) -> Waiting | None:
        """Why nobody can be asked at all: the judge's circuit is open, or models are refused and no other answered
        lately."""
        if (why := self._circuits.why) is not None:
            return Waiting(why.reason, why.detail)
        refused = self._circuits.refused()
        if not refused or self._answered_ns.keys() - refused.keys():
            return None
        told = "; ".join(f"{model}: {error.detail}" for model, error in refused.items())
        reason = next(iter(refused.values())).reason
        return Waiting(reason, told if len(refused) == 1 else f"no other model answers; {told}")

    def waiting(
        self, now_ns: int, evaluator: str | None = None, *, high_risk: bool = False, model: str | None = None
    ) -> Waiting | None:
        """Why questions, or those of one evaluator that bring this model, are not asked just now; None when they
        are."""
        if (why := self._circuits.why) is not None:
            return Waiting(why.reason, why.detail)
        if evaluator is None and (nobody := self.unready(now_ns)) is not None:
            return nobody
        for refused, error in self._circuits.refused().items():
            concerned = not high_risk if refused == MESSAGE_BATCHES else refused == (model or self._default_model)
            if evaluator is None or concerned:
                return Waiting(error.reason, f"{refused}: {error.detail}")
        for held in self.held(now_ns):
            if (evaluator is None or held.evaluator in {None, evaluator}) and (held.high_risk or not high_risk):
                return Waiting("budget_spent", self._refusals[held].detail)
        return None

    def _note_answer(self, model: str, now_ns: int) -> None:
        if model != MESSAGE_BATCHES:  # that a batch is taken says nothing of the models in it
            self._answered_ns[model] = now_ns

    def _show(self, now_ns: int) -> None:
        lately = {model: at_ns for model, at_ns in self._answered_ns.items() if now_ns - at_ns < _LATELY_NS}
        self._answered_ns = lately
        self._metrics.ready(self.unready(now_ns) is None)
        self._metrics.circuit(self._circuits.state(now_ns))
        self._metrics.models_refused(len(self._circuits.refused()))
        self._metrics.concurrency(self._concurrency.limit)
