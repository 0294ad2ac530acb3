"""Rubrics: criteria that people write down for a judge, one in a YAML file. See docs/evaluators.md for the format."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from judge.documents import DocumentError, Problem, parse_document

Part = Literal["task", "catalog", "answer", "arguments", "results", "skill_body"]
Level = Literal["session", "skill", "tool_call"]

_Text = Annotated[str, Field(min_length=1, max_length=20_000)]
_LabelName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=50)]

_LEVELS: Mapping[Part, Level] = {"skill_body": "skill"}
"""Parts that only one level has."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Label(_Entry):
    """One label of the scale, and when a judge is to give it."""

    score: float = Field(ge=0, le=1)
    means: _Text


class Rubric(_Entry):
    """The whole file. `needs` are the recorded parts without which the question makes no sense."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
    version: Annotated[str, Field(min_length=1, max_length=50)]
    level: Level = "session"
    question: _Text
    labels: dict[_LabelName, Label] = Field(min_length=2, max_length=10)
    needs: tuple[Part, ...] = ()

    @model_validator(mode="after")
    def _fits_together(self) -> Rubric:
        if len({label.score for label in self.labels.values()}) < 2:
            raise ValueError("labels must not all have the same score: nothing could be told from it")
        for part in self.needs:
            if _LEVELS.get(part, self.level) != self.level:
                raise ValueError(f"needs {part}, which goes with level {_LEVELS[part]}")
        return self

    @property
    def digest(self) -> str:
        """8 hex digits that change with everything a judge is told, so that an edit without a new version shows."""
        return sha256(self.model_dump_json(exclude={"id", "version"}).encode()).hexdigest()[:8]


def parse_rubric(text: str, source: str) -> Rubric:
    """A rubric from the text of its file; `source` names the file in messages. Raises `DocumentError`."""
    return parse_document(text, source, Rubric)


def parse_rubrics(files: Mapping[str, str], taken: frozenset[str] = frozenset()) -> tuple[Rubric, ...]:
    """Several rubrics, from file name to text. Raises one `DocumentError` for all of them, also when an id is that of
    another rubric or in `taken`: verdicts could not be told apart."""
    rubrics: dict[str, Rubric] = {}
    problems: list[Problem] = []
    for source, text in files.items():
        try:
            rubric = parse_rubric(text, source)
        except DocumentError as error:
            problems += error.problems
            continue
        if rubric.id in taken:
            problems.append(Problem(source, 1, "id", f"there is an evaluator called {rubric.id} already: rename it"))
        elif rubrics.setdefault(rubric.id, rubric) is not rubric:
            problems.append(Problem(source, 1, "id", f"another file has a rubric called {rubric.id}: rename one"))
    if problems:
        raise DocumentError(tuple(problems))
    return tuple(rubrics.values())
