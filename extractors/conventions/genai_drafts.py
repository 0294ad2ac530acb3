"""A tool call while its traces are gathered: what asked for it, what executed it, what answered it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from extractors.conventions.genai_spans import Placed
from extractors.messages import RequestedCall, ToolResult
from extractors.spans import Value
from extractors.tree import Key


class Execution(NamedTuple):
    """What an `execute_tool` span says of its call."""

    placed: Placed
    name: str
    call_id: str | None
    arguments: Value
    result: str | None
    failed: bool
    error: str | None


@dataclass(slots=True)
class Draft:
    """A call while its traces are gathered."""

    name: str
    call_id: str | None
    asked: Placed | None = None
    request: RequestedCall | None = None
    executions: list[Execution] = field(default_factory=list)
    answer: ToolResult | None = None

    @property
    def since_ns(self) -> int:
        """When the call can first have run."""
        return self.place.start_ns

    @property
    def place(self) -> Placed:
        """What asked for the call, else what executed it first."""
        return self.asked if self.asked is not None else self.executions[0].placed

    @property
    def agent(self) -> str:
        return self.place.agent

    @property
    def run(self) -> Key:
        return self.place.run


@dataclass(slots=True)
class Ledger:
    """All drafts in order, also by call id and by the span that executed them."""

    drafts: list[Draft] = field(default_factory=list)
    by_id: dict[str, list[Draft]] = field(default_factory=dict)
    by_span: dict[Key, Draft] = field(default_factory=dict)
    waiting: dict[tuple[str, str], deque[Draft]] = field(default_factory=dict)
    """(agent, tool) → requests that no span has answered yet, and some that one has"""

    def add(self, draft: Draft) -> Draft:
        self.drafts.append(draft)
        if draft.asked is not None:
            self.waiting.setdefault((draft.asked.agent, draft.name), deque()).append(draft)
        if draft.call_id is not None:
            self.by_id.setdefault(draft.call_id, []).append(draft)
        return draft
