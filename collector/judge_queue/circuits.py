"""The circuits of the judge and of each of its models that was refused, and which questions tried them in vain. Pure.

A refused model stops its own questions and nobody else's. The first question in line is not the one that tries for
ever: were it the one that the judge cannot bear, nobody would find out that the judge is back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judge.breaker import Circuit, CircuitPolicy, State
from judge.errors import JudgeError

_REMEMBERED = 1_000
"""Questions that are passed over at most, for each circuit."""


@dataclass(frozen=True, slots=True)
class Call:
    """Questions on their way together; a batch has many. `probe`: they try whether the judge is back, `model_probe`:
    whether their model is."""

    began_ns: int
    model: str
    questions: tuple[str, ...]
    probe: bool = False
    model_probe: bool = False


@dataclass(slots=True)
class _Refused:
    """A model that was refused, or was until lately. `suspects` were refused while others were answered later."""

    circuit: Circuit
    tried: dict[str, None] = field(default_factory=dict)
    suspects: dict[str, None] = field(default_factory=dict)


class Circuits:
    """Every `begins` is followed by `answered`, `failed` or `abandoned`. Questions are named by their ids."""

    def __init__(self, policy: CircuitPolicy) -> None:
        self._policy = policy
        self._judge = Circuit(policy)
        self._tried: dict[str, None] = {}
        self._models: dict[str, _Refused] = {}

    @property
    def why(self) -> JudgeError | None:
        """The error that keeps all questions waiting."""
        return self._judge.why

    def next_try_ns(self, model: str | None = None) -> int | None:
        """When the judge, or this refused model, is tried again; None for one that is not held up."""
        if model is None:
            return self._judge.next_try_ns
        own = self._models.get(model)
        return own.circuit.next_try_ns if own else None

    def state(self, now_ns: int) -> State:
        return self._judge.state(now_ns)

    def refused(self) -> Mapping[str, JudgeError]:
        """The models whose questions wait, and why."""
        return {model: why for model, own in self._models.items() if (why := own.circuit.why) is not None}

    def may_ask(self, now_ns: int, model: str | None = None) -> bool:
        """Without a model: whether there is any sense in asking at all."""
        own = self._models.get(model) if model is not None else None
        return self._judge.may_ask(now_ns) and (own is None or own.circuit.may_ask(now_ns))

    def to_try(self, now_ns: int) -> list[str]:
        """Refused models of which one question may try whether they still are."""
        return [model for model in self.refused() if self._models[model].circuit.may_ask(now_ns)]

    def tried(self, model: str | None = None) -> frozenset[str]:
        """Questions that tried the judge, or this model of it, in vain: the next to try is another."""
        return frozenset(self._tried if model is None else self._models[model].tried)

    def start_over(self, model: str | None = None) -> None:
        """All have tried: the first may try again."""
        (self._tried if model is None else self._models[model].tried).clear()

    def begins(self, now_ns: int, model: str, questions: Sequence[str]) -> Call:
        own = self._models.get(model)
        probe = self._judge.begins(now_ns)
        return Call(now_ns, model, tuple(questions), probe, own is not None and own.circuit.begins(now_ns))

    def answered(self, call: Call) -> None:
        """The judge did its work for this model, whatever it said."""
        self._judge_works()
        self.answers(call.model)

    def answers(self, model: str) -> None:
        """A question of this model was answered."""
        if own := self._models.get(model):
            own.circuit.answered()
            _remember(own.suspects, tuple(own.tried))
            own.tried.clear()

    def rejected(self, call: Call) -> None:
        """This request was rejected, or its model refused: the judge works."""
        self._judge_works()
        self._leave_model(call)

    def failed(self, call: Call, error: JudgeError, now_ns: int) -> bool:
        """`JudgeUnavailable`, or a refused account. True when it counts as an attempt of the question."""
        counts = self._judge.failed(error, now_ns, probe=call.probe)
        self._leave_model(call)
        if not counts:
            _remember(self._tried, call.questions)
        return counts

    def refuses(self, call: Call, error: JudgeError, now_ns: int) -> bool:
        """The model was refused. True when that counts as an attempt of the question: it was refused before, others
        were answered since, so it is not the model."""
        self._judge_works()
        own = self._models.setdefault(call.model, _Refused(Circuit(self._policy)))
        if call.questions and all(question in own.suspects for question in call.questions):
            own.circuit.abandoned(probe=call.model_probe)
            return True
        own.circuit.failed(error, now_ns, probe=call.model_probe)
        _remember(own.tried, call.questions)
        return False

    def abandoned(self, call: Call) -> None:
        """The questions were not asked after all."""
        self._judge.abandoned(probe=call.probe)
        self._leave_model(call)

    def _judge_works(self) -> None:
        self._judge.answered()
        self._tried.clear()

    def _leave_model(self, call: Call) -> None:
        if own := self._models.get(call.model):
            own.circuit.abandoned(probe=call.model_probe)


def _remember(questions: dict[str, None], more: Sequence[str]) -> None:
    questions.update(dict.fromkeys(more))
    for oldest in list(questions)[: max(0, len(questions) - _REMEMBERED)]:
        del questions[oldest]
