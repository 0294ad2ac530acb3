"""Skills: instruction files that a harness offers to the model at run time, and attempts to load them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from extractors.anchors import Anchor


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill on offer. `name` keeps its namespace (`plugin:name`); None means the part was not recorded."""

    name: str
    description: str | None = None
    source: str | None = None


class LoadOutcome(StrEnum):
    """What came of asking for a skill."""

    LOADED = "loaded"
    REFUSED = "refused"
    UNANSWERED = "unanswered"


class LoadedBy(StrEnum):
    """How the skill was asked for."""

    TOOL = "tool"
    """a tool made for it: `Skill`, `skills`, `load_skill`, ..."""
    FILE = "file"
    """its SKILL.md was read with a file or shell tool"""
    USER = "user"
    """the person named it, for example with a slash command"""


@dataclass(frozen=True, slots=True)
class SkillInvocation:
    """One attempt to load a skill.

    `name` is the name as requested; None when the telemetry hides it (content switched off).
    `refusal` is the harness's own text when `outcome` is REFUSED and the text was recorded.
    `body` is the instruction text as the model saw it; None when not recorded. `body_hash` is the skill's
    version: 16 hex digits of the SHA-256 of the body, None without a body.
    `agent` is the `Agent.id` that asked. `call_id` is the tool call it came from, if any.
    """

    name: str | None
    outcome: LoadOutcome
    anchor: Anchor
    agent: str
    loaded_by: LoadedBy = LoadedBy.TOOL
    call_id: str | None = None
    refusal: str | None = None
    body: str | None = None
    body_hash: str | None = None
    source: str | None = None
