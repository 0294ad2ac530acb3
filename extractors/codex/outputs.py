"""What a tool of Codex gave back: the head that Codex puts before the output, the output, the exit code, refusals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from extractors import attributes as attrs

_MAX_HEAD: Final = 8
"""Lines of the head, at most."""
_HEAD_LINE: Final = re.compile(
    r"[A-Z][A-Za-z ]{0,40}(?:: ?[^\n]*| with code -?\d{1,10}| [\d.]{1,20} seconds| completed)?"
)
_EXIT: Final = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,10})")
_FINE_EXITS: Final = frozenset({0, 141})
"""141: the reader of a pipe (`| head`) had seen enough."""
_REJECTED: Final = re.compile(
    r"approval policy is \w+; reject|(?:exec command|command|patch|tool call) rejected|rejected by user"
    r"|execution (?:was )?(?:denied|rejected)",
    re.IGNORECASE,
)
_CREATE_PROCESS: Final = re.compile(r"[\w.]{1,80} failed")
_MARK: Final = "Rejected("
_SEARCHED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Output:
    """`text` is what the command wrote, `exit_line` the line of the head with its exit code, where there is one."""

    text: str
    exit_code: int | None = None
    exit_line: str | None = None

    @property
    def exit_failed(self) -> bool:
        """Whether the command ran and failed, which Codex counts as success."""
        return self.exit_code is not None and self.exit_code not in _FINE_EXITS


def read_output(recorded: str) -> Output:
    """An output as recorded. Without a head, or in an older form, a JSON object, it is read as such."""
    if recorded.startswith("{"):
        return _read_object(recorded)
    lines = recorded.split("\n", _MAX_HEAD + 1)
    exit_code, exit_line = None, None
    for at, line in enumerate(lines[: _MAX_HEAD + 1]):
        if line == "Output:":
            return Output("\n".join(lines[at + 1 :]).removeprefix("\n"), exit_code, exit_line)
        if line and _HEAD_LINE.fullmatch(line) is None:
            break
        code = _EXIT.fullmatch(line)
        if code is not None:
            exit_code, exit_line = int(code[1]), line
    return Output(recorded)


def _read_object(recorded: str) -> Output:
    body = attrs.as_object(recorded) or {}
    text, metadata = body.get("output"), attrs.as_mapping(body.get("metadata"))
    if not isinstance(text, str) or metadata is None:
        return Output(recorded)
    code = attrs.integer(metadata, "exit_code")
    return Output(text, code, None if code is None else f"Process exited with code {code}")


def is_rejection(recorded: str) -> bool:
    """Whether the output of a failed call says that it was not allowed to run."""
    text = recorded[:_SEARCHED]
    return _REJECTED.match(text) is not None or (_CREATE_PROCESS.match(text) is not None and _MARK in text)
