"""The judge's part of the configuration: what is accepted, what is refused, and what is built of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from collector.config import Config
from collector.judge_building import budget_of, build_judge, circuit_policy, redaction_of, terms_of
from collector.judge_config import JudgeSettings
from collector.metrics import Metrics
from judge.budget import Limit
from judge.documents import DocumentError, parse_document
from judge.prices import NANO, ModelPrice
from judge.redaction import NOTHING

OPUS = {"claude-opus-*": {"input": 5, "output": 25}}


def _judge(**settings: Any) -> JudgeSettings:
    return JudgeSettings.model_validate(settings)


def _problems(text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        parse_document(text, "f.yaml", Config, {})
    return [str(problem) for problem in caught.value.problems]


PAGE = (Path(__file__).parents[2] / "docs" / "judge.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_an_example_of_the_page_is_valid(example: str) -> None:
    config = parse_document(example, "docs/judge.md", Config, {"AWS_BEARER_TOKEN_BEDROCK": "k"})
    assert config.judge != JudgeSettings()
    assert redaction_of(config.judge).text("plain") == "plain"


def test_the_page_names_every_section_and_metric_of_the_judge() -> None:
    for section in ("circuit", "budget", "prices", "batches", "redaction", "bedrock", "vertex"):
        assert section in JudgeSettings.model_fields
        assert section in PAGE
    known = {metric.name for metric in Metrics().documented}
    named = set(re.findall(r"spanjudge_\w+", PAGE))
    assert named
    assert named <= known


def test_nothing_need_be_said() -> None:
    settings = _judge()
    assert budget_of(settings).limits == ()
    assert settings.price_of("claude-opus-4-8") is None
    assert circuit_policy(settings).failures == 5
    assert redaction_of(settings).text("password=tulip") != "password=tulip"


def test_every_limit_is_taken_over() -> None:
    budget = {
        "dollars_per_hour": 1.5,
        "tokens_per_day": 10,
        "high_risk_share": 0.25,
        "evaluators": {"goal_completion": {"dollars_per_day": 2, "tokens_per_hour": 0}},
    }
    built = budget_of(_judge(budget=budget, prices=OPUS))
    assert built.high_risk_share == 0.25
    assert set(built.limits) == {
        Limit("hour", "dollars", 3 * NANO // 2),
        Limit("day", "tokens", 10),
        Limit("day", "dollars", 2 * NANO, "goal_completion"),
        Limit("hour", "tokens", 0, "goal_completion"),
    }


def test_prices_of_the_cache_and_of_batches_may_be_given() -> None:
    own = {"m": {"input": 1, "output": 2, "cache_write": 3, "cache_read": 4, "batch_share": 0.75}}
    assert _judge(prices=own).price_of("m") == ModelPrice(1, 2, 3, 4, 0.75)


@pytest.mark.parametrize("budget", ["{dollars_per_day: 5}", "{evaluators: {goal_completion: {dollars_per_hour: 1}}}"])
def test_a_limit_in_dollars_without_a_price_is_a_problem(budget: str) -> None:
    (problem,) = _problems(f"judge:\n  budget: {budget}\n")
    assert problem.startswith("f.yaml:1: judge: budget limits dollars, but prices has none for claude-opus-4-8")


def test_the_price_of_an_evaluators_own_model_is_asked_for_too() -> None:
    text = """
judge: {budget: {dollars_per_day: 5}, prices: {"claude-opus-*": {input: 5, output: 25}}}
evaluators: {goal_completion: {model: claude-haiku-4-5}, faithfulness: {model: other, enabled: false}}
"""
    (problem,) = _problems(text)
    assert "prices has none for claude-haiku-4-5" in problem
    assert "other" not in problem


def test_a_limit_in_tokens_needs_no_price() -> None:
    assert budget_of(_judge(budget={"tokens_per_hour": 5})).limits == (Limit("hour", "tokens", 5),)


def test_a_pattern_that_could_take_long_is_a_problem_of_the_configuration() -> None:
    (problem,) = _problems("judge:\n  redaction:\n    patterns:\n      order: 'x+y'\n")
    assert "f.yaml:4" in problem or "f.yaml:3" in problem
    assert "order: every repetition needs an upper limit" in problem


def test_redaction_may_be_extended_or_switched_off() -> None:
    own = _judge(redaction={"keys": ["pin"], "patterns": {"order": "ORD-[0-9]{4}"}})
    assert redaction_of(own).text("pin=1 ORD-1234") == ('pin=<redacted kind="field"/> <redacted kind="order"/>')
    assert redaction_of(_judge(redaction={"enabled": False})) is NOTHING


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"provider": "bedrock"}, "add bedrock.region"),
        ({"provider": "vertex"}, "add vertex.project_id"),
        (
            {"provider": "bedrock", "bedrock": {"region": "r", "api_key": "k"}, "batches": {"enabled": True}},
            "bedrock has no message batches",
        ),
    ],
)
def test_what_a_provider_lacks_is_told(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        _judge(**settings)


@pytest.mark.parametrize(
    ("settings", "client"),
    [
        ({"api_key": "k"}, "AsyncAnthropic"),
        ({"provider": "bedrock", "bedrock": {"region": "eu-central-1", "api_key": "k"}}, "AsyncAnthropicBedrock"),
        (
            {"provider": "vertex", "vertex": {"project_id": "p", "region": "global", "access_token": "t"}},
            "AsyncAnthropicVertex",
        ),
    ],
)
async def test_the_client_of_the_provider_is_built(settings: dict[str, Any], client: str) -> None:
    judge = build_judge(_judge(**settings))
    assert judge
    assert type(judge.client).__name__ == client
    assert judge.client.max_retries == 0
    await judge.aclose()


def test_settings_that_change_answers_change_what_counts_as_the_same_question() -> None:
    manners = {
        terms_of(_judge(effort=effort, thinking=thinking)).manner
        for effort in ("low", "high")
        for thinking in (True, False)
    }
    assert len(manners) == 4
