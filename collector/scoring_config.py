"""The `composite` and `gates` sections of the configuration: what whole sessions, and agent versions, are held to."""

from __future__ import annotations

from pydantic import Field, model_validator

from collector.config_section import Ratio, Section
from judge.composite import CompositeRules
from judge.gates import GateRules


class CompositeSettings(Section):
    """One score for a session, from three parts. Parts that do not apply drop out, and the rest is weighted anew."""

    selection: float = Field(0.45, ge=0, allow_inf_nan=False, description="weight: was the right skill chosen")
    adherence: float = Field(0.35, ge=0, allow_inf_nan=False, description="weight: was what it prescribes done")
    answer: float = Field(0.20, ge=0, allow_inf_nan=False, description="weight: is the answer right")
    pass_total: Ratio = Field(0.85, description="least total that passes")
    pass_selection: Ratio = Field(1.0, description="least selection that passes, whatever the total")

    @model_validator(mode="after")
    def _something_weighs(self) -> CompositeSettings:
        if self.selection + self.adherence + self.answer <= 0:
            raise ValueError("selection, adherence and answer are all 0: one must weigh something")
        return self

    def rules(self) -> CompositeRules:
        return CompositeRules(self.selection, self.adherence, self.answer, self.pass_total, self.pass_selection)


class GateSettings(Section):
    """When `spanjudge suite run` and `spanjudge gate` say no; see docs/baselines.md."""

    min_pass_rate: Ratio = Field(1.0, description="share of judged cases that must pass")
    min_adherence: Ratio = Field(0.85, description="least mean adherence")
    level: float = Field(0.05, gt=0, lt=1, description="chance of a false alarm, for all rates of a gate together")
    min_sample: int = Field(20, ge=1, description="sessions, on both sides, below which a rate is not tested")
    live_hours: int = Field(24, ge=1, le=720, description="live traffic that is compared with the current baseline")

    def rules(self) -> GateRules:
        return GateRules(self.min_pass_rate, self.min_adherence, self.level, self.min_sample)
