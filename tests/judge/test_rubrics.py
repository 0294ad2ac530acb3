"""Rubric files: every mistake at once, with its line."""

from __future__ import annotations

import pytest

from judge.documents import DocumentError
from judge.rubrics import parse_rubrics

GOOD = """\
id: kindness
version: "1"
question: Is it kind?
labels:
  Good: {score: 1, means: it is kind}
  Bad: {score: 0, means: it is rude}
"""


def _problems(files: dict[str, str], taken: frozenset[str] = frozenset()) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        parse_rubrics(files, taken)
    return [str(problem) for problem in caught.value.problems]


def test_a_good_file_is_a_rubric_about_sessions_unless_it_says_otherwise() -> None:
    (rubric,) = parse_rubrics({"kindness.yaml": GOOD})
    assert (rubric.id, rubric.level, rubric.needs) == ("kindness", "session", ())
    assert {name: label.score for name, label in rubric.labels.items()} == {"Good": 1.0, "Bad": 0.0}


def test_all_mistakes_of_all_files_are_told_at_once() -> None:
    bad = 'id: Kind-ness\nversion: 1\nlevel: turn\nquestion: ""\nlabels:\n  Good: {score: 2, means: x}\n  "B d": {}\n'
    told = "\n".join(_problems({"bad.yaml": bad, "worse.yaml": GOOD.replace("labels", "label")}))
    for place in ("bad.yaml:1: id", "bad.yaml:2: version", "bad.yaml:3: level", "bad.yaml:4: question"):
        assert place in told
    assert "bad.yaml:6: labels.Good.score" in told
    assert "worse.yaml:4: label: unknown key: did you mean labels?" in told


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("score: 0", "score: 1", "labels must not all have the same score"),
        ("question", "needs: [skill_body]\nquestion", "needs skill_body, which goes with level skill"),
        ("  Bad: {score: 0, means: it is rude}\n", "", "at least 2"),
    ],
)
def test_a_rubric_that_could_tell_nothing_is_a_mistake(old: str, new: str, why: str) -> None:
    (problem,) = _problems({"kindness.yaml": GOOD.replace(old, new)})
    assert why in problem


def test_two_evaluators_cannot_have_one_name() -> None:
    assert _problems({"a.yaml": GOOD, "b.yaml": GOOD}) == [
        "b.yaml:1: id: another file has a rubric called kindness: rename one"
    ]
    assert _problems({"a.yaml": GOOD}, frozenset({"kindness"})) == [
        "a.yaml:1: id: there is an evaluator called kindness already: rename it"
    ]
