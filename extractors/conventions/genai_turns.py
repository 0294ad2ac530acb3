"""Turns: what the person asked, once each, and which turn a span belongs to.

Every request to a model repeats the conversation so far, so a prompt is what stands after the last assistant
message. A run that begins with tool results instead (an approval came, a tool ran elsewhere) continues a turn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from extractors.conventions.genai_spans import Layout, Placed
from extractors.messages import ASSISTANT_ROLES, USER, Message
from extractors.trajectory import ROOT_AGENT, Prompt
from extractors.tree import Key


@dataclass(slots=True)
class Turns:
    """The prompts, and for every run the instants at which its turns begin with their index in `prompts`."""

    prompts: list[Prompt] = field(default_factory=list)
    begins: dict[Key, list[tuple[int, int]]] = field(default_factory=dict)

    def index(self, placed: Placed) -> int:
        """The turn something belongs to; -1 when none had begun."""
        begun = self.begins.get(placed.run)
        if begun is None:
            return max((_last_begun(found, placed.start_ns) for found in self.begins.values()), default=-1)
        return begun[0][1] if len(begun) == 1 else max(_last_begun(begun, placed.start_ns), begun[0][1])


def _last_begun(begins: Sequence[tuple[int, int]], now_ns: int) -> int:
    """Index of the last turn that began by then; -1 when none had."""
    count = bisect_right(begins, now_ns, key=lambda begin: begin[0])
    return begins[count - 1][1] if count else -1


def turns_of(layout: Layout) -> Turns:
    """The turns of a session, from its runs in time order."""
    by_run: dict[Key, list[Placed]] = {}
    for placed in sorted(layout.exchanges, key=lambda one: one.agent != ROOT_AGENT):  # the root agent's own first
        if placed.agent == ROOT_AGENT or placed.run in layout.top_agents:
            by_run.setdefault(placed.run, []).append(placed)
    for run, agents in _agents_by_run(layout).items():
        by_run[run] = agents + by_run.get(run, [])
    turns = Turns()
    for run, sources in sorted(by_run.items(), key=lambda item: (item[1][0].start_ns, item[0])):
        if run in layout.top_agents:
            _begin_one(turns, run, sources)
        else:
            _begin_each(turns, run, sources)
    return turns


def _agents_by_run(layout: Layout) -> Mapping[Key, list[Placed]]:
    """run → its top-level agent span, then those of the same agent inside it (another instrumentation's)."""
    found = {run: [top] for run, top in layout.top_agents.items()}
    for placed in layout.agent_spans:
        if placed.agent == ROOT_AGENT and placed.run in found and placed is not found[placed.run][0]:
            found[placed.run].append(placed)
    return found


def _begin_one(turns: Turns, run: Key, sources: Sequence[Placed]) -> None:
    """An agent's run is one turn; its prompt is told by the agent span, else by its first request, else, when it
    only delegates, by the first request of the first agent below it."""
    telling = [placed for placed in sources if placed.content.inputs is not None]
    if not turns.prompts:  # what continues a turn that was not recorded is told by a request's history alone
        telling = [placed for placed in telling if any(map(_asks, placed.content.inputs or ()))] or telling
    source = next(iter(telling), None)
    inputs = source.content.inputs if source is not None else None
    _begin(turns, run, source or sources[0], sources[0].start_ns, inputs)


def _begin_each(turns: Turns, run: Key, sources: Sequence[Placed]) -> None:
    """Without an agent span, every request that brings new text of the person begins a turn."""
    before: tuple[Message, ...] | None = None
    for placed in sources:
        inputs = placed.content.inputs
        asks = inputs is not None and inputs != before and brings_prompt(inputs)
        if asks or run not in turns.begins:
            _begin(turns, run, placed, placed.start_ns, inputs)
        before = inputs if inputs is not None else before


def _begin(turns: Turns, run: Key, source: Placed, start_ns: int, inputs: tuple[Message, ...] | None) -> None:
    text = new_prompt(inputs) if inputs is not None else None
    continues = bool(inputs) and bool(turns.prompts) and not brings_prompt(inputs or ())
    if not continues:
        if text is None and inputs and not brings_prompt(inputs):
            text = next((message.text for message in reversed(inputs) if _asks(message)), None)
        turns.prompts.append(Prompt(text, source.anchor, start_ns))
    turns.begins.setdefault(run, []).append((start_ns, len(turns.prompts) - 1))


def brings_prompt(inputs: Sequence[Message]) -> bool:
    """Whether the person said something that no assistant message follows, be its text recorded or not."""
    return any(_asks(message) or (message.hidden and message.role == USER) for message in since_answer(inputs))


def new_prompt(inputs: Sequence[Message]) -> str | None:
    """The person's text that no assistant message follows; None when there is none."""
    return next((message.text for message in reversed(since_answer(inputs)) if _asks(message)), None)


def since_answer(inputs: Sequence[Message]) -> Sequence[Message]:
    """The messages after the last assistant message."""
    start = len(inputs)  # sought from the end, since histories are long and turns short
    while start and inputs[start - 1].role not in ASSISTANT_ROLES:
        start -= 1
    return inputs[start:]


def since_prompt(inputs: Sequence[Message]) -> Sequence[Message]:
    """The messages after the person's last text: what happened in this turn."""
    start = len(inputs)
    while start and not (inputs[start - 1].role == USER and inputs[start - 1].text):
        start -= 1
    return inputs[start:]


def _asks(message: Message) -> bool:
    return message.role == USER and bool(message.text)
