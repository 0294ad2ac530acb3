"""What a user may set for one evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from judge.prices import ModelPrice
from judge.redaction import NOTHING, Redaction
from judge.suites import Match

MAX_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class EvaluatorOptions:
    """`model`, `effort`, `prompt_version`, `system_prompt`, `votes` and `max_questions` matter only to evaluators that
    ask a judge; None leaves the choice to the judge, or to the evaluator's newest prompt. `system_prompt` replaces
    the prompt's own system text, and with it the evaluator's version.

    `only` says which sessions are looked at, `ask` whether a judge is asked where code cannot decide. `prices` (model
    pattern → price) are for `budgets`; `allow` (patterns of values) and `kinds` for `sensitive_data`. `redaction` is
    not set for one evaluator: it is everybody's (see `catalog.build`).
    """

    enabled: bool = True
    model: str | None = None
    effort: str | None = None
    prompt_version: str | None = None
    system_prompt: str | None = None
    votes: int = 1
    max_questions: int = MAX_QUESTIONS
    only: Match | None = None
    ask: bool = False
    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    kinds: tuple[str, ...] | None = None
    redaction: Redaction = NOTHING

    @property
    def given(self) -> tuple[str, ...]:
        """The names of options that differ from what is usual."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != getattr(DEFAULTS, one.name))


DEFAULTS = EvaluatorOptions()

ALWAYS = frozenset({"enabled", "only"})
ASKING = ALWAYS | {"model", "effort", "prompt_version", "system_prompt", "votes", "max_questions"}
"""Options of an evaluator that asks a judge."""
