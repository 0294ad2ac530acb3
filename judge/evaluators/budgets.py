"""Did the session stay within the suite's limits on time, tokens, calls and money?

Scale: `within` 1, `over` 0. Money is tokens times the prices of `evaluators.budgets.prices`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from extractors.trajectory import Step, Trajectory
from judge.evaluators.cases import case_verdicts
from judge.options import DEFAULTS, EvaluatorOptions
from judge.prices import NANO, ModelPrice, Usage, nano_dollars, price_of
from judge.suites import Case
from judge.verdict import NotJudged, Outcome, Score, Verdict

SECOND_NS = 1_000_000_000

Used = tuple[float, str | None]
"""What was used, as far as is known, and what is not known; None: everything is."""


class BudgetsKept:
    """One limit passed decides; otherwise every limit must be known to be kept."""

    id = "budgets"
    version = "2"

    def __init__(self, options: EvaluatorOptions = DEFAULTS, _transcript_tokens: int = 0) -> None:
        self._prices = options.prices

    def plan(self, trajectory: Trajectory, cases: Sequence[Case]) -> Sequence[Verdict]:
        return case_verdicts(self, trajectory, cases, self._outcome, "no case limits time, tokens, calls or money")

    def _outcome(self, trajectory: Trajectory, case: Case) -> Outcome | None:
        budgets = case.budgets
        limits: dict[str, tuple[float | None, Callable[[Trajectory], Used]]] = {
            "seconds": (budgets.seconds, _seconds),
            "tokens": (budgets.tokens, _tokens),
            "tool calls": (budgets.tool_calls, _calls),
            "dollars": (budgets.dollars, self._dollars),
        }
        used = {name: (limit, use(trajectory)) for name, (limit, use) in limits.items() if limit is not None}
        return _compared(used) if used else None

    def _dollars(self, trajectory: Trajectory) -> Used:
        costs = [_cost(step, self._prices) for step in trajectory.steps]
        missing = next((gap for _, gap in costs if gap), None if costs else "no model turn was recorded")
        return round(sum(cost for cost, _ in costs), 6), missing


def _compared(used: Mapping[str, tuple[float, Used]]) -> Outcome:
    over, unknown, within = [], [], []
    for name, (limit, (spent, gap)) in used.items():
        text = f"{spent:g} of {limit:g} {name}"
        if spent > limit:
            over.append(text)
        elif gap is not None:
            unknown.append(f"{name} (at least {spent:g}: {gap})")
        else:
            within.append(text)
    if over:
        return Score(0.0, "over", f"over budget: {', '.join(over)}")
    if unknown:
        return NotJudged("content_not_recorded", f"not known for the whole session: {', '.join(unknown)}")
    return Score(1.0, "within", f"used {', '.join(within)}")


def _seconds(trajectory: Trajectory) -> Used:
    """From the first telemetry to the last."""
    if not 0 < trajectory.started_ns <= trajectory.ended_ns:
        return 0.0, "times were not recorded"
    return (trajectory.ended_ns - trajectory.started_ns) / SECOND_NS, None


def _tokens(trajectory: Trajectory) -> Used:
    """Input and output of all model turns that state them."""
    counts = [count for step in trajectory.steps for count in (step.input_tokens, step.output_tokens)]
    known = [count for count in counts if count is not None]
    complete = bool(counts) and len(known) == len(counts)
    return float(sum(known)), None if complete else "not every model turn states its tokens"


def _calls(trajectory: Trajectory) -> Used:
    return float(len(trajectory.tool_calls)), None


def _cost(step: Step, prices: Mapping[str, ModelPrice]) -> Used:
    """Dollars for one model turn. Cached input is counted at the price of input: telemetry rarely tells it apart."""
    model = step.model_answered or step.model_requested
    if model is None:
        return 0.0, "a model turn does not name its model"
    price = price_of(prices, model)
    if price is None:
        return 0.0, f"evaluators.budgets.prices has no price for {model}"
    cost = nano_dollars(price, Usage(fresh=step.input_tokens or 0, output=step.output_tokens or 0)) / NANO
    known = step.input_tokens is not None and step.output_tokens is not None
    return cost, None if known else "not every model turn states its tokens"
