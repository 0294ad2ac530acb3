"""What people said about verdicts, and the counts that it is held against. A part of the store, as the ledger is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from judge.pass_rates import Tally
from judge.verdict import SessionRef
from judge.yardstick import Yardstick


@dataclass(frozen=True, slots=True)
class Label:
    """One person's word on one verdict. `passes` is what they say it should have been; `right_label` the label they
    would have given, None where they agree or did not say."""

    verdict_id: str
    author: str
    at_ns: int
    agrees: bool
    passes: bool
    reason: str
    right_label: str | None = None


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A label beside what the evaluator had found, as it was then."""

    label: Label
    session: SessionRef
    yardstick: Yardstick
    judged_label: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """Scored verdicts of newest closings, of one yardstick about one version of one agent."""

    service: str | None
    agent_version: str | None
    yardstick: Yardstick
    tally: Tally


class Labels(Protocol):
    """Implemented by `sql_labels.SqlLabels`. Every method raises `StoreUnavailable`."""

    async def add(self, label: Label) -> bool:
        """Keep it beside the author's earlier ones, of which the newest counts. False, and nothing kept, when no
        verdict with a score has this id. The same label again changes nothing."""

    async def of_verdicts(self, verdict_ids: Collection[str]) -> list[Label]:
        """All that was ever said about them, oldest first."""

    async def given(self, evaluator: str | None = None, since_ns: int | None = None) -> list[GivenLabel]:
        """All that was said from that moment on, oldest first."""

    async def counts(self, since_ns: int | None = None, evaluators: Collection[str] | None = None) -> Sequence[Counted]:
        """Of sessions that closed from that moment on, superseded closings left out."""

    async def known_labels(self, evaluator: str, tenants: frozenset[str] | None = None) -> dict[str, set[bool]]:
        """The labels that the evaluator has given in sessions of these tenants (None: of all), with whether their
        verdicts passed (True), failed, or both."""
