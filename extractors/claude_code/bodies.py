"""What the model was sent and answered, where the user switched on recording it.

Two settings do. Raw API bodies: records `api_request_body` and `api_response_body`, JSON of the Messages API, cut at a
length limit; `messages` come first in it and can still be read. Detailed tracing: span attributes
`system_reminders`, `new_context` (what is new since the last request) and `response.model_output`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from extractors import attributes as attrs
from extractors.anchors import Anchor
from extractors.claude_code.telemetry import REQUEST, Telemetry
from extractors.skills import Skill
from extractors.spans import LogRecord, Value
from extractors.trajectory import ROOT_AGENT, ToolDefinition
from extractors.tree import record_anchor, span_anchor

LISTING: Final = "The following skills are available for use with the Skill tool:"
"""The line before the skills on offer, one `- name: description` each, up to an empty line."""

SKILL_TEXT: Final = "Base directory for this skill: "
"""How the user message begins that gives the model a skill's instructions; the directory follows on that line."""

_ACKNOWLEDGED: Final = "Launching skill: "
_ARGUMENTS: Final = "\n\nARGUMENTS: "
_SECTION: Final = re.compile(r"(?:\A|\n\n---\n\n)\[(TOOL RESULT: [^\]\n]+|USER|USER PROMPT)\]\n")
_ERROR_MARKS: Final = ("<tool_use_error>", "</tool_use_error>")


@dataclass(frozen=True, slots=True)
class Use:
    """A tool call as the model wrote it."""

    name: str
    arguments: Mapping[str, Value] | None
    record: LogRecord


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's result as the model saw it. `failed` is None where only the text is known.
    `request_id`: the first request that held it. `fresh`: the request lists it as new; others repeat the whole
    conversation, which may have begun in another session."""

    text: str
    failed: bool | None
    request_id: str | None
    fresh: bool


@dataclass(slots=True)
class Bodies:
    """Everything found. Calls are named by tool-use id; a catalog by the agent whom it was shown."""

    uses: dict[str, Use] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    skill_texts: dict[str, str] = field(default_factory=dict)
    """tool-use id, or `/name` for a skill that the person started → instructions"""
    catalogs: dict[str, dict[str, Skill]] = field(default_factory=dict)
    catalog_anchors: dict[str, Anchor] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """request id → the assistant's text"""
    models: dict[str, str] = field(default_factory=dict)
    """request id → the model that answered"""
    system_prompt: str | None = None
    tools: tuple[ToolDefinition, ...] | None = None
    unlisted: bool = False
    """a request was recorded and no listing of skills was found in it"""


def bodies(found: Telemetry) -> Bodies:
    """Read raw bodies and detailed tracing, whichever there is."""
    result = Bodies()
    request_ids: dict[str, str] = {}
    for record in found.named("api_response_body"):
        _read_response(record, result, request_ids)
    for record in found.named("api_request_body"):
        body_id = attrs.text(record.attributes, "request_body_id")
        request_id = request_ids.get(body_id or "")
        agent = found.agent_of_request.get(request_id or "") or found.agent_of_record(record)
        _read_request(record, agent, request_id, result)
    _read_spans(found, result)
    _read_events(found, result)
    result.unlisted = not result.catalogs and bool(
        found.named("api_request_body") or any("system_reminders" in span.attributes for span in found.of(REQUEST))
    )
    return result


def listing(text: str) -> tuple[Skill, ...] | None:
    """The skills on offer in a text for the model; None when the text has no such list."""
    _, heading, rest = text.partition(LISTING)
    if not heading:
        return None
    entries: list[list[str]] = []
    for line in rest.lstrip("\n").split("\n"):
        if line.startswith("- "):
            entries.append([line[2:]])
        elif line.strip() and entries:
            entries[-1].append(line)
        else:
            break
    return tuple(_entry("\n".join(lines)) for lines in entries)


def _entry(text: str) -> Skill:
    """`name: description`; a colon inside the name (`plugin:skill`) has no blank after it."""
    name, separator, description = text.partition(": ")
    return Skill(name.strip(), description.strip()) if separator else Skill(text.strip().removesuffix(":"))


def _read_response(record: LogRecord, result: Bodies, request_ids: dict[str, str]) -> None:
    request_id = attrs.text(record.attributes, "request_id")
    body_id = attrs.text(record.attributes, "request_body_id")
    if request_id and body_id:
        request_ids[body_id] = request_id
    body = attrs.json_object(record.attributes, "body") or {}
    blocks = _blocks(body.get("content"))
    for block in blocks:
        use_id, name = attrs.text(block, "id"), attrs.text(block, "name")
        if block.get("type") == "tool_use" and use_id and name:
            result.uses.setdefault(use_id, Use(name, attrs.as_mapping(block.get("input")), record))
    if request_id and blocks:
        result.texts.setdefault(request_id, _text_of(blocks))
        model = attrs.text(body, "model")
        if model:
            result.models.setdefault(request_id, model)


def _read_request(record: LogRecord, agent: str, request_id: str | None, result: Bodies) -> None:
    text = attrs.text(record.attributes, "body") or ""
    body = attrs.as_object(text)
    messages = attrs.as_list(body.get("messages")) or () if body else list(_leading_messages(text))
    for message in messages:
        if isinstance(message, Mapping):
            _read_message(message, request_id, result)
            for told in _told_by_harness(message):
                _offer(result, agent, told, record_anchor(record))
    if body is None:
        return
    system = _text_of(_blocks(body.get("system")))
    if agent == ROOT_AGENT and system:
        result.system_prompt = result.system_prompt or system
    if agent == ROOT_AGENT and result.tools is None:
        result.tools = _definitions(attrs.as_list(body.get("tools")))


def _leading_messages(text: str) -> Iterator[Value]:
    """The whole messages at the beginning of a body that was cut."""
    decoder = json.JSONDecoder()
    _, found, rest = text.partition('"messages":[')
    while found and rest.startswith("{"):
        try:
            message, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            return
        yield message
        rest = rest[end:].removeprefix(",")


def _read_message(message: Mapping[str, Value], request_id: str | None, result: Bodies) -> None:
    if message.get("role") != "user":
        return
    blocks = _blocks(message.get("content"))
    loads: list[tuple[str, str]] = []
    for block in blocks:
        use_id = attrs.text(block, "tool_use_id")
        if block.get("type") == "tool_result" and use_id:
            text = _text_of(_blocks(block.get("content")))
            failed = block.get("is_error") is True
            _answer(result, use_id, Answer(text, failed, request_id, fresh=False))
            if text.startswith(_ACKNOWLEDGED):
                loads.append((use_id, text.removeprefix(_ACKNOWLEDGED).strip()))
    texts = [attrs.text(block, "text") or "" for block in blocks]
    _give_texts(result, loads, [text for text in texts if text.startswith(SKILL_TEXT)])


def _told_by_harness(message: Mapping[str, Value]) -> Iterator[str]:
    """What the harness itself put into the conversation. A prompt or a tool's output may not forge a catalog."""
    for block in _blocks(message.get("content")):
        text = attrs.text(block, "text") or ""
        if message.get("role") == "system" or (message.get("role") == "user" and text.startswith("<system-reminder>")):
            yield text


def _read_spans(found: Telemetry, result: Bodies) -> None:
    for span in found.of(REQUEST):
        request_id = attrs.text(span.attributes, "request_id")
        told = attrs.text(span.attributes, "system_reminders")
        if told is not None:
            _offer(result, found.agent_of_span(span), told, span_anchor(span))
        output = attrs.text(span.attributes, "response.model_output")
        if request_id and output is not None:
            result.texts.setdefault(request_id, output)
        _read_context(attrs.text(span.attributes, "new_context") or "", request_id or span.span_id, result)


def _read_context(context: str, request_id: str, result: Bodies) -> None:
    """Sections `[TOOL RESULT: id]` and `[USER]`, a rule between them."""
    loads: list[tuple[str, str]] = []
    texts: list[str] = []
    marks = list(_SECTION.finditer(context))
    ends = [mark.start() for mark in marks[1:]] + [len(context)] if marks else []
    for mark, end in zip(marks, ends, strict=True):
        text = context[mark.end() : end]
        if not mark[1].startswith("TOOL RESULT: "):
            texts += [text] if text.startswith(SKILL_TEXT) else []
            continue
        use_id = mark[1].removeprefix("TOOL RESULT: ")
        failed = text.startswith(_ERROR_MARKS[0]) or None
        _answer(result, use_id, Answer(text, failed, request_id, fresh=True))
        if text.startswith(_ACKNOWLEDGED):
            loads.append((use_id, text.removeprefix(_ACKNOWLEDGED).strip()))
    _give_texts(result, loads, texts)


def _read_events(found: Telemetry, result: Bodies) -> None:
    """Detailed tracing sends the system prompt and each tool once, as records of their own."""
    for record in found.named("system_prompt"):
        result.system_prompt = result.system_prompt or attrs.text(record.attributes, "system_prompt")
    if result.tools is None:
        tools = [attrs.json_object(record.attributes, "tool") for record in found.named("tool")]
        result.tools = _definitions([tool for tool in tools if tool is not None]) if tools else None


def _answer(result: Bodies, use_id: str, answer: Answer) -> None:
    opening, closing = _ERROR_MARKS
    if answer.text.startswith(opening):
        answer = replace(answer, text=answer.text.removeprefix(opening).removesuffix(closing))
    result.answers.setdefault(use_id, answer)


def _offer(result: Bodies, agent: str, text: str, anchor: Anchor) -> None:
    """A later listing adds what is new in it: skills may appear while the session runs."""
    skills = listing(text)
    if skills is not None:
        known = result.catalogs.setdefault(agent, {})
        for skill in skills:
            known.setdefault(skill.name, skill)
        result.catalog_anchors.setdefault(agent, anchor)


def _give_texts(result: Bodies, loads: Sequence[tuple[str, str]], texts: Sequence[str]) -> None:
    for key, instructions in instructions_by_load(loads, texts).items():
        result.skill_texts.setdefault(key, instructions)


def instructions_by_load(loads: Sequence[tuple[str, str]], texts: Sequence[str]) -> Mapping[str, str]:
    """Each skill text, beginning with `SKILL_TEXT`, for the load that names its directory, else for the only load.

    `loads` are pairs of a key and a skill's name. A text that belongs to none of them has its directory as key.
    """
    waiting = list(loads)
    found: dict[str, str] = {}
    for text in texts:
        line, _, instructions = text.removeprefix(SKILL_TEXT).partition("\n")
        directory = line.strip().replace("\\", "/").rstrip("/").rpartition("/")[2]
        match = next((load for load in waiting if _folded(load[1]) == _folded(directory)), None)
        if match is None and len(waiting) == len(texts) == 1:
            match = waiting[0]
        if match is not None:
            waiting.remove(match)
        key = match[0] if match is not None else f"/{directory}"
        # What the call added differs from call to call; the rest is the skill's version.
        found.setdefault(key, instructions.partition(_ARGUMENTS)[0].strip())
    return found


def _folded(name: str) -> str:
    """For comparing a skill's name with its directory's."""
    return name.rpartition(":")[2].casefold().replace("_", "-")


def _definitions(tools: Sequence[Value] | None) -> tuple[ToolDefinition, ...] | None:
    if tools is None:
        return None
    return tuple(
        ToolDefinition(name, attrs.text(tool, "description"), attrs.as_mapping(tool.get("input_schema")))
        for tool in tools
        if isinstance(tool, Mapping) and (name := attrs.text(tool, "name"))
    )


def _blocks(value: Value) -> list[Mapping[str, Value]]:
    """Content blocks; a plain string is one text block."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return [block for block in attrs.as_list(value) or () if isinstance(block, Mapping)]


def _text_of(blocks: Sequence[Mapping[str, Value]]) -> str:
    texts = (attrs.text(block, "text") for block in blocks if block.get("type") == "text")
    return "\n".join(text for text in texts if text)
