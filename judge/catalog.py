"""The evaluators, by name, and the one way to have them all look at a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from extractors.registry import UNRECOGNISED
from extractors.trajectory import Trajectory
from judge.configured import Configured
from judge.configured import Evaluator as Evaluator  # noqa: PLC0414 - whoever builds evaluators looks for it here
from judge.evaluators import (
    argument_correctness,
    error_recovery,
    faithfulness,
    goal_completion,
    skill_abstention,
    skill_selection,
    tool_selection,
)
from judge.evaluators.answer_contains import AnswerContains
from judge.evaluators.argument_correctness import ArgumentCorrectness
from judge.evaluators.budgets import BudgetsKept
from judge.evaluators.error_recovery import ErrorRecovery
from judge.evaluators.faithfulness import Faithfulness
from judge.evaluators.forbidden_events import ForbiddenEvents
from judge.evaluators.goal_completion import GoalCompletion
from judge.evaluators.required_steps import RequiredSteps
from judge.evaluators.rubric import PROMPT as RUBRIC_PROMPT
from judge.evaluators.rubric import RubricEvaluator
from judge.evaluators.sensitive_data import SensitiveData
from judge.evaluators.skill_abstention import SkillAbstention
from judge.evaluators.skill_expected import SkillExpected
from judge.evaluators.skill_instruction_following import SkillInstructionFollowing
from judge.evaluators.skill_selection import SkillSelection
from judge.evaluators.step_efficiency import StepEfficiency
from judge.evaluators.tool_selection import ToolSelection
from judge.options import ALWAYS, ASKING, DEFAULTS, EvaluatorOptions
from judge.plugins import Plugin
from judge.prompts import versions_of
from judge.question import Question, Scale
from judge.redaction import NOTHING, Redaction
from judge.rubrics import Rubric
from judge.sensitive import NAMES as SENSITIVE_KINDS
from judge.session_record import shared_record
from judge.suites import Case
from judge.transcript import DEFAULT_TOKENS
from judge.verdict import NotJudged, Verdict, whole_session


@dataclass(frozen=True, slots=True)
class Entry:
    """How one evaluator is made of its options and the token limit of a transcript, which options it takes, the name of
    its prompt if it has one, and the scale of its questions if a label answers them."""

    make: Callable[[EvaluatorOptions, int], Evaluator]
    takes: frozenset[str] = ALWAYS
    prompt: str | None = None
    scale: Scale | None = None

    def labels(self, option: EvaluatorOptions) -> tuple[str, ...]:
        """Those that questions of ours may be answered with; a system prompt of the user's has a form of its own."""
        asks = option.enabled and option.system_prompt is None and (option.ask or "ask" not in self.takes)
        return self.scale.labels if asks and self.scale else ()


def _code(make: Callable[[], Evaluator]) -> Entry:
    return Entry(lambda _options, _tokens: make())


BUILT_IN: Mapping[str, Entry] = {
    SkillExpected.id: _code(SkillExpected),
    RequiredSteps.id: _code(RequiredSteps),
    ForbiddenEvents.id: _code(ForbiddenEvents),
    AnswerContains.id: _code(AnswerContains),
    StepEfficiency.id: _code(StepEfficiency),
    ErrorRecovery.id: Entry(ErrorRecovery, ASKING | {"ask"}, ErrorRecovery.id, error_recovery.SCALE),
    BudgetsKept.id: Entry(BudgetsKept, ALWAYS | {"prices"}),
    SensitiveData.id: Entry(SensitiveData, ALWAYS | {"allow", "kinds"}),
    ToolSelection.id: Entry(ToolSelection, ASKING | {"ask"}, ToolSelection.id, tool_selection.SCALE),
    ArgumentCorrectness.id: Entry(
        ArgumentCorrectness, ASKING | {"ask"}, ArgumentCorrectness.id, argument_correctness.SCALE
    ),
    SkillSelection.id: Entry(SkillSelection, ASKING, SkillSelection.id, skill_selection.SCALE),
    SkillAbstention.id: Entry(SkillAbstention, ASKING, SkillAbstention.id, skill_abstention.SCALE),
    SkillInstructionFollowing.id: Entry(SkillInstructionFollowing, ASKING, SkillInstructionFollowing.id),
    GoalCompletion.id: Entry(GoalCompletion, ASKING, GoalCompletion.id, goal_completion.SCALE),
    Faithfulness.id: Entry(Faithfulness, ASKING, Faithfulness.id, faithfulness.SCALE),
}
"""Those that come with SpanJudge. What takes `ask` asks a judge only if that is set."""

NAMES: tuple[str, ...] = tuple(BUILT_IN)

PLUGIN_TAKES = ASKING - {"prompt_version", "system_prompt"}


def rubric_entry(rubric: Rubric) -> Entry:
    """A user's criterion as an entry beside those built in."""
    scale = Scale({name: label.score for name, label in rubric.labels.items()})
    return Entry(lambda options, tokens: RubricEvaluator(rubric, options, tokens), ASKING, RUBRIC_PROMPT, scale)


def plugin_entry(plugin: Plugin) -> Entry:
    """Somebody else's evaluator as an entry. Its prompts are its own."""
    return Entry(lambda _options, _tokens: plugin, PLUGIN_TAKES)


@dataclass(frozen=True, slots=True)
class Plan:
    """What all evaluators made of one session. `errors` are the defects of evaluators, by their names: each has a
    verdict too, and whoever logs finds the traceback here."""

    verdicts: tuple[Verdict, ...] = ()
    questions: tuple[Question, ...] = ()
    errors: tuple[tuple[str, Exception], ...] = ()


def build(
    options: Mapping[str, EvaluatorOptions] | None = None,
    transcript_tokens: int = DEFAULT_TOKENS,
    custom: Mapping[str, Entry] | None = None,
    redaction: Redaction = NOTHING,
) -> tuple[Evaluator, ...]:
    """The enabled evaluators, those built in first; one that `options` does not name is enabled. `custom` are rubrics
    and plugins by their names. `redaction` masks what must not leave the process, where it would be cut.

    Raises `ValueError` with one line for each problem that `option_problems` finds.
    """
    options = options or {}
    if problems := option_problems(options, custom):
        raise ValueError("\n".join(f"evaluators.{key}: {message}" for key, message in problems))
    chosen = {
        name: (entry, replace(options.get(name, DEFAULTS), redaction=redaction))
        for name, entry in _entries(custom).items()
    }
    labels = tuple(dict.fromkeys(label for entry, option in chosen.values() for label in entry.labels(option)))
    return tuple(
        Configured(entry.make(option, transcript_tokens), option, labels)
        for entry, option in chosen.values()
        if option.enabled
    )


def option_problems(
    options: Mapping[str, EvaluatorOptions], custom: Mapping[str, Entry] | None = None
) -> list[tuple[str, str]]:
    """What is wrong with the options, as (key below `evaluators`, message)."""
    entries = _entries(custom)
    problems: list[tuple[str, str]] = []
    for name, option in options.items():
        entry = entries.get(name)
        if entry is None:
            problems.append((name, f"no such evaluator; there are {', '.join(sorted(entries))}"))
            continue
        problems += [(f"{name}.{key}", _not_taken(key, entry)) for key in option.given if key not in entry.takes]
        if entry.prompt and option.prompt_version and option.prompt_version not in versions_of(entry.prompt):
            known = ", ".join(versions_of(entry.prompt))
            problems.append((f"{name}.prompt_version", f"no such prompt version; there are {known}"))
        if unknown := sorted(set(option.kinds or ()) - set(SENSITIVE_KINDS)):
            known = ", ".join(SENSITIVE_KINDS)
            problems.append((f"{name}.kinds", f"no such kind: {', '.join(unknown)}; there are {known}"))
    return problems


def _entries(custom: Mapping[str, Entry] | None) -> dict[str, Entry]:
    return {**BUILT_IN, **(custom or {})}


def _not_taken(key: str, entry: Entry) -> str:
    if key in ASKING and "votes" not in entry.takes:
        return "this evaluator asks no judge: remove it"
    return "this evaluator does not have it: remove it"


def plan_all(trajectory: Trajectory, cases: Sequence[Case], evaluators: Iterable[Evaluator]) -> Plan:
    """What every evaluator makes of the session. Never raises: an evaluator that does gives
    `NotJudged("evaluator_error")`, and its neighbours go on.

    A session of which nothing was understood gives an empty plan: "did not load the skill" would be a guess.
    """
    if trajectory.harness == UNRECOGNISED:
        return Plan()
    verdicts: list[Verdict] = []
    questions: list[Question] = []
    errors: list[tuple[str, Exception]] = []
    with shared_record(trajectory):
        for evaluator in evaluators:
            try:
                findings = list(evaluator.plan(trajectory, cases))
            except Exception as error:  # noqa: BLE001 - a defect in one evaluator must not cost the others' verdicts
                errors.append((evaluator.id, error))
                findings = [_defect(evaluator, trajectory, error)]
            verdicts += [finding for finding in findings if isinstance(finding, Verdict)]
            questions += [finding for finding in findings if isinstance(finding, Question)]
    return Plan(tuple(verdicts), tuple(questions), tuple(errors))


def _defect(evaluator: Evaluator, trajectory: Trajectory, error: Exception) -> Verdict:
    """The type of the exception and no more: its text may hold what the agent wrote."""
    outcome = NotJudged("evaluator_error", type(error).__name__)
    return Verdict(evaluator.id, evaluator.version, whole_session(trajectory), outcome)
