"""The `judge` section of the configuration: which model, where, how it is asked, and what it may cost."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from collector.config_section import Ratio, Seconds, Section
from collector.secret_text import token_fault
from judge.prices import ModelPrice, price_of
from judge.redaction import Redaction

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelPriceSettings(Section):
    """Dollars for a million tokens."""

    input: Dollars
    output: Dollars
    cache_write: Dollars | None = Field(None, description="default: 1.25 times input")
    cache_read: Dollars | None = Field(None, description="default: a tenth of input")
    batch_share: Ratio = Field(0.5, description="share of the price that a batch pays")


class BudgetLimits(Section):
    """Hours and days are those of UTC."""

    dollars_per_hour: Dollars | None = None
    dollars_per_day: Dollars | None = None
    tokens_per_hour: int | None = Field(None, ge=0)
    tokens_per_day: int | None = Field(None, ge=0)

    @property
    def in_dollars(self) -> bool:
        return self.dollars_per_hour is not None or self.dollars_per_day is not None


class BudgetSettings(BudgetLimits):
    """The most that may be spent; nothing is asked that could get over it. Hours and days are those of UTC."""

    high_risk_share: Ratio = Field(0.1, description="share of each limit kept back for questions of high risk")
    evaluators: dict[str, BudgetLimits] = Field(default_factory=dict, description="limits of single evaluators")


class CircuitSettings(Section):
    """When to stop asking a judge that does not answer, and when to try again."""

    failures: int = Field(5, gt=0, description="open after so many failures in a row")
    first_seconds: Seconds = Field(5, description="stay open this long; twice as long after each failed try")
    max_seconds: Seconds = Field(60, description="longest wait between tries")


class BatchSettings(Section):
    """Message Batches: half the price, answers within a day. Questions of high risk are always asked at once."""

    enabled: bool = False
    max_wait_seconds: Seconds = Field(300, description="send what there is when the oldest has waited this long")
    max_questions: int = Field(500, gt=0, le=10_000, description="send when there are this many")
    max_open: int = Field(4, gt=0, description="batches on their way at the same time")
    poll_seconds: Seconds = Field(60, description="look for results this often")


class RedactionSettings(Section):
    """What is masked as `<redacted kind="..."/>` before it leaves the process: in questions, exports and the API."""

    enabled: bool = True
    defaults: bool = Field(True, description="well-known shapes of secrets, and fields such as password and api_key")
    keys: tuple[str, ...] = Field((), description="names of more fields whose values are secret")
    patterns: dict[str, str] = Field(default_factory=dict, description="kind → regular expression; see docs/judge.md")

    @field_validator("patterns")
    @classmethod
    def _bounded(cls, patterns: dict[str, str]) -> dict[str, str]:
        Redaction(patterns, defaults=False)
        return patterns


class BedrockSettings(Section):
    """Models on Amazon Bedrock. Without a key, requests are signed with what boto3 finds."""

    region: str
    api_key: SecretStr | None = Field(None, description="a Bedrock API key")
    profile: str | None = Field(None, description="a profile of the AWS configuration")


class VertexSettings(Section):
    """Models on Google Vertex AI. Without a token, google-auth finds the credentials."""

    project_id: str
    region: str
    access_token: SecretStr | None = None


class JudgeSettings(Section):
    """The model that answers questions. Without a key nothing is asked and verdicts say so."""

    provider: Literal["anthropic", "bedrock", "vertex"] = "anthropic"
    api_key: SecretStr | None = Field(None, description="default: the environment's ANTHROPIC_API_KEY")
    base_url: str | None = Field(None, description="any endpoint that speaks the Anthropic Messages API")
    ca_file: Path | None = Field(
        None,
        description="authorities of that endpoint, as a PEM file read at the start; well-known ones where left out",
    )
    bedrock: BedrockSettings | None = None
    vertex: VertexSettings | None = None
    model: str = "claude-opus-4-8"
    effort: Literal["low", "medium", "high", "xhigh", "max"] = "medium"
    thinking: bool = Field(True, description="adaptive thinking; false for models that lack it")
    max_output_tokens: int = Field(4096, gt=0)
    transcript_tokens: int = Field(60_000, gt=1000, description="transcripts longer than this are elided")
    timeout_seconds: Seconds = 120
    concurrency: int = Field(16, gt=0, description="most questions asked at the same time; fewer while in trouble")
    questions_per_minute: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="most questions asked in a minute"
    )
    max_attempts: int = Field(6, gt=0, description="tries per question before it is not judged")
    retry_max_seconds: Seconds = Field(300, description="longest wait between tries")
    max_wait_seconds: Seconds = Field(86_400, description="a question that waited this long is not judged")
    answer_cache_seconds: float = Field(
        86_400, ge=0, allow_inf_nan=False, description="identical questions are answered once in this time; 0: never"
    )
    circuit: CircuitSettings = CircuitSettings()
    budget: BudgetSettings = BudgetSettings()
    prices: dict[str, ModelPriceSettings] = Field(
        default_factory=dict, description="model, or pattern of models → what its tokens cost"
    )
    batches: BatchSettings = BatchSettings()
    redaction: RedactionSettings = RedactionSettings()

    @field_validator("api_key")
    @classmethod
    def _can_be_sent(cls, key: SecretStr | None) -> SecretStr | None:
        """An empty one is none."""
        if key is not None and key.get_secret_value() and (fault := token_fault(key.get_secret_value())):
            raise ValueError(fault)
        return key

    @field_validator("base_url")
    @classmethod
    def _keeps_secrets_elsewhere(cls, url: str | None) -> str | None:
        if url is not None and "@" in url.partition("://")[2].partition("/")[0]:  # it is part of messages
            raise ValueError("must hold no user or password: put the key into api_key")
        return url

    @model_validator(mode="after")
    def _fits_together(self) -> JudgeSettings:
        if problems := [*self._place_problems(), *self.price_problems(self.model)]:
            raise ValueError("; ".join(problems))
        return self

    def price_of(self, model: str) -> ModelPrice | None:
        prices = {
            name: ModelPrice(price.input, price.output, price.cache_write, price.cache_read, price.batch_share)
            for name, price in self.prices.items()
        }
        return price_of(prices, model)

    def price_problems(self, model: str) -> Iterator[str]:
        """A limit in dollars would hold nothing back where the price is not known."""
        limits = (self.budget, *self.budget.evaluators.values())
        if any(limit.in_dollars for limit in limits) and self.price_of(model) is None:
            yield f"budget limits dollars, but prices has none for {model}: add it"

    def _place_problems(self) -> Iterator[str]:
        if self.provider == "bedrock":
            if self.bedrock is None:
                yield "provider is bedrock: add bedrock.region"
            elif self.bedrock.api_key is None and find_spec("boto3") is None:
                yield "bedrock without an api_key needs boto3: install anthropic[bedrock]"
        if self.provider == "vertex":
            if self.vertex is None:
                yield "provider is vertex: add vertex.project_id and vertex.region"
            elif self.vertex.access_token is None and not _installed("google.auth"):
                yield "vertex without an access_token needs google-auth: install anthropic[vertex]"
        if self.batches.enabled and self.provider != "anthropic":
            yield f"batches.enabled: {self.provider} has no message batches"


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False
