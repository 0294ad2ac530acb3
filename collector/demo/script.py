"""What happens in a demo session, before any harness records it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. `error`: it failed, with this text."""

    tool: str
    arguments: Mapping[str, Any]
    result: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One model turn: what is said, and the calls that are asked for and then run."""

    text: str = ""
    calls: Sequence[Call] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """One session. `crash`: the agent raised this after its last turn and never answered."""

    session_id: str
    task: str
    turns: Sequence[Turn]
    crash: str | None = None


@dataclass(frozen=True, slots=True)
class SkillText:
    """A skill on offer."""

    name: str
    description: str
    body: str


SKILLS = (
    SkillText(
        "booking-change",
        "Move a booking to another day or boat. Use it when the customer still wants to go on the water.",
        "# Booking change\n\n1. Look the booking up with find_booking.\n2. Move it with move_booking.\n"
        "3. Tell the customer the new day and hour.",
    ),
    SkillText(
        "weather-refund",
        "Give money back for a trip that wind, rain or fog made impossible.",
        "# Weather refund\n\n1. Look the booking up with find_booking.\n2. Check the log with weather_on.\n"
        "3. If the harbour was closed, refund in full with refund.",
    ),
    SkillText(
        "lost-property",
        "Find what customers left in a boat, and arrange how they get it back.",
        "# Lost property\n\n1. Search with search_found_items.\n2. Offer to post it or keep it at the hut.",
    ),
)


def catalog_xml() -> str:
    """The catalog as several harnesses write it into the system prompt."""
    entries = "\n".join(
        f"<skill>\n<name>{skill.name}</name>\n<description>{skill.description}</description>\n"
        f"<location>/srv/tideway/skills/{skill.name}/SKILL.md</location>\n</skill>"
        for skill in SKILLS
    )
    return f"<available_skills>\n{entries}\n</available_skills>"


def body_of(name: str) -> str | None:
    """None for a skill that does not exist."""
    return next((skill.body for skill in SKILLS if skill.name == name), None)
