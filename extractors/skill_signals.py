"""What loading a skill looks like, as far as several harnesses share it.

Text of agents and skills may be hostile or huge: every pattern here is anchored or literal, so that the time
spent grows with the length of the text and no faster.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from extractors.attributes import json_text
from extractors.repetition import read_once
from extractors.skill_files import reading
from extractors.skill_loads import FileLoad, Pages, file_loads
from extractors.skill_mentions import shown
from extractors.skill_refusals import PAYLOADS, is_refusal, object_in, refusal_in
from extractors.skills import LoadedBy, LoadOutcome, Skill, SkillInvocation
from extractors.trajectory import CallOutcome, ToolCall

SKILL_TOOLS: Final[Mapping[str, str]] = {
    "skills": "skill_name",
    "Skill": "skill",
    "load_skill": "skill_name",
    "activate_skill": "name",
    "invoke_skill": "name",
    "get_skill_instructions": "skill_name",
    "load_capability": "id",
}
"""Tools made for loading a skill (Strands, Claude Code, ADK and others, Gemini CLI, OpenHands, Agno, Pydantic AI) →
the argument that names it. Names are case-sensitive."""

RESOURCE_TOOLS: Final = frozenset(
    {"load_skill_resource", "read_skill_resource", "run_skill_script", "unload_skill"}
    | {"get_skill_reference", "get_skill_script"}
)
"""Tools that work with a skill but do not load it; their spans carry `gen_ai.skill.name` all the same."""

CATALOG_TOOLS: Final = ("list_skills", "search_skills")
_CATALOG_ENDS: Final = tuple(f"_{tool}" for tool in CATALOG_TOOLS)

TRAILER_HEADS: Final = (
    "Location:",
    "Allowed tools:",
    "Compatibility:",
    "Available resources:",
    "This skill is located at",
)
"""How a harness's own lines begin, after a rule at the end of a skill's text."""

_ACKNOWLEDGEMENT: Final = re.compile(
    r"(?:launching|loading|activating|loaded|activated) skill\b"
    r"|skill (?:'[^'\n]*'|\"[^\"\n]*\"|[\w.:-]+) (?:activated|loaded|launched)\b"
    r"|skill (?:activated|loaded|launched)\b",
    re.IGNORECASE,
)
_CATALOG_OPEN: Final = re.compile(r"<available_skills\s*>", re.IGNORECASE)
_CATALOG_CLOSE: Final = re.compile(r"</available_skills\s*>", re.IGNORECASE)
_SKILLS_OPEN: Final = re.compile(r"<skills\s*>", re.IGNORECASE)
_SKILLS_CLOSE: Final = re.compile(r"</skills\s*>", re.IGNORECASE)
_NAMED_SKILL: Final = re.compile(r"<skill name=(?:\"([^\"\n]*)\"|'([^'\n]*)')>")
_CATALOG_HEADING: Final = "available skills"


@read_once
def catalog(text: str) -> tuple[Skill, ...] | None:
    """The skills that a prompt or a listing tool offers; () for an empty catalog, None when there is no catalog.

    Reads `<available_skills>` or `<skills>` with `<skill>` elements, else the Markdown list under `Available skills`.
    """
    text = payload(text, bare=text)
    found = _xml_catalog(text)
    return found if found is not None else _markdown_catalog(text)


def _xml_catalog(text: str) -> tuple[Skill, ...] | None:
    """`<skills>` is a catalog only with a skill in it: the word may well stand for something else."""
    inside = _between(text, _CATALOG_OPEN, _CATALOG_CLOSE)
    if inside is not None:
        return _xml_skills(inside)
    return _xml_skills(_between(text, _SKILLS_OPEN, _SKILLS_CLOSE) or "") or None


def _between(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str | None:
    start = opening.search(text)
    end = closing.search(text, start.end()) if start else None
    return None if start is None or end is None else text[start.end() : end.start()]


def _xml_skills(text: str) -> tuple[Skill, ...]:
    skills = (_xml_skill(entry) for entry in text.split("</skill>")[:-1])
    return tuple(skill for skill in skills if skill is not None)


def _xml_skill(entry: str) -> Skill | None:
    """The skill of an element that ends here: name and description are elements in it, or its name is an attribute
    and its text the description."""
    element = entry[max(entry.rfind("<skill"), 0) :]
    named = _NAMED_SKILL.match(element)
    if named is not None:
        return Skill(html.unescape(named[1] or named[2] or ""), html.unescape(element[named.end() :].strip()))
    entry = entry.rpartition("<skill>")[2]
    name = _element(entry, "name")
    return Skill(name, _element(entry, "description"), _element(entry, "location")) if name else None


def _element(entry: str, tag: str) -> str | None:
    """Text of the first such element, None when absent."""
    _, opened, rest = entry.partition(f"<{tag}>")
    content, closed, _ = rest.partition(f"</{tag}>")
    return html.unescape(content.strip()) if opened and closed else None


def _markdown_catalog(text: str) -> tuple[Skill, ...] | None:
    """The list under the first heading `Available skills`. It ends at the next heading, and at the first paragraph
    after a skill: what prompts say next may be a list, too."""
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if _is_catalog_heading(line)), None)
    if start is None:
        return None
    skills: list[Skill] = []
    margin, after_blank = None, False
    for line in lines[start + 1 :]:
        content = line.strip()
        indent = len(line) - len(line.lstrip())
        if content.startswith(("# ", "## ", "### ")) or (skills and after_blank and not _continues(content, indent)):
            break
        after_blank = not content
        skill = _markdown_skill(content) if margin in {None, indent} else None
        if skill is not None:
            margin = indent
            skills.append(skill)
        elif skills and skills[-1].source is None:
            skills[-1] = replace(skills[-1], source=_source_below(content))
    return tuple(skills)


def _is_catalog_heading(line: str) -> bool:
    """A Markdown heading or a bold line, with or without a colon."""
    line = line.strip()
    return line.startswith(("#", "**")) and line.strip("#*: ").lower() == _CATALOG_HEADING


def _continues(content: str, indent: int) -> bool:
    """Whether a line after a blank one still belongs to a list of skills."""
    return not content or content.startswith("- ") or indent > 0


def _source_below(content: str) -> str | None:
    """The path in a line below a skill, as in ``-> Read `/skills/x/SKILL.md` for full instructions``."""
    _, told, path = content.partition("-> Read `") if content.startswith("->") else ("", "", "")
    return path.partition("`")[0] or None if told else None


def _markdown_skill(line: str) -> Skill | None:
    """`- name: description (file: path)`, the name perhaps in bold. A colon inside the name (`plugin:skill`) has no
    blank after it."""
    if not line.startswith("- ") or ":" not in line:
        return None
    name, separator, rest = line[2:].partition(": ")
    if not separator:
        name, rest = line[2:].removesuffix(":"), ""
    name = name.strip().strip("*`")
    description, marker, source = rest.rpartition("(file:")
    if not marker or not source.endswith(")"):
        return Skill(name, rest.strip())
    return Skill(name, description.strip(), source[:-1].strip())


def skill_argument(tool: str) -> str | None:
    """The argument in which this tool takes a skill's name; None when the tool does not load skills."""
    known = SKILL_TOOLS.get(tool)
    return "skill_name" if known is None and tool.lower().endswith("_load_skill") else known


def lists_skills(tool: str) -> bool:
    """Whether this tool's result is a catalog."""
    return f"_{tool}".lower().endswith(_CATALOG_ENDS)


def is_acknowledgement(text: str) -> bool:
    """Whether a tool's text only says that the skill is loaded, without its instructions."""
    line = text.strip()
    return "\n" not in line and _ACKNOWLEDGEMENT.match(line) is not None


def body_in(text: str) -> str | None:
    """The skill's instructions in a tool's text, what the tool says before and after removed; None when it holds
    none."""
    body = without_trailer(payload(text, bare="")).strip()
    first, paragraph, rest = body.partition("\n\n")
    if paragraph and is_acknowledgement(first):
        body = rest.strip()
    return None if not body or is_acknowledgement(body) or is_refusal(body) else body


def payload(text: str, bare: str) -> str:
    """The text inside a tool result that is a JSON object around it; `bare` for an object without any. Other text
    is returned as it is."""
    document = object_in(text)
    if document is None:
        return text
    return next((inner for key in PAYLOADS if isinstance(inner := document.get(key), str)), bare)


def without_trailer(text: str) -> str:
    """The text before the last `---` rule, if what follows that rule is the harness's own listing."""
    body, rule, trailer = text.rpartition("\n---\n")
    return body if rule and trailer.lstrip().startswith(TRAILER_HEADS) else text


def body_hash(body: str) -> str:
    """The version of a skill: 16 hex digits of the SHA-256 of its text."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def with_refusals(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The same calls, those REFUSED whose skill tool answered with a refusal, however the harness marked it; FAILED
    where a tool for a skill's resources and scripts did."""
    return tuple(_with_refusal(call) for call in calls)


def _with_refusal(call: ToolCall) -> ToolCall:
    loads = skill_argument(call.name) is not None
    if not loads and (call.name not in RESOURCE_TOOLS or call.outcome is not CallOutcome.OK):
        return call
    answers = [text for text in (call.error, call.result) if text is not None]
    told = next((no for text in answers if (no := refusal_in(text, requested_name(call))) is not None), None)
    if told is None:
        return call
    return (
        replace(call, outcome=CallOutcome.REFUSED) if loads else replace(call, outcome=CallOutcome.FAILED, error=told)
    )


def invocations(
    calls: Iterable[ToolCall], declared: Mapping[str, Skill | None] | None = None
) -> tuple[SkillInvocation, ...]:
    """Every attempt to load a skill among these calls, in their order.

    `declared` maps `ToolCall.anchor.ref` → the skill that `gen_ai.skill.*` attributes name there, for tools that
    this module does not know; None: they say that the call works with a skill's files and loads no skill.
    A command may read several skills. Pages of one file, read in one turn, are one attempt. A read that failed is a
    refused attempt: the agent wanted the skill and its error says why it went without.
    """
    known = declared or {}
    found: list[SkillInvocation | tuple[ToolCall, Pages]] = []
    latest: dict[tuple[str, str, int], Pages] = {}
    for call in calls:
        by_tool = _by_known_tool(call, known)
        if by_tool is not None:
            found.append(by_tool)
            continue
        for load in _by_files(call):
            key = (load.path.casefold(), call.agent, call.turn)
            if key in latest and latest[key].goes_on_with(load):
                latest[key].add(load)
            else:
                latest[key] = Pages(load)
                found.append((call, latest[key]))
    return tuple(_of_file(one[0], one[1].load) if isinstance(one, tuple) else one for one in found)


def invocation(call: ToolCall, declared: Skill | None = None) -> SkillInvocation | None:
    """The attempt that this call is, by a skill tool or by reading a SKILL.md, the first if it reads several; None
    when it is neither."""
    ref = call.anchor.ref
    return next(iter(invocations([call], {} if declared is None else {ref: declared})), None)


def untold_bodies(loads: Iterable[SkillInvocation], calls: Iterable[ToolCall]) -> Iterator[str]:
    """A remark on each skill whose text is somewhere in a command's output and cannot be told from the rest."""
    untold = [load for load in loads if load.body is None and load.loaded_by is LoadedBy.FILE]
    recorded = {call.anchor for call in calls if call.result is not None} if untold else ()
    for load in untold:
        if load.outcome is LoadOutcome.LOADED and load.anchor in recorded:
            yield f"skill {load.name or load.source}: its text cannot be told from what else its command printed"


def _by_known_tool(call: ToolCall, declared: Mapping[str, Skill | None]) -> SkillInvocation | None:
    """The attempt by a tool made for skills, or by one that declares the skill it loads."""
    skill = None
    if declared:
        ref = call.anchor.ref
        skill = declared.get(ref)
        if skill is None and ref in declared:
            return None
    if skill_argument(call.name) is not None or (skill is not None and call.name not in RESOURCE_TOOLS):
        return _by_tool(call, skill)
    return None


def _by_files(call: ToolCall) -> tuple[FileLoad, ...]:
    """What came of each SKILL.md that the call reads."""
    if call.name in RESOURCE_TOOLS:
        return ()
    found = reading(call.name, call.arguments, call.arguments_text)
    if found is not None:
        return file_loads(found, call)
    told = shown(call)
    return tuple(FileLoad(one.path, one.name, LoadOutcome.LOADED, one.body) for one in told) if told else ()


def _of_file(call: ToolCall, load: FileLoad) -> SkillInvocation:
    """The attempt that reading a file is. Only the whole text is the skill's version."""
    body = load.body.strip() if load.body is not None else None
    return SkillInvocation(
        load.name,
        load.outcome,
        call.anchor,
        call.agent,
        LoadedBy.FILE,
        call.call_id,
        load.refusal,
        body,
        body_hash(body) if body is not None and load.whole else None,
        load.path,
    )


def _by_tool(call: ToolCall, declared: Skill | None) -> SkillInvocation:
    name = declared.name if declared is not None else requested_name(call)
    attempt = SkillInvocation(
        name,
        _LOAD_OUTCOMES[call.outcome],
        call.anchor,
        call.agent,
        call_id=call.call_id,
        source=declared.source if declared is not None else None,
    )
    if attempt.outcome is LoadOutcome.REFUSED:
        return replace(attempt, refusal=_refusal_of(call, name))
    body = body_in(call.result) if call.result is not None and attempt.outcome is LoadOutcome.LOADED else None
    return with_body(attempt, body)


_LOAD_OUTCOMES: Final = {
    CallOutcome.OK: LoadOutcome.LOADED,
    CallOutcome.FAILED: LoadOutcome.REFUSED,
    CallOutcome.REFUSED: LoadOutcome.REFUSED,
    CallOutcome.UNANSWERED: LoadOutcome.UNANSWERED,
}


def _refusal_of(call: ToolCall, name: str | None) -> str | None:
    """The harness's own words: its result's before an error code."""
    texts = [text for text in (call.result, call.error) if text is not None]
    told = next((refusal for text in texts if (refusal := refusal_in(text, name)) is not None), None)
    return told if told is not None else next(iter(reversed(texts)), None)


def with_body(attempt: SkillInvocation, body: str | None) -> SkillInvocation:
    """The attempt with the skill's text and its version; None leaves both not recorded."""
    return replace(attempt, body=body, body_hash=None if body is None else body_hash(body))


def requested_name(call: ToolCall) -> str | None:
    """The skill a skill tool was asked for; "" when it was asked for none, None when the arguments are hidden."""
    argument = skill_argument(call.name)
    if argument is None or call.arguments is None:
        return None
    name = call.arguments.get(argument)
    if name is None:
        return ""
    return name if isinstance(name, str) else json_text(name)
