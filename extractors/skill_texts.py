"""Which text of a command's output is which skill's: one command may read several files and print other things.

Where texts begin is told by the headings that `head` and `tail` print, by known text of `echo` between, and by the
frontmatter that a SKILL.md begins with. Where one cannot be told from what is around it, it stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice, pairwise
from typing import Final

from extractors.paths import directory_name, is_pattern, same_file
from extractors.shell.output import FileText, OtherText, Printed
from extractors.skill_files import frontmatter_name, is_skill_file

_FRONTMATTER: Final = re.compile(r"^---[ \t]*\n(?=(?:(?!---)[^\n]*+\n){0,40}?name:([^\n]*+)\n)", re.MULTILINE)
_HEADING: Final = re.compile(
    r"^(?:==> ([^\n]++)(?<= <==)|--- ([^\n]++)(?<= ---)|([^\n]*?SKILL\.md):)$", re.MULTILINE | re.IGNORECASE
)
_NAMING_LINE: Final = re.compile(
    r"(?:[=#*>]{1,40}|-{2,40})? ?(?:(?:file|skill|path):? )?"
    r"([^\s()\[\]=#*<>-][^\s()\[\]=#*<>]{0,300}?):?(?: ?[=#*<-]{1,40})?\Z",
    re.IGNORECASE,
)
_AFTER_HEADED: Final = re.compile(r"\n---(?: End of content ---)?\s*\Z")
_FAILED_READ: Final = re.compile(
    r"(?:[\w./-]{1,80}: |\[bat error\]: )(?:line \d{1,9}: )?(?:can(?:no|')t (?:open|read|access) )?(?:file )?"
    r"['\"`\u2018]?([^\n]{1,1000}?)['\"\u2019]?(?: for reading)?"
    r": (?:No such file or directory|Permission denied|Is a directory|Not a directory)(?: \(os error \d{1,3}\))?\Z"
)
_FAILED_SHELL: Final = re.compile(
    r"(?:Get-Content|gc|type|cat) ?: (?:Cannot find path|Access to the path) '([^'\n]{1,1000})'"
)


_MAX_LINE: Final = 400
_MAX_LINES_BETWEEN: Final = 4
"""Lines that a loop prints between two files, and their length."""

MAX_TEXTS: Final = 256
"""Frontmatters in one output that are told apart."""


@dataclass(frozen=True, slots=True)
class SkillText:
    """One SKILL.md in an output. `text` is None when it cannot be told from the rest, `refusal` is the line that says
    it could not be read. `name` is what its frontmatter says. `shown` is what the command shows: wildcards there may
    stand for several files; `path` is this one's."""

    shown: FileText
    path: str
    text: str | None = None
    refusal: str | None = None
    name: str | None = None


def beginnings(output: str) -> Iterator[int]:
    """Where texts with a skill's frontmatter begin."""
    return (match.start() for match in _FRONTMATTER.finditer(output))


def divided(shows: Sequence[Printed], output: str) -> tuple[SkillText, ...]:
    """The skills' files among what a command shows, with their texts in its output.

    Files that only may have been read are left out unless their text is there. What wildcards stand for is told by
    the frontmatters.
    """
    output, refusals = _without_failures(shows, output)
    refused = [SkillText(shown, shown.path, refusal=line) for shown, line in refusals if is_skill_file(shown.path)]
    left = [one for one in shows if all(one is not shown for shown, _ in refusals)]
    found = [text for part in _parts(left, output) for text in _texts(*part)]
    return in_order(shows, [*refused, *found])


def in_order(shows: Sequence[Printed], texts: Sequence[SkillText]) -> tuple[SkillText, ...]:
    """The texts as the command shows them."""
    order = {id(shown): at for at, shown in enumerate(shows)}
    return tuple(sorted(texts, key=lambda text: order[id(text.shown)]))


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
        failed.append((file, line.strip()))
    return "\n".join(kept), failed


def _path_of_failure(line: str) -> str | None:
    if len(line) > 1_200:
        return None
    match = _FAILED_READ.match(line) or _FAILED_SHELL.match(line)
    return match[1] if match is not None else None


def _parts(shows: Sequence[Printed], output: str) -> Iterator[tuple[Sequence[Printed], str]]:
    """What is shown between two texts that are known, with that part of the output."""
    if any(isinstance(one, FileText) and is_pattern(one.path) for one in shows):
        yield shows, output  # a loop over unknown files prints the known text once for each
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
    """Where known text stands as lines of its own, -1 when nowhere. A rule of dashes is taken for one only before
    a frontmatter, since a frontmatter has such lines itself."""
    if not known.strip("-"):
        return output.find(f"\n{known}\n---\n") + 1 or -1
    at = output.find(known)
    while at >= 0:
        starts = at == 0 or output[at - 1] == "\n"
        end = at + len(known)
        if starts and (end == len(output) or output[end] in "\r\n"):
            return at
        at = output.find(known, at + len(known))
    return -1


def _headed(shows: Sequence[Printed], output: str) -> list[SkillText]:
    """The skills' files below lines like `==> path <==`, when every heading is one of the files; else none."""
    files = [one for one in shows if isinstance(one, FileText)]
    marks = [(match, _path_in(match)) for match in _HEADING.finditer(output)]
    owners = [next((one for one in files if _may_be(one.path, path)), None) for _, path in marks]
    if not marks or None in owners or output[: marks[0][0].start()].strip():
        return []
    ends = [match.start() for match, _ in marks[1:]] + [len(output)]
    found: list[SkillText] = []
    for (match, path), owner, end in zip(marks, owners, ends, strict=True):
        text = output[match.end() : end].removeprefix("\n")
        text = text if match[1] is not None else _AFTER_HEADED.sub("", text)
        if owner is not None and is_skill_file(path):
            found.append(SkillText(owner, path, text, name=frontmatter_name(text)))
    return found


def _path_in(heading: re.Match[str]) -> str:
    return (heading[1] or heading[2] or heading[3]).removesuffix(" <==").removesuffix(" ---").strip()


def _may_be(path: str, other: str) -> bool:
    """Whether a path, perhaps with wildcards, may be this file."""
    return same_file(path, other) or (is_pattern(path) and is_skill_file(path) and is_skill_file(other))


def _texts(shows: Sequence[Printed], output: str) -> Iterator[SkillText]:
    """The skills' files of one part. A lone file has all of it."""
    marks = tuple(one.text.strip() for one in shows if isinstance(one, OtherText) and one.text is not None)
    shows = [one for one in shows if not (isinstance(one, OtherText) and one.text is not None)]
    if not shows or not output.strip():
        return
    headed = _headed(shows, output)
    if headed:
        yield from headed
        return
    starts = {match.start(): folded(match[1]) for match in islice(_FRONTMATTER.finditer(output), MAX_TEXTS)}
    shows = _chosen(shows, set(starts.values()))
    skills = [one for one in shows if isinstance(one, FileText) and is_skill_file(one.path)]
    if len(shows) == 1 and skills and not is_pattern(skills[0].path):
        yield SkillText(skills[0], skills[0].path, output, name=frontmatter_name(output.lstrip()))
        return
    begins = _beginnings(shows, output, starts)
    ends = dict(pairwise([*sorted({*starts, *begins.values()}), len(output)]))
    for one, follower in zip(shows, [*shows[1:], None], strict=True):
        if not isinstance(one, FileText) or not is_skill_file(one.path):
            continue
        if is_pattern(one.path):
            loose = sorted(set(starts) - set(begins.values()))
            for at in loose:
                text = _without_heading(output[at : ends[at]], marks, one.path, starts.get(ends[at]))
                yield SkillText(one, one.path, text if follower is None else None, name=frontmatter_name(text))
        elif id(one) in begins:
            text = output[begins[id(one)] : ends[begins[id(one)]]]
            bounded = follower is None or id(follower) in begins
            if isinstance(follower, FileText):
                text = _without_heading(text, marks, follower.path, starts.get(ends[begins[id(one)]]))
            yield SkillText(one, one.path, text if bounded else None, name=frontmatter_name(text))
        elif not (one is shows[0] and follower is not None and _at_once(follower, begins, output)):
            yield SkillText(one, one.path)


def _at_once(follower: Printed, begins: Mapping[int, int], output: str) -> bool:
    """Whether what follows begins with the output, so that nothing is shown before it."""
    return id(follower) in begins and not output[: begins[id(follower)]].strip()


def _without_heading(text: str, marks: Sequence[str], path: str, name: str | None) -> str:
    """The text without lines at its end that a loop prints around files: known ones, and those that name the next
    file. `name` is the next text's skill, None when there is none."""
    for _ in range(_MAX_LINES_BETWEEN):
        rest, _, line = text.rstrip().rpartition("\n")
        line = line.strip()
        if not rest or len(line) > _MAX_LINE:
            break
        if not any(_is_mark(line, mark) for mark in marks) and not (name is not None and _names_next(line, path, name)):
            break
        text = rest + "\n"
    return text


def _is_mark(line: str, mark: str) -> bool:
    """Whether a line is text known from the command, in which a wildcard stands for the file at hand."""
    return line == mark or (is_pattern(mark) and len(mark) <= _MAX_LINE and fnmatchcase(line, mark))


def _names_next(line: str, path: str, name: str) -> bool:
    match = _NAMING_LINE.match(line)
    told = match[1] if match is not None else ""
    return bool(told) and (
        folded(told) == name or _may_be(path, told) or _may_be(path, told.rstrip("/\\") + "/SKILL.md")
    )


def _chosen(shows: Sequence[Printed], names: set[str]) -> list[Printed]:
    """Without files that only may be shown and are not: another is there in their place, and no text has their name."""
    files = [one for one in shows if isinstance(one, FileText)]
    by_name = [one for one in files if folded(directory_name(one.path) or "") in names]
    sure = [one for one in files if not one.maybe]
    kept = list(sure)
    for one in by_name:
        if one.maybe and not any(_named_alike(one, other) for other in kept):
            kept.append(one)
    kept = kept or files[:1]
    return [one for one in shows if not isinstance(one, FileText) or any(one is other for other in kept)]


def _named_alike(one: FileText, other: FileText) -> bool:
    return directory_name(one.path) == directory_name(other.path)


def _beginnings(shows: Sequence[Printed], output: str, starts: Mapping[int, str]) -> dict[int, int]:
    """`id` of a file → where its text begins: files and frontmatters in order when there are as many of both, else
    by the skill's name. A file that comes first begins where the output does."""
    files = [one for one in shows if isinstance(one, FileText) and is_skill_file(one.path)]
    sure = [one for one in files if not one.maybe and not is_pattern(one.path)]
    if len(sure) == len(files) == len(starts) and all(one.first == 1 for one in sure):
        return {id(one): at for one, at in zip(sure, starts, strict=True)}
    found: dict[int, int] = {}
    free = dict(starts)
    for one in files:
        own = folded(directory_name(one.path) or "")
        at = next((at for at, name in free.items() if name == own), None)
        if at is not None and not is_pattern(one.path):
            found[id(one)] = at
            free.pop(at)
    if shows and shows[0] in sure and id(shows[0]) not in found and 0 not in found.values():
        found[id(shows[0])] = 0
    return found


def folded(name: str) -> str:
    """For comparing a skill's name with its directory's."""
    return name.strip(" \t\r\"'").casefold().replace("_", "-")
