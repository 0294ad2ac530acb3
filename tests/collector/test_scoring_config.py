"""What whole sessions are held to, as configured."""

from __future__ import annotations

import pytest

from collector.config import Config
from judge.composite import CompositeRules
from judge.documents import DocumentError, parse_document
from judge.gates import GateRules


def test_the_defaults_of_the_file_are_those_of_the_rules() -> None:
    config = Config()
    assert config.composite.rules() == CompositeRules()
    assert config.gates.rules() == GateRules()


def test_what_is_configured_arrives() -> None:
    text = "composite: {selection: 1, adherence: 2, answer: 3, pass_total: 0.5, pass_selection: 0.6}\n"
    config = parse_document(
        text + "gates: {min_pass_rate: 0.9, min_adherence: 0.7, level: 0.01, min_sample: 5}\n", "f", Config
    )
    assert config.composite.rules() == CompositeRules(1, 2, 3, 0.5, 0.6)
    assert config.gates.rules() == GateRules(0.9, 0.7, 0.01, 5)


@pytest.mark.parametrize(
    "text",
    [
        "composite: {selection: 0, adherence: 0, answer: 0}",
        "composite: {answer: -1}",
        "composite: {pass_total: 1.1}",
        "gates: {level: 0}",
        "gates: {min_sample: 0}",
    ],
)
def test_what_cannot_be_is_a_problem(text: str) -> None:
    with pytest.raises(DocumentError):
        parse_document(text, "f", Config)
