"""What a file or shell tool returned, without the harness's own lines around it.

Lines around come from what several harnesses print: an exit code before or after, where the text came from, how
many lines there were, line numbers. Each rule looks at the beginning or the end only, so that a file's own text stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from extractors.attributes import as_mapping, integer, parse_json
from extractors.spans import Value

SUCCESS: Final = frozenset({0, 141})
"""Exit codes of a command that printed what it was asked for; 141 when its reader, as in `| head`, had enough."""

_JSON_TEXTS: Final = (
    "stdout", "output", "content", "text", "instructions", "llmContent", "aggregated_output", "response", "result"
)  # fmt: skip
_JSON_ERRORS: Final = ("stderr", "error")
_EXIT_CODES: Final = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")

_EXIT_LINE: Final = re.compile(r"(?:process exited with code|exit code:?|exit status:?) (-?\d{1,9})\Z", re.IGNORECASE)
_HEADER_LINE: Final = re.compile(r"[A-Za-z][A-Za-z ]{0,40}(?:: .*|:| (?:with )?code -?\d{1,9})\Z")
_MAX_HEADER: Final = 12
_MAX_TAIL: Final = 12

_LEADS: Final = (
    re.compile(r"(?:OBSERVATION:|Content of [^\n]+:|Here's the result of running `cat -n` on [^\n]*)\n"),
    re.compile(r"@@ lines \d{1,9}-\d{1,9} of \d{1,9} @@\n"),
    re.compile(r"<path>[^<\n]*+</path>\n(?:<type>[^<\n]*+</type>\n)?<content[^<>\n]*+>\n?"),
    re.compile(r"<file>\n?(?:<path>[^<\n]*+</path>\n)?(?:<content[^<>\n]*+>\n?)?"),
    re.compile(r"(?:IMPORTANT: )?The file content has been truncated\.\n(?:[^\n]*+\n){0,12}?--- FILE CONTENT[^\n]*+\n"),
)
_TAILS: Final = (
    "</file>", "</content>", "<system-reminder>", "(End of file", "[The command completed with exit code",
    "[Current working directory:", "[Python interpreter:", "[Command finished with exit code",
)  # fmt: skip
_CUTS: Final = (
    "[... telemetry preview truncated ...]",
    "...[TRUNCATED", "[truncated", "(truncated", "… [truncated", "...(truncated",
    "(Output truncated", "<truncated", "[Output truncated", "(File has more lines",
)  # fmt: skip
_TAIL_EXIT: Final = re.compile(r"\[(?:The c|C)ommand (?:completed|finished) with exit code (-?\d{1,9})\.?\]")
_NOTHING: Final = re.compile(r"\s*+\((?:(?:[a-z]{1,12} ){0,4}no output|empty)\)\s*\Z", re.IGNORECASE)
"""What harnesses tell the model when a command printed nothing."""
_RANGE_LEAD: Final = re.compile(r"@@ lines (\d{1,9})-(\d{1,9}) of (\d{1,9}) @@\n")
_NUMBER: Final = re.compile(r"[ \t]{0,12}0{0,6}(\d{1,9})(?:\t|→|\| ?|: ?)")


@dataclass(frozen=True, slots=True)
class Output:
    """The text itself. `first` is the number of its first line where it is known, `cut` says that its end is missing.
    `error` is text that the tool keeps apart from it."""

    text: str
    exit_code: int | None = None
    first: int | None = None
    cut: bool = False
    error: str | None = None

    @property
    def failed(self) -> bool:
        """Whether an exit code says so."""
        return self.exit_code is not None and self.exit_code not in SUCCESS


def output_of(result: str) -> Output:
    """The text that a file or shell tool returned."""
    output = _from_json(result)
    if "\r\n" in output.text:  # so that the same file is the same text on every system
        output = replace(output, text=output.text.replace("\r\n", "\n"))
    output = _without_header(output)
    output = _without_tail(_without_lead(output))
    text, first = _unnumbered("" if _NOTHING.match(output.text) else output.text)
    return replace(output, text=text, first=first if first is not None else output.first)


def without_line_numbers(text: str) -> str:
    """The text without the line numbers that some read tools put before every line."""
    return _unnumbered(text)[0]


def _from_json(result: str) -> Output:
    """The text in a JSON object around it, such as {stdout, stderr, exit_code} or {file: {content, startLine}}."""
    body = as_mapping(parse_json(result)) if result.lstrip().startswith("{") else None
    if body is None:
        return Output(result)
    inner = next(
        (found for key in ("file", "output", "result", "response") if (found := as_mapping(body.get(key)))), body
    )
    text, error = _first_text(inner, _JSON_TEXTS), _first_text(body, _JSON_ERRORS)
    if text is None and error is None:
        return Output(result)
    first = integer(inner, "startLine")
    total, count = integer(inner, "totalLines"), integer(inner, "numLines")
    cut = total is not None and count is not None and (first or 1) + count - 1 < total
    return Output(text or "", _exit_code(body), first, cut, error or None)


def _first_text(body: Mapping[str, Value], keys: tuple[str, ...]) -> str | None:
    return next((text for key in keys if isinstance(text := body.get(key), str)), None)


def _exit_code(body: Mapping[str, Value]) -> int | None:
    places = (body, as_mapping(body.get("metadata")) or {})
    return next((code for place in places for key in _EXIT_CODES if (code := integer(place, key)) is not None), None)


def _without_header(output: Output) -> Output:
    """Without lines like `Exit code: 0` that end in a line `Output:`."""
    lines = output.text.split("\n", _MAX_HEADER)
    code = output.exit_code
    for at, line in enumerate(lines[:_MAX_HEADER]):
        if at and line.rstrip() == "Output:":
            return replace(output, text="\n".join(lines[at + 1 :]), exit_code=code)
        if at and line.startswith("Output: "):
            return replace(output, text="\n".join([line.removeprefix("Output: "), *lines[at + 1 :]]), exit_code=code)
        if _HEADER_LINE.match(line) is None:
            return output
        exit_line = _EXIT_LINE.match(line.strip())
        code = int(exit_line[1]) if exit_line is not None else code
    return output


def _without_lead(output: Output) -> Output:
    """Without what stands before a file's text."""
    shown = _RANGE_LEAD.match(output.text)
    if shown is not None:
        cut = output.cut or int(shown[2]) < int(shown[3])
        return replace(output, text=output.text[shown.end() :], first=int(shown[1]), cut=cut)
    match = next((found for lead in _LEADS if (found := lead.match(output.text)) is not None), None)
    if match is None:
        return output
    return replace(output, text=output.text[match.end() :], cut=output.cut or "truncated" in match[0])


def _without_tail(output: Output) -> Output:
    """Without the harness's lines behind a file's text."""
    text, code, cut, taken = output.text.rstrip(), output.exit_code, output.cut, False
    for _ in range(_MAX_TAIL):
        head, _newline, last = text.rpartition("\n")
        if last.endswith("</system-reminder>") and "<system-reminder>" in text:
            head = text.rpartition("<system-reminder>")[0]
        elif last.startswith(_CUTS):
            cut = True
        elif last.startswith(_TAILS):
            exit_line = _TAIL_EXIT.match(last)
            code = int(exit_line[1]) if exit_line is not None else code
        else:
            break
        text, taken = head.rstrip(), True
    return replace(output, text=text, exit_code=code, cut=cut) if taken else output


def _unnumbered(text: str) -> tuple[str, int | None]:
    """The text without numbers before its lines, and the first number. Lines that are empty need none."""
    lines = text.splitlines()
    kept: list[str] = []
    first = expected = None
    for line in lines:
        match = _NUMBER.match(line)
        if match is None:
            if line.strip():
                return text, None
            kept.append("")
            continue
        number = int(match[1])
        if expected is not None and number != expected:
            return text, None
        first, expected = (number if first is None else first), number + 1
        kept.append(line[match.end() :])
    return (text, None) if first is None else ("\n".join(kept), first)
