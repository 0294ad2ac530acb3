"""A trajectory as text for a judge, within a token limit, with every gap marked and counted.

What everything else depends on is kept: the task, the skills on offer, the skill loads, the answer. Of the rest,
long texts lose their middles first; if that is not enough, whole entries go from the middle of the session.
Sizes are estimated at 3.5 bytes of UTF-8 a token, which errs on the safe side for English and most code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from extractors.anchors import Anchor
from extractors.skills import Skill
from extractors.trajectory import ROOT_AGENT, Failure, Prompt, Step, ToolCall, Trajectory
from judge.describe import arguments_text
from judge.fence import Markup, element, escape, fence, size
from judge.origins import asking_turns
from judge.redaction import NOTHING, Redaction

BYTES_PER_TOKEN = 3.5
DEFAULT_TOKENS = 60_000
CAPS = (16_000, 4_000, 1_000, 300)
"""Most bytes of one text in an entry, tried in turn until everything fits."""

TASK_SHARE, CATALOG_SHARE, LOADS_SHARE, ANSWER_SHARE = 0.25, 0.15, 0.1, 0.15
HEAD_SHARE = 0.4
"""Share of the room for entries that goes to the beginning of the session when its middle has to go."""

TAGS_BYTES = 600
"""Room for the tags and marks around what was shortened."""

Entry = Prompt | Step | ToolCall | Failure


@dataclass(frozen=True, slots=True)
class Transcript:
    """`text` is safe to put into a prompt. `elided` tells whether anything was left out; the text says where.
    `entries` is the whole session in order, numbered from 1 in the text."""

    text: Markup
    elided: bool
    entries: tuple[Entry, ...]


def tokens(text: str) -> int:
    """About how many tokens the text has; never too few for plain English."""
    return int(size(escape(text)) / BYTES_PER_TOKEN) + 1


def transcript(trajectory: Trajectory, most_tokens: int = DEFAULT_TOKENS, redaction: Redaction = NOTHING) -> Transcript:
    """The whole session in at most `most_tokens` (1,000 or more). The same for every question about the session,
    so that judges can cache it; see `excerpt` for the part that one question is about. In texts that are cut,
    `redaction` masks the secrets."""
    room = int(most_tokens * BYTES_PER_TOKEN)
    entries = in_order(trajectory)
    if not _surely_too_long(trajectory, room):
        whole = _whole(trajectory, entries, redaction)
        if size(whole) <= room:
            return Transcript(whole, elided=False, entries=entries)
    return Transcript(_shortened(trajectory, entries, room, redaction), elided=True, entries=entries)


def in_order(trajectory: Trajectory) -> tuple[Entry, ...]:
    """Everything that a transcript shows, in time order. A call without a time stands after the model turn that asked
    for it, or after the call before it."""
    timed: list[tuple[int, int, Entry]] = [(prompt.time_ns, 0, prompt) for prompt in trajectory.prompts]
    timed += [(step.start_ns, 1, step) for step in trajectory.steps]
    timed += [(failure.time_ns, 3, failure) for failure in trajectory.failures]
    latest_ns = trajectory.started_ns
    for call, asking in zip(trajectory.tool_calls, asking_turns(trajectory), strict=True):
        latest_ns = _call_ns(call, asking, latest_ns)
        timed.append((latest_ns, 2, call))
    return tuple(entry for _, _, entry in sorted(timed, key=lambda item: item[:2]))


def _shortened(trajectory: Trajectory, entries: Sequence[Entry], room: int, redaction: Redaction) -> Markup:
    task = _text("task", trajectory.task, int(room * TASK_SHARE), redaction)
    catalog = catalog_text(trajectory.offered_skills, int(room * CATALOG_SHARE), redaction)
    loads = _loads(trajectory, int(room * LOADS_SHARE), redaction)
    answer = _text("answer", trajectory.answer, int(room * ANSWER_SHARE), redaction)
    left = room - sum(map(size, (task, catalog, loads, answer))) - TAGS_BYTES
    return Markup("\n".join((task, catalog, loads, _session(entries, left, redaction), answer)))


def excerpt(
    record: Transcript, anchor: Anchor, most_tokens: int, neighbours: int = 3, redaction: Redaction = NOTHING
) -> Markup | None:
    """The entries around a place, for a question about it when the transcript was elided; None when no entry is
    anchored there."""
    at = next((index for index, entry in enumerate(record.entries) if entry.anchor == anchor), None)
    if at is None:
        return None
    room = int(most_tokens * BYTES_PER_TOKEN) - 100
    for around in range(neighbours, -1, -1):
        first = max(0, at - around)
        near = record.entries[first : at + around + 1]
        for cap in CAPS:
            if parts := _all_fitting(near, first + 1, cap, room, redaction):
                return element("excerpt", *parts)
    return element("excerpt", _entry(at + 1, record.entries[at], max(100, room // 8), redaction))


def catalog_text(
    skills: Sequence[Skill] | None, most_bytes: int | None = None, redaction: Redaction = NOTHING
) -> Markup:
    """The skills on offer. "Not recorded" and "none" are told apart, since they mean different things to a judge."""
    match skills:
        case None:
            return Markup('<offered_skills state="not recorded"/>')
        case ():
            return Markup('<offered_skills state="recorded: none were offered"/>')
    lines = [_skill(skill, redaction) for skill in skills]
    return _list("offered_skills", lines, most_bytes)


def _surely_too_long(trajectory: Trajectory, room: int) -> bool:
    """A cheap look first: a session may hold hundreds of megabytes that need not be escaped to be left out."""
    for text in _long_texts(trajectory):
        room -= len(text or "")
        if room < 0:
            return True
    return False


def _long_texts(trajectory: Trajectory) -> Iterator[str | None]:
    yield trajectory.task
    yield trajectory.answer
    yield from (prompt.text for prompt in trajectory.prompts)
    yield from (step.text for step in trajectory.steps)
    yield from (failure.message for failure in trajectory.failures)
    for call in trajectory.tool_calls:
        yield call.arguments_text
        yield call.result if call.error is None else call.error


def _whole(trajectory: Trajectory, entries: Sequence[Entry], redaction: Redaction) -> Markup:
    parts = [
        _text("task", trajectory.task, None, redaction),
        catalog_text(trajectory.offered_skills, redaction=redaction),
        _loads(trajectory, None, redaction),
        element("session", *(_entry(number, entry, None, redaction) for number, entry in enumerate(entries, start=1))),
        _text("answer", trajectory.answer, None, redaction),
    ]
    return Markup("\n".join(parts))


def _session(entries: Sequence[Entry], room: int, redaction: Redaction) -> Markup:
    for cap in CAPS:
        parts = _all_fitting(entries, 1, cap, room, redaction)
        if parts is not None:
            return element("session", *parts)
    count = len(entries)

    def shown(places: Iterable[int], room: int) -> list[Markup]:
        return _fitting((_entry(at + 1, entries[at], CAPS[-1], redaction) for at in places), room)

    head = shown(range(count), int(room * HEAD_SHARE))
    room -= sum(size(part) + 1 for part in head)
    tail = shown(range(count - 1, -1, -1), room)
    # The whole did not fit, so head and tail cannot meet.
    gone = entries[len(head) : count - len(tail)]
    return element("session", *head, _gap(gone), *reversed(tail))


def _all_fitting(
    entries: Sequence[Entry], first: int, cap: int, room: int, redaction: Redaction
) -> list[Markup] | None:
    """The entries, numbered from `first`, if all of them fit."""
    parts = _fitting((_entry(number, entry, cap, redaction) for number, entry in enumerate(entries, first)), room)
    return parts if len(parts) == len(entries) else None


def _fitting(parts: Iterable[Markup], room: int) -> list[Markup]:
    """The first parts that fit, one a line; no more are built than that, and one."""
    kept = []
    for part in parts:
        room -= size(part) + 1
        if room < 0:
            break
        kept.append(part)
    return kept


def _gap(gone: Sequence[Entry]) -> Markup:
    kinds = Counter(type(entry).__name__ for entry in gone)
    names = {"Prompt": "prompts", "Step": "model_turns", "ToolCall": "calls", "Failure": "failures"}
    counts = "".join(f' {names[kind]}="{count}"' for kind, count in sorted(kinds.items()))
    return Markup(f'<left_out entries="{len(gone)}"{counts}/>')


def _call_ns(call: ToolCall, asking: Step | None, latest_ns: int) -> int:
    if call.start_ns is not None:
        return call.start_ns
    return latest_ns if asking is None else asking.start_ns


def _entry(number: int, entry: Entry, cap: int | None, redaction: Redaction) -> Markup:
    match entry:
        case Prompt():
            return element(f'prompt n="{number}"', _text("text", entry.text, cap, redaction))
        case Step():
            parts = [_text("text", entry.text, cap, redaction), *_optional("error", entry.error, cap, redaction)]
            return element(f'model_turn n="{number}"', *_agent(entry.agent, redaction), *parts)
        case Failure():
            kind = fence("kind", entry.kind, cap, redaction)
            return element(
                f'failure n="{number}"',
                *_agent(entry.agent, redaction),
                kind,
                _text("message", entry.message, cap, redaction),
            )
        case ToolCall():
            return element(
                f'call n="{number}"',
                *_agent(entry.agent, redaction),
                fence("tool", entry.name, cap, redaction),
                _text("arguments", arguments_text(entry), cap, redaction),
                fence("outcome", entry.outcome),
                _text("result", entry.result, cap, redaction)
                if entry.error is None
                else fence("error", entry.error, cap, redaction),
            )


def _agent(agent: str, redaction: Redaction) -> list[Markup]:
    return [] if agent == ROOT_AGENT else [fence("sub_agent", agent, 200, redaction)]


def _optional(tag: str, text: str | None, cap: int | None, redaction: Redaction) -> list[Markup]:
    return [] if text is None else [fence(tag, text, cap, redaction)]


def _text(tag: str, text: str | None, cap: int | None, redaction: Redaction) -> Markup:
    return Markup(f'<{tag} state="not recorded"/>') if text is None else fence(tag, text, cap, redaction)


def _skill(skill: Skill, redaction: Redaction) -> Markup:
    name = fence("name", skill.name, 300, redaction)
    return element("skill", name, _text("description", skill.description, 2_000, redaction))


def _loads(trajectory: Trajectory, most_bytes: int | None, redaction: Redaction) -> Markup:
    if not trajectory.skill_invocations:
        return Markup('<skill_loads state="none"/>')
    lines = [
        element(
            "load",
            *_agent(load.agent, redaction),
            _text("name", load.name, 300, redaction),
            fence("outcome", load.outcome),
            fence("asked_by", load.loaded_by),
            *_optional("refusal", load.refusal, 1_000, redaction),
        )
        for load in trajectory.skill_invocations
    ]
    return _list("skill_loads", lines, most_bytes)


def _list(tag: str, lines: Sequence[Markup], most_bytes: int | None) -> Markup:
    kept = list(lines) if most_bytes is None else _fitting(lines, most_bytes - 100)
    gone = len(lines) - len(kept)
    return element(tag, *kept, *([Markup(f'<left_out entries="{gone}"/>')] if gone else []))
