"""The `sampling` section of the configuration file."""

from __future__ import annotations

from pydantic import Field, model_validator

from collector.config_section import Ratio, Section
from collector.sampling import Keep, KeepWhen, SamplingRule, SamplingRules
from judge.suites import Match, Name, Texts


class SamplingRuleSettings(Section):
    """Sessions that match, and the share of them to keep."""

    name: Name = Field(description="what `spanjudge explain` calls the rule")
    match: Match = Field(description="the same keys as match in suites: service, agent, version, attributes, ...")
    rate: Ratio


class KeepSettings(Section):
    """Sessions to keep whatever their rate. All that arrives is then stored until its session is closed."""

    when: tuple[KeepWhen, ...] = Field(
        (),
        description="`errors` (of tools, models, agents), `refused_skill`, `high_risk` (a case of that risk is about "
        "the session), `budget_exceeded`, `forbidden_event`",
    )
    skills: Texts = Field((), description="sessions that ask for one of these skills; `*` stands for any text")
    failed: Texts = Field(
        (),
        description="sessions that one of these evaluators fails, as far as code decides; a judge's answer is too late",
    )


class SamplingSettings(Section):
    """Which sessions are judged. The choice is a hash of the session id: the same after every restart and everywhere.

    At ingest only what is above the highest of the rates is dropped, the rest when its session is closed: a rule with a
    higher rate, and anything under `keep`, costs disk and CPU for all sessions up to it.
    """

    rate: Ratio = Field(1.0, description="share of sessions to keep and judge, where no rule says otherwise")
    rules: tuple[SamplingRuleSettings, ...] = Field((), description="other rates; the first that matches decides")
    keep: KeepSettings = KeepSettings()

    @model_validator(mode="after")
    def _rules_can_be_told_apart(self) -> SamplingSettings:
        names = [rule.name for rule in self.rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"names of rules must differ: {', '.join(twice)} is there more than once")
        return self

    def sampling(self) -> SamplingRules:
        return SamplingRules(
            self.rate,
            tuple(SamplingRule(rule.name, rule.match, rule.rate) for rule in self.rules),
            Keep(self.keep.when, self.keep.skills, self.keep.failed),
        )
