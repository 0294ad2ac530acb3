"""Verdicts: what one evaluator found about one subject of one session."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from extractors.anchors import Anchor
from extractors.trajectory import Trajectory

SubjectKind: TypeAlias = Literal["session", "skill", "tool_call", "step"]


@dataclass(frozen=True, slots=True)
class Score:
    """A judgement. `value` is 0..1 (1 is best), `label` one of the evaluator's documented labels."""

    value: float
    label: str
    explanation: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and 0.0 <= self.value <= 1.0):
            raise ValueError(f"a score is a number from 0 to 1, not {self.value!r}")


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """There was nothing of the kind to judge. Never averaged."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotJudged:
    """It should have been judged and could not be. Never averaged, never a failure of the agent.

    `reason` is a short machine-readable word (`no_judge_configured`, `judge_unavailable`, `judge_refused`,
    `answer_cut_off`, `answer_malformed`, `evaluator_error`, `content_not_recorded`, `over_limit`,
    `votes_disagree`, `votes_missing`, ...); `detail` is for people.
    """

    reason: str
    detail: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether something went wrong; not when this deployment just records, asks or spends no more than it does."""
        return self.reason not in NO_FAULT


NO_FAULT = frozenset({"content_not_recorded", "no_judge_configured", "budget_spent", "over_limit"})
"""Reasons for which a verdict has no score although everything works as it was set up."""

Outcome: TypeAlias = Score | NotApplicable | NotJudged


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged: the session, one skill invocation, one tool call or one model step.

    `ref` tells subjects of a kind apart within the session and is the same on every run (an `Anchor.ref`, with
    a suffix where one span holds several). `name` is the skill or tool name, for labels and people.
    """

    kind: SubjectKind
    ref: str
    anchor: Anchor | None = None
    name: str | None = None
    agent: str | None = None


def whole_session(trajectory: Trajectory) -> Subject:
    """The session itself as subject, anchored to its first root span where one is known."""
    return Subject("session", "session", trajectory.root_anchor)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One evaluator's finding. Where it stands (session, revision, versions) is added by `Judged`.

    `evaluator_version` changes whenever the same trajectory could get another score; for a judged question it
    includes the prompt's version. `suite`/`case` name the expectation that asked, if one did.
    `judge_model`, `prompt_version`, `prompt_hash` are set when a model was asked. `agreement` is the share of votes
    that agree with the outcome, 0..1; None when one answer decided.
    """

    evaluator: str
    evaluator_version: str
    subject: Subject
    outcome: Outcome
    case: str | None = None
    high_risk: bool = False
    judge_model: str | None = None
    prompt_version: str | None = None
    prompt_hash: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    agreement: float | None = None


@dataclass(frozen=True, slots=True)
class SessionRef:
    """Which closing of which session: tenant, id, and revision (1 for the first closing)."""

    session_id: str
    revision: int = 1
    tenant: str = ""


def verdict_id(session: SessionRef, verdict: Verdict) -> str:
    """32 hex digits that are the same whenever the same work is done again (design §2)."""
    parts = (
        session.tenant,
        session.session_id,
        verdict.evaluator,
        verdict.evaluator_version,
        verdict.case or "",
        verdict.subject.kind,
        verdict.subject.ref,
        str(session.revision),
    )
    # Length-prefixed, so that no choice of texts can make two different tuples hash alike.
    joined = b"".join(
        len(raw).to_bytes(4, "big") + raw for raw in (part.encode("utf-8", "surrogatepass") for part in parts)
    )
    return hashlib.sha256(joined).hexdigest()[:32]


def verdict_span_id(identity: str) -> str:
    """The OTLP span id (16 hex digits) of the span that reports the verdict with this id."""
    return hashlib.sha256(f"span:{identity}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trace viewer shows a verdict: below this span of the trace that was judged (None: below none), at this
    moment by the sender's clock (None: it is not known)."""

    parent: str | None
    at_ns: int | None


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with everything it can be traced by: session, versions, closing, sampling. `place` is None for what is
    in no trace, and for verdicts kept before places were."""

    id: str
    session: SessionRef
    verdict: Verdict
    harness: str
    close_reason: str
    inclusion_probability: float
    judged_ns: int
    service: str | None = None
    service_version: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    models: tuple[str, ...] = ()
    system_prompt_hash: str | None = None
    tool_definitions_hash: str | None = None
    skill_version: str | None = None
    harness_version: str | None = None
    supersedes: bool = False
    attributes: dict[str, str] = field(default_factory=dict)
    place: Place | None = None
