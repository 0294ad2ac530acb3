"""Names of models."""

from __future__ import annotations

import pytest

from judge.models import same_model


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("claude-opus-4-8", "claude-opus-4-8"),
        ("claude-opus-4-8", "claude-opus-4-8-20260301"),
        ("claude-opus-4-8@default", "claude-opus-4-8"),
        ("claude-opus-4-8@20260301", "claude-opus-4-8-20260301"),
        ("us.anthropic.claude-opus-4-8-20260301-v1:0", "claude-opus-4-8-20260301"),
        ("anthropic.claude-opus-4-8", "claude-opus-4-8"),
        ("gateway/anthropic.claude-opus-4-8", "claude-opus-4-8"),
        ("house-model-3.5", "house-model-3.5"),
    ],
)
def test_one_model_has_several_names(asked: str, answered: str) -> None:
    assert same_model(asked, answered)
    assert same_model(answered, asked)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("claude-opus-4", "claude-opus-4-8"),
        ("claude-opus-4-8", "claude-sonnet-4-8"),
        ("claude-opus-4-8-20260301", "claude-opus-4-8-20260401"),
        ("house-model-3.5", "house-model-4.5"),
        ("a", ""),
    ],
)
def test_other_models_have_other_names(asked: str, answered: str) -> None:
    assert not same_model(asked, answered)
