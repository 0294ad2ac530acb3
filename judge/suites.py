"""Suites: what people expect of sessions, written down as cases. The same file means the same live and offline.

See docs/suites.md for the format with examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from extractors.spans import Value
from extractors.trajectory import Trajectory
from judge.conditions import Condition, Plain, equal, holds
from judge.contradictions import contradictions
from judge.documents import DocumentError, Problem, parse_document
from judge.globs import contains, matches

NO_SKILL = "none"
"""`expected_skill: none`: the agent should load no skill at all."""

Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_list)]
ArgumentRule = Annotated[str, Field(min_length=1)] | dict[str, str | bool | int | float]
"""A pattern for the arguments as JSON text, or for single arguments: a pattern each, or a value to be equal to."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Match(_Entry):
    """Which sessions a case or an evaluator is about: all that is given must hold; an empty match is about every
    session.

    Of several patterns one must fit; of several texts to contain, every one must be there.
    """

    task_contains: Texts = ()
    task_matches: Texts = ()
    service: Texts = ()
    agent: Texts = ()
    version: Texts = Field((), description="the agent's version, or the service's where the agent has none")
    harness: Texts = ()
    attributes: dict[str, Plain | Condition] = Field(
        default_factory=dict,
        description="by name: a value, or a condition (equals, not, contains, exists, in, gt, lt, glob)",
    )


class Event(_Entry):
    """Something an agent may do: call a tool (`tool` is a pattern) or load a skill."""

    tool: Text | None = None
    skill: Text | None = None
    arguments: ArgumentRule | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Event:
        if (self.tool is None) == (self.skill is None):
            raise ValueError("give either tool or skill")
        if self.arguments is not None and self.tool is None:
            raise ValueError("arguments go with tool, not with skill")
        return self


class ForbiddenEvent(_Entry):
    """Something that must not happen: a call, a skill load, or a text in the answer."""

    tool: Text | None = None
    skill: Text | None = None
    answer_contains: Text | None = None
    arguments: ArgumentRule | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> ForbiddenEvent:
        if sum(part is not None for part in (self.tool, self.skill, self.answer_contains)) != 1:
            raise ValueError("give one of tool, skill and answer_contains")
        if self.arguments is not None and self.tool is None:
            raise ValueError("arguments go with tool")
        return self


class Budgets(_Entry):
    """The most a session may take."""

    tool_calls: int | None = Field(None, ge=0)
    repeated_calls: int | None = Field(None, ge=0, description="calls identical to an earlier one")
    seconds: float | None = Field(None, gt=0, allow_inf_nan=False)
    tokens: int | None = Field(None, ge=0, description="input and output, all model turns")
    dollars: float | None = Field(None, ge=0, allow_inf_nan=False, description="at evaluators.budgets.prices")


class CaseEntry(_Entry):
    """One case as a suite file has it."""

    id: Name
    match: Match
    risk: Literal["normal", "high"] = "normal"
    expected_skill: Text | None = None
    required_steps: tuple[Event, ...] = ()
    ordered: bool = Field(False, description="required_steps must happen in the order written")
    forbidden_events: tuple[ForbiddenEvent, ...] = ()
    answer_contains: Texts = ()
    budgets: Budgets = Budgets()

    @model_validator(mode="after")
    def _can_be_kept(self) -> CaseEntry:
        if found := list(contradictions(self)):
            raise ValueError(f"no session could keep these rules: {'; '.join(found)}")
        return self


class Case(CaseEntry):
    """One case, with the suite it belongs to."""

    suite: str
    suite_version: str

    @property
    def key(self) -> str:
        """What verdicts call this case: `suite/case`."""
        return f"{self.suite}/{self.id}"

    @property
    def high_risk(self) -> bool:
        return self.risk == "high"


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases that belong together. `version` is the author's; verdicts can be compared within one version."""

    name: str
    version: str
    cases: tuple[Case, ...]


class SuiteFile(_Entry):
    """The whole file."""

    name: Name
    version: Text
    cases: tuple[CaseEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct_ids(self) -> SuiteFile:
        ids = [case.id for case in self.cases]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"case ids must differ: {', '.join(twice)} is there more than once")
        return self


def parse_suite(text: str, source: str) -> Suite:
    """A suite from the text of its file; `source` names the file in messages. Raises `DocumentError`."""
    file = parse_document(text, source, SuiteFile)
    cases = (Case.model_construct(**dict(case), suite=file.name, suite_version=file.version) for case in file.cases)
    return Suite(file.name, file.version, tuple(cases))


def parse_suites(files: Mapping[str, str]) -> tuple[Suite, ...]:
    """Several suites, from file name to text. Raises one `DocumentError` for all of them, also when two files give
    their suite the same name: their cases could not be told apart."""
    suites: dict[str, Suite] = {}
    problems: list[Problem] = []
    for source, text in files.items():
        try:
            suite = parse_suite(text, source)
        except DocumentError as error:
            problems += error.problems
            continue
        if suites.setdefault(suite.name, suite) is not suite:
            problems.append(Problem(source, 1, "name", f"another file has a suite called {suite.name}: rename one"))
    if problems:
        raise DocumentError(tuple(problems))
    return tuple(suites.values())


def expectations_for(trajectory: Trajectory, suites: Iterable[Suite]) -> tuple[Case, ...]:
    """The cases that are about this session, in the order of the suites. A condition on something that was not
    recorded does not hold."""
    return tuple(case for suite in suites for case in suite.cases if is_about(case.match, trajectory))


def same_skill(expected: str, actual: str) -> bool:
    """Whether a skill is the one a suite names: `name` also stands for `plugin:name`."""
    return expected == actual or (":" not in expected and expected == actual.rpartition(":")[2])


def is_about(match: Match, trajectory: Trajectory) -> bool:
    """Whether every condition holds. One on something that was not recorded does not."""
    task, versions = trajectory.task, trajectory.versions
    return (
        (not match.task_contains or (task is not None and all(contains(text, task) for text in match.task_contains)))
        and _fits_one(match.task_matches, task)
        and _fits_one(match.service, versions.service)
        and _fits_one(match.agent, versions.agent)
        and _fits_one(match.version, versions.agent_version or versions.service_version)
        and _fits_one(match.harness, trajectory.harness)
        and all(_fits(wanted, attribute_of(trajectory, key)) for key, wanted in match.attributes.items())
    )


def _fits_one(patterns: tuple[str, ...], text: str | None) -> bool:
    return not patterns or (text is not None and any(matches(pattern, text) for pattern in patterns))


def _fits(wanted: Plain | Condition, value: Value) -> bool:
    return holds(wanted, value) if isinstance(wanted, Condition) else equal(wanted, value)


def attribute_of(trajectory: Trajectory, key: str) -> Value:
    """A resource or root span attribute, or what every trajectory knows of itself."""
    versions = trajectory.versions
    known = {
        "service.name": versions.service,
        "service.version": versions.service_version,
        "gen_ai.agent.name": versions.agent,
        "gen_ai.agent.version": versions.agent_version,
        "spanjudge.harness": trajectory.harness,
        "spanjudge.tenant": trajectory.tenant,
    }
    found = known.get(key)
    return trajectory.attributes.get(key) if found is None else found
