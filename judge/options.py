"""What a user may set for one evaluator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EvaluatorOptions:
    """`model`, `effort`, `prompt_version` and `system_prompt` matter only to evaluators that ask a judge; None
    leaves the choice to the judge, or to the evaluator's newest prompt. `system_prompt` replaces the prompt's own
    system text, and with it the evaluator's version."""

    enabled: bool = True
    model: str | None = None
    effort: str | None = None
    prompt_version: str | None = None
    system_prompt: str | None = None


DEFAULTS = EvaluatorOptions()
