"""Skills asked for: by the tool `Skill`, by the person's `/name`, by reading a SKILL.md.

`skill_activated` proves a load and tells the skill's source. It belongs to the call whose execution it was sent from;
without spans, to the next successful Skill call of its prompt. Of skills it names by a placeholder, unless the user
switched on tool details; `api_request` then still has the name in `skill.name`, "the skill last loaded in this
prompt" by the main agent, which tells when only one load can be meant.

The trigger `nested-skill` says that the main agent had asked for a skill before in the same prompt. Where no such call
is known, the prompt's silent turn was one: a refusal, of a skill that the telemetry does not name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from extractors import attributes as attrs
from extractors import skill_signals
from extractors.anchors import Anchor
from extractors.claude_code.bodies import Bodies
from extractors.claude_code.calls import Call
from extractors.claude_code.requests import Request
from extractors.claude_code.telemetry import Telemetry
from extractors.skill_signals import with_body
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import LogRecord
from extractors.trajectory import ROOT_AGENT
from extractors.tree import record_anchor

PLACEHOLDERS: Final = frozenset({"custom_skill", "third-party", "third_party_skill"})
"""What the CLI writes in place of the name of a skill that is not its own."""

BY_PERSON: Final = "user-slash"
NESTED: Final = "nested-skill"


def invocations(
    found: Telemetry, made: Sequence[Call], silent: Sequence[Request], texts: Bodies
) -> tuple[SkillInvocation, ...]:
    """Every attempt to load a skill, in time order. `silent` are the turns whose calls are not known."""
    activated = found.named("skill_activated")
    by_person = [record for record in activated if _trigger(record) == BY_PERSON]
    by_call = _matched(found, made, [record for record in activated if _trigger(record) != BY_PERSON])
    of_calls = {call.call.anchor: record for record, call in by_call if call is not None}
    uses = Counter(call.call.call_id for call in made)
    attempts: list[tuple[int, int, SkillInvocation]] = []
    by_anchor = {call.call.anchor: call for call in made}
    for attempt in skill_signals.invocations([call.call for call in made]):
        call = by_anchor[attempt.anchor]
        body = texts.skill_texts.get(attempt.call_id or "") if uses[attempt.call_id] == 1 else None
        completed = _completed(attempt, of_calls.get(attempt.anchor), body)
        attempts.append((call.order_ns, call.call.turn, completed))
    loose = [(record, LoadedBy.TOOL) for record, call in by_call if call is None]
    for record, how in [*loose, *((record, LoadedBy.USER) for record in by_person)]:
        attempts.append((record.time_ns, found.turn_of_record(record), _from_record(found, record, how, texts)))
    attempts += [
        (request.end_ns, request.turn, SkillInvocation(None, LoadOutcome.REFUSED, request.anchor, request.agent))
        for request in _silent_skill_turns(found, made, silent)
    ]
    attempts.sort(key=lambda attempt: attempt[0])
    return tuple(_named(found, attempts))


def skill_versions(attempts: Sequence[SkillInvocation]) -> Mapping[str, str] | None:
    """Skill name → body hash of its latest load; None when no body was recorded."""
    versions = {attempt.name: attempt.body_hash for attempt in attempts if attempt.name and attempt.body_hash}
    return versions or None


def _silent_skill_turns(found: Telemetry, made: Sequence[Call], silent: Sequence[Request]) -> Iterator[Request]:
    """The silent turns that asked for a skill, as far as a later activation gives them away."""
    activated = found.named("skill_activated")
    for turn in sorted({request.turn for request in silent}):
        own = [record for record in activated if found.turn_of_record(record) == turn]
        first = own[0] if own else None
        if first is None or _trigger(first) != NESTED or found.agent_of_record(first) != ROOT_AGENT:
            continue
        before = [request for request in silent if request.turn == turn and request.end_ns <= first.time_ns]
        # The call that this activation came of is itself one that began before it.
        skill_calls = [
            call
            for call in made
            if call.call.name == "Skill" and call.call.turn == turn and call.order_ns <= first.time_ns
        ]
        if len(before) == 1 and before[0].agent == ROOT_AGENT and len(skill_calls) <= 1:
            yield before[0]


def _matched(
    found: Telemetry, made: Sequence[Call], records: Sequence[LogRecord]
) -> list[tuple[LogRecord, Call | None]]:
    """Each activation with the Skill call that it came of."""
    skill_calls = [call for call in made if call.call.name == "Skill"]
    by_execution = {
        (call.execution.trace_id, call.execution.span_id): call for call in skill_calls if call.execution is not None
    }
    taken: set[Anchor] = set()
    matches: list[tuple[LogRecord, Call | None]] = []
    for record in records:
        call = by_execution.get((record.trace_id or "", record.span_id or ""))
        if call is None:
            turn, agent = found.turn_of_record(record), found.agent_of_record(record)
            call = next(
                (
                    call
                    for call in skill_calls
                    if call.call.anchor not in taken and call.rejected_by is None
                    if (call.call.turn, call.call.agent) == (turn, agent)
                    if _may_be(call, _skill_name(record))
                ),
                None,
            )
        if call is not None:
            taken.add(call.call.anchor)
        matches.append((record, call))
    return matches


def _may_be(call: Call, name: str | None) -> bool:
    asked = (call.call.arguments or {}).get("skill")
    return name is None or asked is None or asked == name


def _completed(attempt: SkillInvocation, record: LogRecord | None, body: str | None) -> SkillInvocation:
    """With what the activation and recorded bodies add to a call."""
    if record is not None:
        # The activation proves the load where the call's end never arrived.
        outcome = LoadOutcome.LOADED if attempt.outcome is LoadOutcome.UNANSWERED else attempt.outcome
        name = attempt.name or _skill_name(record)
        source = attrs.text(record.attributes, "skill.source") or attempt.source
        attempt = replace(attempt, outcome=outcome, name=name, source=source)
    return with_body(attempt, body) if body is not None and attempt.outcome is LoadOutcome.LOADED else attempt


def _from_record(found: Telemetry, record: LogRecord, how: LoadedBy, texts: Bodies) -> SkillInvocation:
    name = _skill_name(record)
    turn = found.turn_of_record(record)
    if name is None and how is LoadedBy.USER and turn >= 0:
        name = found.turns[turn].command
    attempt = SkillInvocation(
        name if name not in PLACEHOLDERS else None,
        LoadOutcome.LOADED,
        record_anchor(record),
        found.agent_of_record(record),
        how,
        source=attrs.text(record.attributes, "skill.source"),
    )
    body = texts.skill_texts.get(f"/{(name or '').rpartition(':')[2]}")
    return with_body(attempt, body) if body is not None else attempt


def _skill_name(record: LogRecord) -> str | None:
    name = attrs.text(record.attributes, "skill.name")
    return None if not name or name in PLACEHOLDERS else name


def _trigger(record: LogRecord) -> str | None:
    return attrs.text(record.attributes, "invocation_trigger")


def _named(found: Telemetry, attempts: Sequence[tuple[int, int, SkillInvocation]]) -> Iterator[SkillInvocation]:
    """The attempts, nameless loads of the main agent named by the requests between them and the turn's next load."""
    loads = [
        (time_ns, turn, attempt.anchor)
        for time_ns, turn, attempt in attempts
        if attempt.outcome is LoadOutcome.LOADED and attempt.loaded_by is not LoadedBy.FILE
    ]
    for time_ns, turn, attempt in attempts:
        if attempt.name is None and attempt.outcome is LoadOutcome.LOADED and attempt.agent == ROOT_AGENT:
            end_ns = next((later for later, at, _ in loads if at == turn and later > time_ns), None)
            names = _last_loaded(found, turn, time_ns, end_ns)
            yield replace(attempt, name=names.pop()) if len(names) == 1 else attempt
        else:
            yield attempt


def _last_loaded(found: Telemetry, turn: int, after_ns: int, before_ns: int | None) -> set[str]:
    """Names on the main agent's requests of this turn that began after one load and ended before the next."""
    names = set()
    for record in found.named("api_request", "api_error"):
        took_ns = (attrs.integer(record.attributes, "duration_ms") or 0) * 1_000_000
        if record.time_ns - took_ns < after_ns or (before_ns is not None and record.time_ns - took_ns > before_ns):
            continue
        name = _skill_name(record)
        if name is not None and (found.turn_of_record(record), found.agent_of_record(record)) == (turn, ROOT_AGENT):
            names.add(name)
    return names
