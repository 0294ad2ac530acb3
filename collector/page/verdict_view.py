"""One verdict as the page shows it, with why there is no score and everything it can be traced by (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collector.commands.remedies import remedy
from collector.page.links import trace_link
from collector.page.texts import Piece, Texts
from collector.store.labels import Label
from collector.waiting import Why
from judge.passing import passed, standing
from judge.question import Scale
from judge.verdict import Judged, NotApplicable, NotJudged, Score, Verdict

Tone: TypeAlias = Literal["good", "bad", "odd", "wait", "none"]


@dataclass(frozen=True, slots=True)
class LabelView:
    author: str
    agrees: bool
    right_label: str | None
    reason: Piece
    at_ns: int


@dataclass(frozen=True, slots=True)
class VerdictView:
    """`by` is who or what judged; `why` says why there is no score, `to_do` what to do about it, "" where there is one.
    `facts` are names with values, None where a value was not recorded. `options` are the labels that could have been
    right, None where nobody knows them all; a verdict without a score cannot be labelled."""

    id: str
    tone: Tone
    word: str
    evaluator: str
    label: str
    value: str
    about: str
    case: str
    high_risk: bool
    by: str
    explanation: Piece | None
    why: str
    to_do: str
    facts: tuple[tuple[str, str | None], ...]
    labels: tuple[LabelView, ...]
    options: tuple[str, ...] | None
    can_label: bool
    trace_url: str | None


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known of verdicts beside themselves: why open questions are open and what people said, by verdict;
    scales, by evaluator."""

    waiting: Mapping[str, Why]
    labels: Mapping[str, Sequence[Label]]
    scales: Mapping[str, Scale]
    trace_url: str | None = None


def severity(judged: Judged) -> tuple[int, bool, str, str]:
    """Failures first, then what has no score, then what passed, then what does not apply; of each high risk first."""
    verdict = judged.verdict
    return standing(verdict), not verdict.high_risk, verdict.evaluator, verdict.case or ""


def verdict_view(judged: Judged, texts: Texts, beside: Beside) -> VerdictView:
    verdict = judged.verdict
    tone, word, label, value = _standing(judged)
    explanation, why, to_do = _words(judged, texts, beside)
    scale = beside.scales.get(verdict.evaluator)
    return VerdictView(
        id=judged.id,
        tone=tone,
        word=word,
        evaluator=texts.name(verdict.evaluator),
        label=texts.name(label) if label else "",
        value=value,
        about=texts.name(verdict.subject.name, 80) if verdict.subject.name else "",
        case=texts.name(verdict.case) if verdict.case else "",
        high_risk=verdict.high_risk,
        by=texts.name(_by(verdict)),
        explanation=explanation,
        why=why,
        to_do=to_do,
        facts=tuple((name, value and texts.name(value)) for name, value in _facts(judged)),
        labels=tuple(_label(one, texts) for one in beside.labels.get(judged.id, ())),
        options=None if scale is None else tuple(one for one in scale.labels if one != label),
        can_label=isinstance(verdict.outcome, Score),
        trace_url=trace_link(beside.trace_url, verdict.subject.anchor),
    )


def _by(verdict: Verdict) -> str:
    """Evaluator version, and who was asked with which prompt."""
    facts = [f"version {verdict.evaluator_version}"]
    facts += [f"judge {verdict.judge_model}"] if verdict.judge_model else []
    facts += [f"prompt {verdict.prompt_version}"] if verdict.prompt_version else []
    facts += [f"{verdict.agreement:.0%} of votes agree"] if verdict.agreement is not None else []
    return ", ".join(facts)


def _standing(judged: Judged) -> tuple[Tone, str, str, str]:
    """Tone, word, label, value."""
    match judged.verdict.outcome:
        case Score(value, label, _):
            good = bool(passed(judged.verdict))
            return "good" if good else "bad", "passed" if good else "failed", label, f"{value:.2f}"
        case NotJudged("pending", _):
            return "wait", "waiting", "", ""
        case NotJudged(reason, _):
            return "odd", "no score", reason, ""
        case NotApplicable():
            return "none", "not applicable", "", ""


def _words(judged: Judged, texts: Texts, beside: Beside) -> tuple[Piece | None, str, str]:
    """Explanation, why there is no score, what to do."""
    of = f"verdict.{judged.id}.explanation"
    match judged.verdict.outcome:
        case Score(_, _, explanation):
            return texts.piece(explanation, of) if explanation else None, "", ""
        case NotJudged("pending", detail):
            why = beside.waiting.get(judged.id) or Why(detail)
            return None, texts.name(why.told, 600), remedy(why.cause or "pending")
        case NotJudged(reason, detail):
            return texts.piece(detail, of) if detail else None, reason, remedy(reason)
        case NotApplicable(reason):
            return texts.piece(reason, of), "", ""


def _facts(judged: Judged) -> list[tuple[str, str | None]]:
    verdict = judged.verdict
    facts: list[tuple[str, str | None]] = [("verdict", judged.id), ("evaluator version", verdict.evaluator_version)]
    if verdict.judge_model or verdict.prompt_version:
        prompt = " ".join(filter(None, (verdict.prompt_version, verdict.prompt_hash)))
        facts += [("judge model", verdict.judge_model), ("prompt", prompt or None)]
    if verdict.agreement is not None:
        facts.append(("agreement of votes", f"{verdict.agreement:.0%}"))
    if verdict.input_tokens or verdict.output_tokens:
        facts.append(("judge tokens", f"{verdict.input_tokens:,} in, {verdict.output_tokens:,} out"))
    if verdict.subject.kind == "skill":
        facts.append(("skill version", judged.skill_version))
    return [*facts, ("agent", _pair(judged.agent, judged.agent_version)), ("models", ", ".join(judged.models) or None)]


def _pair(name: str | None, version: str | None) -> str | None:
    return name if name is None or version is None else f"{name} {version}"


def _label(label: Label, texts: Texts) -> LabelView:
    right = None if label.right_label is None else texts.name(label.right_label)
    # People's words may hold what they copied from the session.
    return LabelView(texts.name(label.author), label.agrees, right, texts.piece(label.reason, "", 4_000), label.at_ns)
