"""What tool calls were answered, as far as later messages tell.

An id says which call an answer belongs to, unless a model numbers its calls anew in every answer; then their order
does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from extractors.conventions.genai_drafts import Draft, Ledger
from extractors.conventions.genai_spans import Layout, Placed
from extractors.messages import Message, ToolResult


def enter_answers(ledger: Ledger, layout: Layout) -> None:
    """Results that later messages repeat; the first one told after the request counts."""
    waiting: dict[str | None, Draft] = {call_id: known[0] for call_id, known in ledger.by_id.items() if len(known) == 1}
    shared = len(waiting) < len(ledger.by_id)
    for placed in sorted((*layout.exchanges, *layout.agent_spans, *layout.others), key=lambda item: item.start_ns):
        for message in _messages_of(placed):
            for answer in message.results:
                draft = waiting.get(answer.call_id)
                if draft is not None and draft.since_ns <= placed.end_ns:
                    draft.answer = answer
                    del waiting[answer.call_id]
    if not shared:
        return
    requests = ((placed, placed.start_ns) for placed in sorted(layout.exchanges, key=lambda item: item.start_ns))
    for placed, until_ns in (*requests, *((placed, placed.end_ns) for placed in layout.agent_spans)):
        for call_id, answers in _by_call(_messages_of(placed)).items():
            _enter_shared(ledger.by_id.get(call_id, ()), answers, placed, until_ns)


def _messages_of(placed: Placed) -> tuple[Message, ...]:
    return (*(placed.content.inputs or ()), *(placed.content.outputs or ()))


def _by_call(told: Sequence[Message]) -> Mapping[str, list[list[ToolResult]]]:
    """Call id → what each call of this id was answered: messages hold call and answer in turn."""
    found: defaultdict[str, list[list[ToolResult]]] = defaultdict(list)
    for message in told:
        for call in message.calls:
            if call.call_id is not None:
                found[call.call_id].append([])
        for answer in message.results:
            if answer.call_id is not None:
                answers = found[answer.call_id]
                if not answers or answers[-1]:
                    answers.append([])  # the call itself is not among the messages
                answers[-1].append(answer)
    return found


def _enter_shared(known: Sequence[Draft], answers: list[list[ToolResult]], placed: Placed, until_ns: int) -> None:
    """Answers to calls of one id, as of models that number their calls anew in every answer: the latest in the
    messages are those to the latest calls before this request."""
    if len(known) < 2:
        return
    before = answers[: len(answers) - sum(draft.asked is placed for draft in known)]
    made = [draft for draft in known if draft.asked is not placed and draft.since_ns <= until_ns]
    own = [draft for draft in made if draft.agent == placed.agent]
    here = [draft for draft in made if draft.run == placed.run]
    if here and not any(draft.run == placed.run for draft in own):
        made = here  # the agent was handed a conversation with calls of others
    elif len(own) >= len(before):
        made = own
    for draft, given in zip(reversed(made), reversed(before), strict=False):
        if given and draft.answer is None:
            draft.answer = given[0]
