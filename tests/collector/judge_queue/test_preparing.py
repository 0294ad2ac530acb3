"""What a question may cost, and what makes two questions the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.judge_queue.preparing import Preparing
from collector.judge_queue.terms import Terms
from judge.budget import Amount
from judge.question import Question, Scale
from judge.redaction import Redaction
from tests.collector.judge_queue.desk import ask, price_of

QUESTION = ask("a", text="Was it right?").question
TERMS = Terms(price_of=price_of, answer_cache_s=60, max_output_tokens=1_000, manner="low")


def _key(question: Question = QUESTION, vote: int = 0, terms: Terms = TERMS, model: str = "judge-a") -> str | None:
    return Preparing(terms, model).prepare(question, vote).key


def test_the_estimate_covers_all_input_at_the_dearest_price_and_the_longest_answer() -> None:
    long = replace(QUESTION, prompt=replace(QUESTION.prompt, prefix="x" * 35_000))
    prepared = Preparing(TERMS, "judge-a").prepare(long, 0)
    assert 11_500 <= prepared.most.tokens <= 11_600
    assert prepared.most.nano_dollars == (prepared.most.tokens - 1_000) * 6_250 + 1_000 * 25_000
    assert prepared.batch_most == Amount(prepared.most.tokens, prepared.most.nano_dollars // 2)


def test_without_a_price_only_tokens_are_estimated() -> None:
    prepared = Preparing(Terms(), "judge-a").prepare(QUESTION, 0)
    assert prepared.most.tokens > 4_096
    assert prepared.most.nano_dollars == 0
    assert prepared.key is None, "answers are not kept"


def test_a_form_that_offers_other_labels_is_another_question() -> None:
    assert _key(replace(QUESTION, choices=("Yes", "No", "Failed"))) != _key()


def test_who_asked_and_about_which_session_does_not_matter() -> None:
    other = replace(ask("b", "s-2", text="Was it right?").question, evaluator="another", high_risk=True)
    assert _key(other) == _key()


@pytest.mark.parametrize(
    "other",
    [
        replace(QUESTION, model="judge-b"),
        replace(QUESTION, effort="max"),
        replace(QUESTION, shape="steps"),
        replace(QUESTION, scale=Scale({"Yes": 1.0, "No": 0.5})),
        replace(QUESTION, prompt=replace(QUESTION.prompt, system="You are strict.")),
        replace(QUESTION, prompt=replace(QUESTION.prompt, prefix="Another record.")),
        replace(QUESTION, prompt=replace(QUESTION.prompt, question="Was it wrong?")),
        replace(QUESTION, prompt=replace(QUESTION.prompt, sha256="cd" * 32)),
    ],
)
def test_everything_that_an_answer_depends_on_makes_another_question(other: Question) -> None:
    assert _key(other) != _key()


def test_another_vote_manner_or_default_model_is_another_question() -> None:
    keys = {_key(), _key(vote=1), _key(terms=replace(TERMS, manner="high")), _key(model="judge-c")}
    assert len(keys) == 4


def test_what_is_masked_is_not_part_of_the_question() -> None:
    terms = replace(TERMS, redaction=Redaction())
    one, other = (
        replace(QUESTION, prompt=replace(QUESTION.prompt, prefix=f"password={secret}")) for secret in ("tulip", "rose")
    )
    assert _key(one, terms=terms) == _key(other, terms=terms)
    assert _key(one) != _key(other)
