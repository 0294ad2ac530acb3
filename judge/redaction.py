"""Secrets taken out of text before it leaves the process, or is shown: patterns, names of fields, own patterns.

What is found becomes `<redacted kind="..."/>`. In a rendered prompt only the text between tags is looked at, so no
pattern can remove a tag, and no agent can write the mark itself: it has no way to write a `<` there. The same text
always gives the same result, so questions about one session still begin alike and share the judge's cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from judge.question import Prompt
from judge.redaction_patterns import DEFAULT_KEYS, DEFAULT_PATTERNS, checked_pattern

_TAG = re.compile(r"(<[^<>]*>)")
_KIND = re.compile(r"[a-z0-9][a-z0-9_.-]{0,40}")
KEY_KIND = "field"

_VALUE_LENGTH = 4_000
_BARE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str]
    group: int


class Redaction:
    """Built once from the configuration. `patterns` (kind → regular expression) are the user's own; `keys` are names
    of fields whose values are secret, in any case and with any of `_`, `-` or nothing between their words.

    Raises `ValueError`, naming the kind, for a pattern that could take long on some text (see
    `redaction_patterns.checked_pattern`).
    """

    def __init__(
        self, patterns: Mapping[str, str] | None = None, keys: Iterable[str] = (), *, defaults: bool = True
    ) -> None:
        own = [_Rule(_checked_kind(kind), checked_pattern(kind, text), 0) for kind, text in (patterns or {}).items()]
        known = [_Rule(kind, pattern, group) for kind, pattern, group in DEFAULT_PATTERNS] if defaults else []
        names = [*(DEFAULT_KEYS if defaults else ()), *keys]
        by_key = [_Rule(KEY_KIND, pattern, group) for pattern, group in _key_patterns(names)]
        # Fields first: with a part of it masked, a quoted value would no longer be seen as one.
        self._rules: Sequence[_Rule] = (*by_key, *own, *known)

    def text(self, text: str) -> str:
        """Any text, with every secret that the rules know replaced."""
        parts = [text]
        for rule in self._rules:
            # What is masked already is never looked at again: a field named `kind` would match inside the marks.
            parts = [piece for index, part in enumerate(parts) for piece in _parted(part, rule, is_mark=index % 2 == 1)]
        return "".join(parts)

    def markup(self, text: str) -> str:
        """Text with tags of ours in it; the tags stay as they are."""
        parts = _TAG.split(text)
        return "".join(part if index % 2 else self.text(part) for index, part in enumerate(parts))

    def prompt(self, prompt: Prompt) -> Prompt:
        """The prompt as it may leave the process. The system text is left alone: it is ours or the operator's, and
        nothing of the session is in it."""
        return replace(prompt, prefix=self.markup(prompt.prefix), question=self.markup(prompt.question))


def mark(kind: str) -> str:
    return f'<redacted kind="{kind}"/>'


def _parted(part: str, rule: _Rule, *, is_mark: bool) -> list[str]:
    """Text, mark, text, mark, ..., text; or the mark itself."""
    pieces: list[str] = []
    done = 0
    for found in () if is_mark else rule.pattern.finditer(part):
        first, last = found.span(rule.group)
        if first < last:
            pieces += [part[done:first], mark(rule.kind)]
            done = last
    return [*pieces, part[done:]]


def _key_patterns(keys: Iterable[str]) -> list[tuple[re.Pattern[str], int]]:
    """`password: x`, `"password": "x"`, also where JSON stands in a JSON text and its quotes have backslashes."""
    names = [
        r"[_-]?".join(map(re.escape, words)) for key in keys if (words := re.split(r"[_\s-]+", key.strip())) != [""]
    ]
    if not names:
        return []
    name = f"(?:{'|'.join(names)})"
    between = r"\s{0,4}[:=]\s{0,4}"
    # A quote with a backslash before it is part of the value, unless all quotes have one.
    quoted = rf"(?P<q>\\{{0,8}}[\"'])(.{{1,{_VALUE_LENGTH}}}?)(?<!\\)(?P=q)"
    bare = rf"([^\s\"'\\,;&<>{{}}()\[\]]{{1,{_BARE_LENGTH}}})"
    forms = ((rf"{name}(?:\\{{0,8}}[\"'])?{between}{quoted}", 2), (rf"{name}(?:\\{{0,8}}[\"'])?{between}{bare}", 1))
    return [(re.compile(form, re.IGNORECASE), group) for form, group in forms]


def _checked_kind(kind: str) -> str:
    if not _KIND.fullmatch(kind):
        raise ValueError(f"{kind!r}: a kind is made of small letters, digits, `_`, `-` and `.`")
    return kind


NOTHING = Redaction(defaults=False)
"""Leaves every text as it is."""
