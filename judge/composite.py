"""One number for a session, from its other verdicts: was the right skill chosen, was it followed, is the answer right?

Three parts. Each is what the case expects, where the case says anything about it, and else what the judge found:

| part | weight | by the case | else by the judge |
|---|---|---|---|
| selection | 0.45 | `skill_expected` | `skill_selection`, `skill_abstention` |
| adherence | 0.35 | `required_steps` | `skill_instruction_following` |
| answer | 0.20 | `answer_contains` | `goal_completion` |

A part is the mean of its scores. A part that does not apply drops out, and the weights of the others grow to 1. With a
part that was not judged, the composite is not judged. Labels: `pass` (total at least 0.85, and selection, where it
applies, 1) and `fail`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from judge.passing import COMPOSITE, FAIL, PASS
from judge.verdict import NotApplicable, NotJudged, Outcome, Score, Subject, Verdict

_ROUNDING = 1e-9
"""0.45 + 0.35 + 0.20 need not be 1 to the last bit, and nobody should fail for that."""

LOGIC = "1"


@dataclass(frozen=True, slots=True)
class Source:
    """The evaluators that feed a part: those that check a case, and those that ask when no case says anything."""

    by_case: tuple[str, ...]
    by_judge: tuple[str, ...]


SELECTION, ADHERENCE, ANSWER = "selection", "adherence", "answer"
PARTS: Mapping[str, Source] = MappingProxyType(
    {
        SELECTION: Source(("skill_expected",), ("skill_selection", "skill_abstention")),
        ADHERENCE: Source(("required_steps",), ("skill_instruction_following",)),
        ANSWER: Source(("answer_contains",), ("goal_completion",)),
    }
)


@dataclass(frozen=True, slots=True)
class CompositeRules:
    """Weights need not add up to 1; only their proportion counts. `pass_total` is the least total that passes, and
    `pass_selection` the least selection."""

    selection: float = 0.45
    adherence: float = 0.35
    answer: float = 0.20
    pass_total: float = 0.85
    pass_selection: float = 1.0

    def __post_init__(self) -> None:
        if min(self.weights.values()) < 0 or sum(self.weights.values()) <= 0:
            raise ValueError("weights must not be negative, and one must be more than 0")

    @property
    def weights(self) -> Mapping[str, float]:
        return {SELECTION: self.selection, ADHERENCE: self.adherence, ANSWER: self.answer}

    @property
    def version(self) -> str:
        """Other weights or thresholds are another yardstick."""
        if self == USUAL:
            return LOGIC
        numbers = (self.selection, self.adherence, self.answer, self.pass_total, self.pass_selection)
        return f"{LOGIC}+{'-'.join(f'{number:g}' for number in numbers)}"


USUAL = CompositeRules()


@dataclass(frozen=True, slots=True)
class _Part:
    """A part that applies: its value 0..1 and the evaluators it came from."""

    value: float
    evaluators: tuple[str, ...]


def composites(verdicts: Sequence[Verdict], rules: CompositeRules = USUAL) -> tuple[Verdict, ...]:
    """The composite of each case that has a verdict among these verdicts of one session; without any, that of the
    session. None of no verdicts, and composites among them do not matter."""
    found = [verdict for verdict in verdicts if verdict.evaluator != COMPOSITE]
    if not found:
        return ()
    cases = list(dict.fromkeys(verdict.case for verdict in found if verdict.case is not None))
    return tuple(composite(found, case, rules) for case in cases) or (composite(found, None, rules),)


def composite(verdicts: Sequence[Verdict], case: str | None, rules: CompositeRules = USUAL) -> Verdict:
    """The composite of one case (`suite/case`), or with None of the session without regard to any case."""
    about = [verdict for verdict in verdicts if case is None or verdict.case == case]
    subject = next((verdict.subject for verdict in verdicts if verdict.subject.kind == "session"), _SESSION)
    high_risk = any(verdict.high_risk for verdict in about)
    outcome = _outcome({name: part(verdicts, case, name) for name in PARTS}, rules)
    return Verdict(COMPOSITE, rules.version, subject, outcome, case=case, high_risk=high_risk)


_SESSION = Subject("session", "session")


def part(verdicts: Sequence[Verdict], case: str | None, name: str) -> _Part | NotJudged | None:
    """One part of the composite; None when it does not apply."""
    source = PARTS[name]
    by_case = [one for one in verdicts if case is not None and one.case == case and one.evaluator in source.by_case]
    by_judge = [one for one in verdicts if one.case is None and one.evaluator in source.by_judge]
    return _mean(by_case) or _mean(by_judge)


def _mean(verdicts: Sequence[Verdict]) -> _Part | NotJudged | None:
    scores: list[float] = []
    for verdict in verdicts:
        match verdict.outcome:
            case NotJudged(reason, detail):
                return NotJudged(reason, f"{verdict.evaluator}: {detail or reason}")
            case Score(value, _, _):
                scores.append(value)
    if not scores:
        return None
    names = {verdict.evaluator: None for verdict in verdicts if isinstance(verdict.outcome, Score)}
    return _Part(sum(scores) / len(scores), tuple(names))


def _outcome(parts: Mapping[str, _Part | NotJudged | None], rules: CompositeRules) -> Outcome:
    for name, found in parts.items():
        if isinstance(found, NotJudged) and rules.weights[name] > 0:
            return NotJudged(found.reason, f"{name} was not judged: {found.detail}")
    known = {name: found for name, found in parts.items() if isinstance(found, _Part) and rules.weights[name] > 0}
    if not known:
        return NotApplicable("neither a case nor a judge says anything about selection, adherence or answer")
    whole = sum(rules.weights[name] for name in known)
    shares = {name: rules.weights[name] / whole for name in known}
    total = min(1.0, sum(share * known[name].value for name, share in shares.items()))
    short = _falls_short(total, known, rules)
    told = " + ".join(f"{shares[name]:.2f} x {name} {known[name].value:.2f} ({_by(known[name])})" for name in known)
    absent = [name for name in parts if name not in known]
    dropped = f"; without {' and '.join(absent)}, which did not apply" if absent else ""
    why = f"; {short}" if short else ""
    return Score(total, FAIL if short else PASS, f"{total:.2f} = {told}{dropped}{why}")


def _falls_short(total: float, known: Mapping[str, _Part], rules: CompositeRules) -> str:
    """Why it does not pass, "" when it does."""
    selection = known.get(SELECTION)
    if selection is not None and selection.value < rules.pass_selection - _ROUNDING:
        return f"selection must be at least {rules.pass_selection:g}"
    return f"the total must be at least {rules.pass_total:g}" if total < rules.pass_total - _ROUNDING else ""


def _by(found: _Part) -> str:
    return ", ".join(found.evaluators)
