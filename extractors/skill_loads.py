"""Skills loaded by reading their files: what came of each file that a call shows, and pages of one file put together.

A read that failed is a refused attempt: the agent wanted the skill and did not get it, and its error says why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from extractors.paths import is_pattern
from extractors.shell.output import FileText
from extractors.skill_files import Reading, frontmatter_name, name_of_file
from extractors.skill_texts import SkillText, divided, in_order
from extractors.skills import LoadOutcome
from extractors.tool_output import Output, output_of, without_line_numbers
from extractors.trajectory import CallOutcome, ToolCall

_MAX_FAILURE: Final = 1_000
_FAILURE: Final = re.compile(
    r"(?:<tool_use_error>)?(?:error|failed|failure|cannot|can't|could not|unable|access denied|permission denied|denied"
    r"|no such|file not found|file does not exist|the system cannot find|enoent|eacces|eisdir|not found"
    r"|(?:file |path )?['\"`]?[^\n]{0,500}?skill\.md['\"`]? (?:was |is )?(?:not found|does not exist|not permitted))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FileLoad:
    """What came of one file. `body` is its text as shown, None when not recorded or not to be told from other output.
    `first` and `last` are the lines asked for; `ends` says that the body goes on to the end of the file, as far as can
    be told."""

    path: str
    name: str | None
    outcome: LoadOutcome
    body: str | None = None
    refusal: str | None = None
    first: int | None = 1
    last: int | None = None
    ends: bool = False

    @property
    def whole(self) -> bool:
        return self.first == 1 and self.ends


def file_loads(found: Reading, call: ToolCall) -> tuple[FileLoad, ...]:
    """Every SKILL.md that the call asked for, in order."""
    asked = [one for one in found.skill_files if not one.maybe]
    match call.outcome:
        case CallOutcome.UNANSWERED:
            return tuple(_load(one, LoadOutcome.UNANSWERED) for one in asked)
        case CallOutcome.REFUSED:
            refusal = call.error if call.error is not None else call.result
            return tuple(_load(one, LoadOutcome.REFUSED, refusal) for one in asked)
    recorded = call.result if call.result is not None else call.error
    if recorded is None:
        outcome = LoadOutcome.LOADED if call.outcome is CallOutcome.OK else LoadOutcome.REFUSED
        return tuple(_load(one, outcome) for one in asked)
    output = output_of(recorded)
    failed = output.failed or call.outcome is CallOutcome.FAILED
    texts = divided(found.shows, output.text) if found.by_command or len(found.shows) > 1 else _lone(found, output)
    shown = {id(text.shown) for text in texts}
    reason = None if any(text.refusal is None for text in texts) else _reason(call, output)
    missing = [SkillText(one, one.path) for one in asked if id(one) not in shown]
    return tuple(
        _settled(text, output, failed=failed)
        if id(text.shown) in shown
        else _load(text.shown, LoadOutcome.REFUSED, reason)
        for text in in_order(found.shows, [*texts, *missing])
    )


def _lone(found: Reading, output: Output) -> tuple[SkillText, ...]:
    """A file tool's one file, unless nothing was shown."""
    text, file = output.text, found.skill_files[0]
    return (SkillText(file, file.path, text, name=frontmatter_name(text.lstrip())),) if text.strip() else ()


def _settled(text: SkillText, output: Output, *, failed: bool) -> FileLoad:
    """Loaded or refused. After a failure only a text that names its skill was certainly read."""
    file = replace(text.shown, path=text.path)
    if text.refusal is not None:
        return _load(file, LoadOutcome.REFUSED, text.refusal)
    shown = text.text.strip() if text.text is not None else None
    if text.name is None and (failed or (shown is not None and _is_failure(shown))):
        return _load(file, LoadOutcome.REFUSED, output.text.strip())
    if text.text is None:
        return _load(file, LoadOutcome.LOADED)
    return _loaded(file, without_line_numbers(text.text.removesuffix("\n")), text.name, output)


def _loaded(shown: FileText, body: str, name: str | None, output: Output) -> FileLoad:
    first = output.first if output.first is not None else shown.first
    short = shown.last is None or (first is not None and first + body.count("\n") < shown.last)
    ends = short and not (shown.cut or output.cut)
    name = name or name_of_file(shown.path, body.lstrip())
    return FileLoad(shown.path, name, LoadOutcome.LOADED, body, None, first, shown.last, ends)


def _is_failure(text: str) -> bool:
    """Whether a short text says that a file could not be read."""
    return len(text) <= _MAX_FAILURE and text.count("\n") < 3 and _FAILURE.match(text) is not None


def _reason(call: ToolCall, output: Output) -> str:
    return next((text.strip() for text in (output.error, call.error, output.text) if text and text.strip()), "")


def _load(shown: FileText, outcome: LoadOutcome, refusal: str | None = None) -> FileLoad:
    name = None if is_pattern(shown.path) else name_of_file(shown.path, "")
    return FileLoad(shown.path, name, outcome, None, refusal, shown.first, shown.last)


@dataclass(slots=True)
class Pages:
    """One load of a file, which may have been shown in pages, or first its beginning and then all of it."""

    load: FileLoad

    def goes_on_with(self, load: FileLoad) -> bool:
        """Whether a later load of this file shows another part of the same text, or that there is none."""
        if self.load.outcome is not LoadOutcome.LOADED:
            return False
        if load.outcome is LoadOutcome.REFUSED:
            return load.first is not None and load.first > 1
        if load.outcome is not LoadOutcome.LOADED:
            return False
        if load.first != 1 or self.load.first != 1:
            return True
        peeked = self.load.body is not None and not self.load.ends and self.load.last is not None
        return peeked and (load.last is None or load.last > (self.load.last or 0))

    def add(self, load: FileLoad) -> None:
        """Take the load in: pages that leave no gap make one body, else the longest stays. A page that shows nothing
        tells that the text ended before it."""
        if load.outcome is LoadOutcome.REFUSED:
            self.load = replace(self.load, ends=self.load.ends or self._ends_before(load))
            return
        name = self.load.name or load.name
        joined = _joined(*sorted((self.load, load), key=lambda one: one.first or 0))
        longest = max((self.load, load), key=lambda one: len(one.body or ""))
        self.load = replace(joined or longest, name=name)

    def _ends_before(self, load: FileLoad) -> bool:
        if load.refusal or self.load.body is None or self.load.first is None or load.first is None:
            return False
        return self.load.first + self.load.body.count("\n") + 1 >= load.first


def _joined(one: FileLoad, next_one: FileLoad) -> FileLoad | None:
    """Two pages as one; None when lines between them are missing or a page is not known."""
    if one.body is None or next_one.body is None or one.first is None or next_one.first is None:
        return None
    lines, more = one.body.split("\n"), next_one.body.split("\n")
    skipped = one.first + len(lines) - next_one.first
    if skipped == 1 and lines[-1] != more[0]:
        skipped = 0  # this tool counts lines from 0
    if skipped < 0:
        return None
    if skipped >= len(more):
        return one
    return replace(one, body="\n".join([*lines, *more[skipped:]]), last=next_one.last, ends=next_one.ends)
