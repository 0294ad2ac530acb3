"""What the API answers, as records: the schemas of docs/openapi.json are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from pydantic import Field

from collector.store.labels import Label
from collector.store.store import ClosedSession, SessionSummary
from judge.verdict import Judged

Instant: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListed(SessionSummary):
    """One judged session, without what happened in it."""

    closed_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelShown(Label):
    """One person's word on one verdict."""

    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictShown(Judged):
    """A verdict with everything it can be traced by, and all that people said about it, oldest first."""

    labels: tuple[LabelShown, ...]


@dataclass(frozen=True, slots=True)
class SessionsFound:
    """Newest first."""

    sessions: tuple[SessionListed, ...]


@dataclass(frozen=True, slots=True)
class SessionFound:
    """One closing of a session; `revisions` are all its closings, newest first."""

    session: ClosedSession
    revisions: tuple[int, ...]
    verdicts: tuple[VerdictShown, ...]


@dataclass(frozen=True, slots=True)
class VerdictsFound:
    """Verdicts of one or many sessions."""

    verdicts: tuple[VerdictShown, ...]


@dataclass(frozen=True, slots=True)
class LabelKept:
    """The label as it was kept."""

    label: LabelShown


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend. `field` is a parameter or a field of the body, empty for the request as a whole."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request was not served."""

    error: str
    problems: tuple[Problem, ...]
