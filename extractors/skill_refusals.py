"""How tools say no: is a tool's text a refusal to load a skill, and in which words?

Most harnesses mark a refusal as an ordinary, successful result, so that only its wording tells. Every pattern here is
anchored, so that the time spent grows with the length of the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from extractors.attributes import as_mapping, parse_json
from extractors.spans import Value

PAYLOADS: Final = ("instructions", "content", "output", "text", "response", "result")
"""Keys under which a JSON result holds what the tool has to say, the most telling first."""

_REASONS: Final = ("error", "message", "reason", "detail")
_FAILED_STATUSES: Final = frozenset(
    {"error", "errored", "fail", "failed", "failure", "cancelled", "canceled", "denied", "rejected", "refused"}
    | {"not_found", "forbidden", "disabled", "unavailable", "unauthorized"}
)
_MAX_NESTING: Final = 3

_NAME: Final = r"(?:'[^'\n]*+'|\"[^\"\n]*+\"|`[^`\n]*+`|[\w.:/-]+)"
_SKILL: Final = rf"(?:the )?(?:requested )?(?:skill|capability)(?: {_NAME})?"
_NOT: Final = (
    r"(?:(?:is|was|has been|could|can|may|does|do|did|must) not|(?:is|was|could|does|did|ca)n['\u2019]t|cannot|not)"
)
_REFUSAL: Final = re.compile(
    r"(?:<\w{1,30}>|\[\w{1,30}\]:?|[^\w\s\[<(\"'`#*-]{1,4})?[ ]?(?:"
    r"error:"
    r"|[\w.]{1,100}(?:error|exception|notfound):"
    r"|error (?:while )?(?:loading|activating|reading|finding|invoking|opening) (?:the )?(?:skill|capability)\b"
    r"|skill_name is required"
    rf"|{_SKILL} {_NOT} (?:be )?(?:found|available|enabled|allowed|permitted|installed|registered|authori[sz]ed"
    r"|approved|loaded|used|invoked|activated|exist|in)\b"
    rf"|{_SKILL} (?:(?:is|was|has been) )?(?:unavailable|disabled|blocked|denied|forbidden|rejected|unknown)\b"
    r"|(?:unknown|unrecogni[sz]ed|invalid|no such) skill\b"
    r"|(?:there (?:is|are) )?no (?:skills?|capability) (?:is )?(?:named|called|found|match\w{0,3}|with)\b"
    r"|(?:could not|couldn['\u2019]t|cannot|can['\u2019]t|unable to|failed to) "
    r"(?:find|load|open|read|activate|invoke|use|access|locate) (?:the )?(?:requested )?(?:skill|capability)\b"
    r"|you (?:are not|aren['\u2019]t|may not|must not|cannot|can['\u2019]t) [^.\n]{0,60}(?:skill|capability)\b"
    r"|(?:the )?tool (?:call|use|execution)(?: invocation)? (?:was |has been )?"
    r"(?:rejected|denied|cancelled|canceled|declined|refused|blocked)\b"
    r"|(?:the )?(?:user|operator|human) (?:has )?(?:rejected|denied|cancelled|canceled|declined|refused)\b"
    r"|(?:the )?(?:user|operator|human) (?:does not|doesn['\u2019]t) want\b"
    r"|(?:permission|access)(?: was| is)? denied\b"
    r"|(?:denied|rejected|blocked) by (?:the )?(?:user|operator|policy|rule|hook|permission)"
    r")",
    re.IGNORECASE,
)
"""How a line begins that says no, perhaps after a mark or tag. The names of exceptions, too: tools are often wrapped to
tell the model of them."""
_ORDER: Final = re.compile(r"\bmust not\b", re.IGNORECASE)
"""What instructions say, too: `You must not run this skill on ...`."""
_PLAIN_NAME: Final = re.compile(r"[\w.:/-]+\Z")


def is_refusal(text: str, name: str | None = None) -> bool:
    """Whether a tool's text says that the skill could not be had. `name`: what was asked for, if known.

    One line only, unless that line names the skill asked for and gives no order: a skill's own text may well talk about
    things not found, and begin with what must not be done.
    """
    text = text.strip()
    if name and _PLAIN_NAME.match(name) is None:  # it may hold quotes and line ends
        text, name = text.replace(name, "asked", 1), "asked"
    line, more, _ = text.partition("\n")
    if _REFUSAL.match(line) is None:
        return False
    return not more or (name is not None and name != "" and name in line and _ORDER.search(line) is None)


def refusal_in(text: str, name: str | None = None) -> str | None:
    """The refusal that a tool's text holds, as wording or as a JSON object with an error; None when none."""
    return _refusal_in(text, name, _MAX_NESTING)


def _refusal_in(text: str, name: str | None, nesting: int) -> str | None:
    if is_refusal(text, name):
        return text.strip()
    document = object_in(text)
    return None if document is None else _refusal_of(document, text, name, nesting)


def _refusal_of(document: Mapping[str, Value], text: str, name: str | None, nesting: int) -> str | None:
    """The refusal of a JSON result that has this text; also one inside what it wraps."""
    error = document.get("error")
    if isinstance(error, str) and error.strip():
        return error
    status = document.get("status")
    if (
        document.get("is_error") is True
        or any(document.get(key) is False for key in ("ok", "success"))
        or (isinstance(status, str) and status.lower() in _FAILED_STATUSES)
    ):
        return next((told for key in _REASONS if isinstance(told := document.get(key), str) and told.strip()), text)
    if not nesting:
        return None
    inner = next((document[key] for key in PAYLOADS if document.get(key)), None)
    if isinstance(inner, str):
        return _refusal_in(inner, name, nesting - 1)
    wrapped = as_mapping(inner)
    return None if wrapped is None else _refusal_of(wrapped, text, name, nesting - 1)


def object_in(text: str) -> Mapping[str, Value] | None:
    """The JSON object that a tool's text is; None when it is none."""
    return as_mapping(parse_json(text)) if text.lstrip().startswith("{") else None
