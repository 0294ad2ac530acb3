"""Which text of a command's output is which skill's: one command may read several files and print other things.

Where texts begin is told by the headings that `head` and `tail` print, by known text of `echo` between, and by the
frontmatter that a SKILL.md begins with. Where one cannot be told from what is around it, it stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from extractors.paths import directory_name, is_pattern, same_file
from extractors.shell.output import FileText, OtherText, Printed
from extractors.skill_files import frontmatter_name, is_skill_file

_FRONTMATTER: Final = re.compile(r"^---[ \t]*\n(?=(?:(?!---)[^\n]*+\n){0,40}?name:[^\n]*+\n)", re.MULTILINE)
_HEADING: Final = re.compile(r"^==> ([^\n]+) <==\n", re.MULTILINE)
_FAILED_READ: Final = re.compile(
    r"(?:[\w./-]{1,80}: |\[bat error\]: )(?:line \d{1,9}: )?(?:can(?:no|')t (?:open|read|access) )?(?:file )?"
    r"['\"`\u2018]?([^\n]{1,1000}?)['\"\u2019]?(?: for reading)?"
    r": (?:No such file or directory|Permission denied|Is a directory|Not a directory)(?: \(os error \d{1,3}\))?\Z"
)
_FAILED_SHELL: Final = re.compile(
    r"(?:Get-Content|gc|type|cat) ?: (?:Cannot find path|Access to the path) '([^'\n]{1,1000})'"
)


@dataclass(frozen=True, slots=True)
class SkillText:
    """One SKILL.md in an output. `text` is None when it cannot be told from the rest, `refusal` is the line that says
    it could not be read. `name` is what its frontmatter says."""

    shown: FileText
    text: str | None = None
    refusal: str | None = None
    name: str | None = None


def divided(shows: Sequence[Printed], output: str) -> tuple[SkillText, ...]:
    """The skills' files among what a command shows, with their texts in its output.

    Files that only may have been read are left out unless their text is there. What wildcards stand for is told by
    the frontmatters.
    """
    output, refusals = _without_failures(shows, output)
    refused = [SkillText(shown, refusal=line) for shown, line in refusals]
    left = [one for one in shows if all(one is not shown for shown, _ in refusals)]
    found = [text for part in _parts(left, output) for text in _texts(*part)]
    order = {id(shown): at for at, shown in enumerate(shows)}
    return tuple(sorted([*refused, *found], key=lambda text: order[id(text.shown)]))


def _without_failures(shows: Sequence[Printed], output: str) -> tuple[str, list[tuple[FileText, str]]]:
    """The output without lines that say a file could not be read, and these lines by the file."""
    files = [one for one in shows if isinstance(one, FileText)]
    kept: list[str] = []
    failed: list[tuple[FileText, str]] = []
    for line in output.split("\n"):
        path = _path_of_failure(line.rstrip())
        file = next((one for one in files if path is not None and same_file(one.path, path)), None)
        if file is None:
            kept.append(line)
            continue
        files.remove(file)
        if is_skill_file(file.path):
            failed.append((file, line.strip()))
    return "\n".join(kept), failed


def _path_of_failure(line: str) -> str | None:
    if len(line) > 1_200:
        return None
    match = _FAILED_READ.match(line) or _FAILED_SHELL.match(line)
    return match[1] if match is not None else None


def _parts(shows: Sequence[Printed], output: str) -> Iterator[tuple[Sequence[Printed], str]]:
    """What is shown between two texts that are known, with that part of the output."""
    by_heading = _by_headings(shows, output)
    if by_heading is not None:
        yield from by_heading
        return
    waiting: list[Printed] = []
    for one in shows:
        known = one.text.strip() if isinstance(one, OtherText) and one.text is not None else ""
        at = _line_at(output, known) if known else -1
        if at < 0:
            if not (isinstance(one, OtherText) and (one.maybe or one.text is not None)):
                waiting.append(one)
            continue
        yield waiting, output[:at]
        output, waiting = output[at + len(known) :], []
    yield waiting, output


def _line_at(output: str, known: str) -> int:
    """Where known text stands as lines of its own, -1 when nowhere."""
    at = output.find(known)
    while at >= 0:
        starts = at == 0 or output[at - 1] == "\n"
        end = at + len(known)
        if starts and (end == len(output) or output[end] in "\r\n"):
            return at
        at = output.find(known, at + len(known))
    return -1


def _by_headings(shows: Sequence[Printed], output: str) -> list[tuple[Sequence[Printed], str]] | None:
    """The parts below `==> path <==`, when there is one for every file."""
    files = [one for one in shows if isinstance(one, FileText)]
    marks = list(_HEADING.finditer(output))
    if len(marks) < 2 or len(marks) != len(files):
        return None
    if not all(same_file(file.path, mark[1]) for file, mark in zip(files, marks, strict=True)):
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(output)]
    return [([file], output[mark.end() : end]) for file, mark, end in zip(files, marks, ends, strict=True)]


def _texts(shows: Sequence[Printed], output: str) -> Iterator[SkillText]:
    """The skills' files of one part. A lone file has all of it."""
    if not output.strip():
        return
    skills = [one for one in shows if isinstance(one, FileText) and is_skill_file(one.path)]
    if len(shows) == 1 and skills and not is_pattern(skills[0].path):
        yield SkillText(skills[0], output, name=frontmatter_name(output.lstrip()))
        return
    starts = [match.start() for match in _FRONTMATTER.finditer(output)]
    spans = dict(pairwise([*starts, len(output)]))
    begins = _beginnings(shows, output, starts)
    for one in skills:
        if is_pattern(one.path):
            taken = set(begins.values())
            yield from (_from_frontmatter(one, output[at:end]) for at, end in spans.items() if at not in taken)
        elif id(one) in begins:
            at = begins[id(one)]
            bounded = one is shows[-1] or _next_begins(one, shows, begins)
            name = frontmatter_name(output[at:])
            yield SkillText(one, output[at : _end(one, shows, begins, len(output))] if bounded else None, name=name)
        elif not one.maybe:
            yield SkillText(one)


def _from_frontmatter(shown: FileText, text: str) -> SkillText:
    return SkillText(shown, text, name=frontmatter_name(text))


def _next_begins(one: FileText, shows: Sequence[Printed], begins: dict[int, int]) -> bool:
    at = next(at for at, other in enumerate(shows) if other is one)
    return at + 1 < len(shows) and id(shows[at + 1]) in begins


def _end(one: FileText, shows: Sequence[Printed], begins: dict[int, int], length: int) -> int:
    later = [begin for begin in begins.values() if begin > begins[id(one)]]
    return min(later, default=length)


def _beginnings(shows: Sequence[Printed], output: str, starts: Sequence[int]) -> dict[int, int]:
    """`id` of a file → where its text begins: files and frontmatters in order when there are as many of both, else
    by the skill's name. A file that comes first begins where the output does."""
    files = [one for one in shows if isinstance(one, FileText) and is_skill_file(one.path)]
    sure = [one for one in files if not one.maybe and not is_pattern(one.path)]
    if len(sure) == len(files) == len(starts) and all(one.first == 1 for one in sure):
        return {id(one): at for one, at in zip(sure, starts, strict=True)}
    named = [(frontmatter_name(output[at:]) or "", at) for at in starts]
    found: dict[int, int] = {}
    for one in files:
        own = _folded(directory_name(one.path) or "")
        at = next((at for name, at in named if _folded(name) == own and at not in found.values()), None)
        if at is not None and not is_pattern(one.path):
            found[id(one)] = at
    if shows and shows[0] in sure and id(shows[0]) not in found and 0 not in found.values():
        found[id(shows[0])] = 0
    return found


def _folded(name: str) -> str:
    """For comparing a skill's name with its directory's."""
    return name.casefold().replace("_", "-")
