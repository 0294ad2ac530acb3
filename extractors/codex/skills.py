"""Skills of Codex: its event tells of reads that were about to happen, and misses some; the calls tell what happened.

A skill is loaded by reading its SKILL.md with a command, or because the person mentioned it (`$name`), in which case
its text is put into the prompt and nothing is read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from typing_extensions import TypeIs

from extractors import attributes as attrs
from extractors import skill_signals
from extractors.codex.calls import Call
from extractors.codex.telemetry import MENTIONS, Telemetry, time_of
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import LogRecord
from extractors.trajectory import CallOutcome
from extractors.tree import Key, record_anchor, span_anchor

EVENT: Final = "skill_invocation"

_EXPLICIT: Final = "explicit"
_MENTION: Final = re.compile(r"(?<![\w$])\$([A-Za-z][\w:.-]{0,63})")
_OUTCOMES: Final = {
    CallOutcome.OK: LoadOutcome.LOADED,
    CallOutcome.FAILED: LoadOutcome.REFUSED,
    CallOutcome.REFUSED: LoadOutcome.REFUSED,
    CallOutcome.UNANSWERED: LoadOutcome.UNANSWERED,
}


def invocations(found: Telemetry, made: Sequence[Call]) -> tuple[tuple[SkillInvocation, ...], tuple[str, ...]]:
    """Every attempt to load a skill once, in time order, and remarks on uses of skills that are no load."""
    events = found.named(EVENT)
    matches = _matched(found, events, made)
    announced = {call.call.anchor.ref: record for record, call in matches if call is not None}
    reads = skill_signals.invocations(call.call for call in made)
    counts = Counter(read.anchor.ref for read in reads)
    times = {call.call.anchor.ref: call.order_ns for call in made}
    cut = {call.call.anchor.ref for call in made if call.is_cut}
    attempts: list[tuple[int, SkillInvocation]] = []
    for read in reads:
        ref = read.anchor.ref
        told = _name(announced[ref]) if counts[ref] == 1 and ref in announced else None
        # The version of a text of which only the beginning is known is not known.
        version = None if ref in cut else read.body_hash
        attempts.append((times[ref], replace(read, name=told or read.name, body_hash=version)))
    attempts += [(call.order_ns, _unread(call, record)) for record, call in matches if _hides_its_file(call, counts)]
    attempts += [(time_of(record), _from_event(found, record)) for record, call in matches if call is None]
    attempts += _silent_mentions(found, events)
    attempts.sort(key=lambda item: (item[0], item[1].anchor.ref, item[1].name or ""))
    return tuple(attempt for _, attempt in attempts), tuple(_remarks(matches, reads))


def _hides_its_file(call: Call | None, counts: Mapping[str, int]) -> TypeIs[Call]:
    """Whether the announced call may be a read though its arguments do not say so, since they were not recorded."""
    return call is not None and call.call.arguments is None and not counts.get(call.call.anchor.ref)


def _unread(call: Call, record: LogRecord) -> SkillInvocation:
    outcome = _OUTCOMES[call.call.outcome]
    refusal = call.call.error if outcome is LoadOutcome.REFUSED else None
    where = (call.call.anchor, call.call.agent)
    return SkillInvocation(_name(record), outcome, *where, LoadedBy.FILE, call.call.call_id, refusal=refusal)


def _remarks(matches: Iterable[tuple[LogRecord, Call | None]], reads: Iterable[SkillInvocation]) -> Iterator[str]:
    """Events whose call read no SKILL.md, for skills that nothing else in the session loaded."""
    loaded = {read.name for read in reads}
    for record, call in matches:
        if call is not None and call.call.arguments is not None and _name(record) not in loaded:
            yield f"skill {_name(record)}: a file of it was run or read, its instructions were not"


def _matched(
    found: Telemetry, events: Iterable[LogRecord], made: Sequence[Call]
) -> list[tuple[LogRecord, Call | None]]:
    """Each event with the call that it announces; a mention announces none.

    They share a span; without spans it is the next call that names the skill, else the next that reads some SKILL.md.
    """
    by_place: defaultdict[Key, list[Call]] = defaultdict(list)
    for call in made:
        for place in dict.fromkeys(call.places):
            by_place[place].append(call)
    waiting = _Waiting(made)
    matches: list[tuple[LogRecord, Call | None]] = []
    for record in events:
        match: Call | None = None
        if attrs.text(record.attributes, "skill.invocation_type") != _EXPLICIT:
            own = by_place.get((record.trace_id or "", record.span_id or ""), [])
            free = [one for one in own if waiting.is_free(one)]
            match = free[0] if free else waiting.next(found.agent_of_record(record), time_of(record), _name(record))
            waiting.take(match)
        matches.append((record, match))
    return matches


class _Waiting:
    """The calls that no event has been matched with, and that deal with files of skills, by agent and skill."""

    def __init__(self, made: Iterable[Call]) -> None:
        self._taken: set[int] = set()
        self._by_skill: defaultdict[tuple[str, str], list[Call]] = defaultdict(list)
        for call in made:
            for part in dict.fromkeys(re.findall(r"[^/\\\s'\"]{1,80}", _arguments(call))):
                self._by_skill[call.call.agent, part].append(call)

    def is_free(self, call: Call) -> bool:
        return id(call) not in self._taken

    def take(self, call: Call | None) -> None:
        if call is not None:
            self._taken.add(id(call))

    def next(self, agent: str, time_ns: int, name: str | None) -> Call | None:
        """The first free call of the agent, not over at this time, whose arguments name the skill's directory."""
        directory = (name or "").rpartition(":")[2]
        own = self._by_skill.get((agent, directory), ()) if directory else ()
        return next((call for call in own if self.is_free(call) and _may_follow(call, time_ns)), None)


def _may_follow(call: Call, time_ns: int) -> bool:
    return call.call.end_ns is None or call.call.end_ns >= time_ns


def _arguments(call: Call) -> str:
    arguments = call.call.arguments
    return attrs.json_text(arguments) if arguments is not None else call.call.arguments_text or ""


def _from_event(found: Telemetry, record: LogRecord) -> SkillInvocation:
    """A mention, which is a load; or a read that was announced and of which nothing more is known."""
    is_mention = attrs.text(record.attributes, "skill.invocation_type") == _EXPLICIT
    return SkillInvocation(
        _name(record),
        LoadOutcome.LOADED if is_mention else LoadOutcome.UNANSWERED,
        record_anchor(record),
        found.agent_of_record(record),
        LoadedBy.USER if is_mention else LoadedBy.FILE,
    )


def _name(record: LogRecord) -> str | None:
    return attrs.text(record.attributes, "skill.name") or None


def _silent_mentions(found: Telemetry, events: Iterable[LogRecord]) -> Iterator[tuple[int, SkillInvocation]]:
    """Mentions without an event: older versions have none, and traces alone tell only how many skills were put in.

    The prompt tells which, if it names as many.
    """
    told = Counter(
        found.turn_after(record)
        for record in events
        if attrs.text(record.attributes, "skill.invocation_type") == _EXPLICIT
    )
    for span in found.of(MENTIONS):
        turn = found.turn_at(span.trace_id, span.start_ns)
        count = min(attrs.integer(span.attributes, "selected_skill_count") or 0, _MOST_MENTIONS)
        if count - told[turn] <= 0:
            continue
        named = mentions(found.prompts[turn].text) if turn >= 0 else ()
        names: Sequence[str | None] = (
            named if len(named) == count and not told[turn] else (None,) * (count - told[turn])
        )
        for name in names:
            agent = found.agent_of_span(span)
            anchor = span_anchor(span)
            yield span.start_ns, SkillInvocation(name, LoadOutcome.LOADED, anchor, agent, LoadedBy.USER)


_MOST_MENTIONS: Final = 50


def mentions(prompt: str | None) -> tuple[str, ...]:
    """The names that a prompt mentions as `$name`, each once."""
    return tuple(dict.fromkeys(name.rstrip(".:-") for name in _MENTION.findall(prompt or "")))


def skill_versions(attempts: Iterable[SkillInvocation]) -> Mapping[str, str] | None:
    """Skill name → hash of its text, for those whose whole text was seen; None when none was."""
    known = {attempt.name: attempt.body_hash for attempt in attempts if attempt.name and attempt.body_hash is not None}
    return known or None
