"""Skills that OpenHands adds to a message of the person because a word in it is one of the skill's triggers.

They come as further text parts of that message, in `<EXTRA_INFO>`. The person's own text is the first part, so that
nobody can make up such a skill by writing the tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from extractors import attributes as at
from extractors.openhands.telemetry import is_request
from extractors.skill_files import is_skill_file
from extractors.skill_signals import with_body
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import Span, Value
from extractors.trajectory import ROOT_AGENT
from extractors.tree import span_anchor

_OPEN: Final = "<EXTRA_INFO>"
_CLOSE: Final = "</EXTRA_INFO>"
_WHY: Final = "based on a keyword match for "
_WHERE: Final = "Skill location: "
_HEADS: Final = (
    "The following information has been included ",
    "It may or may not be relevant ",
    _WHERE,
    "(Use this path ",
)


def triggered(spans: Iterable[Span]) -> tuple[SkillInvocation, ...]:
    """Each skill once, at the first request that tells of it. `spans` in time order."""
    found: dict[tuple[str | None, str | None], SkillInvocation] = {}
    for span in spans:
        if is_request(span):
            for text in _added_texts(at.json_list(span.attributes, at.INPUT_MESSAGES) or ()):
                for attempt in _skills(text, span):
                    found.setdefault((attempt.name, attempt.body_hash), attempt)
    return tuple(found.values())


def _added_texts(history: Iterable[Value]) -> Iterator[str]:
    for value in history:
        body = at.as_mapping(value) or {}
        if body.get("role") == "user":
            for part in (at.as_list(body.get("content")) or ())[1:]:
                text = (at.as_mapping(part) or {}).get("text")
                if isinstance(text, str):
                    yield text


def _skills(text: str, span: Span) -> Iterator[SkillInvocation]:
    """Skills in one added text. A closing tag inside a skill's text is its own: the last one of a block ends it."""
    for block in text.split(f"{_OPEN}\n")[1:]:
        lines = block.rpartition(_CLOSE)[0].split("\n")
        if _WHY not in lines[0]:
            continue
        begins = next((at for at, line in enumerate(lines) if line and not line.startswith(_HEADS)), len(lines))
        heads = [line.removeprefix(_WHERE) for line in lines[:begins] if line.startswith(_WHERE)]
        source = next(iter(heads), None)
        attempt = SkillInvocation(
            _name(source), LoadOutcome.LOADED, span_anchor(span), ROOT_AGENT, LoadedBy.USER, source=source
        )
        yield with_body(attempt, "\n".join(lines[begins:]).strip() or None)


def _name(source: str | None) -> str | None:
    """A skill is a directory with a SKILL.md, or a file of its own; None when its place is not told."""
    if source is None:
        return None
    place = PurePosixPath(source.replace("\\", "/"))
    return (place.parent.name if is_skill_file(source) else place.stem) or None
