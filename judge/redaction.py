"""Secrets taken out of text before it leaves the process, or is shown: patterns, names of fields, own patterns.

What is found becomes `<redacted kind="..."/>`. In a rendered prompt only the text between tags is looked at, so no
pattern can remove a tag, and no agent can write the mark itself: it has no way to write a `<` there. The same text
always gives the same result, so questions about one session still begin alike and share the judge's cache.

Half a secret is none that a pattern knows. So whoever shortens a text looks for secrets first: see `cut_before`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from judge.redaction_patterns import (
    DEFAULT_KEYS,
    DEFAULT_PATTERNS,
    MOST_KEY,
    NEEDED,
    checked_pattern,
    ends_of_private_keys,
    longest,
)

if TYPE_CHECKING:  # questions are described in words, and those are shortened with the help of this module
    from judge.question import Prompt

_TAG = re.compile(r"(<[^<>]*>)")
_KIND = re.compile(r"[a-z0-9][a-z0-9_.-]{0,40}")
KEY_KIND = "field"
PRIVATE_KEY = "private-key"

_VALUE_LENGTH = 4_000
_BARE_LENGTH = 300
_MARK_LENGTH = len('<redacted kind=""/>') + 41

Spans = Callable[[str], Iterable[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Secret:
    """Where in a text something is to be masked, and as what."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """`needed` are texts of which one is there, whatever its case, wherever `spans` finds something; none: it must
    look. `reach` is the most characters that it finds at once."""

    kind: str
    spans: Spans
    reach: int
    needed: tuple[str, ...] = ()


class Redaction:
    """Built once from the configuration. `patterns` (kind → regular expression) are the user's own; `keys` are names
    of fields whose values are secret, in any case and with any of `_`, `-` or nothing between their words.

    Raises `ValueError`, naming the kind, for a pattern that could take long on some text (see
    `redaction_patterns.checked_pattern`).
    """

    def __init__(
        self, patterns: Mapping[str, str] | None = None, keys: Iterable[str] = (), *, defaults: bool = True
    ) -> None:
        own = [_by_pattern(_checked_kind(kind), checked_pattern(kind, text)) for kind, text in (patterns or {}).items()]
        names = [words for key in (*(DEFAULT_KEYS if defaults else ()), *keys) if (words := _words(key))]
        # Fields first: with a part of it masked, a quoted value would no longer be seen as one.
        self._rules: Sequence[_Rule] = (*_by_name(names), *own, *(_DEFAULTS if defaults else ()))
        self._named = _name_pattern(names) if names else None
        self.reach = max((rule.reach for rule in self._rules), default=0)
        """No secret is longer, so one that begins or ends at a place is seen whole this far around it."""

    def secrets(self, text: str) -> list[Secret]:
        """All that is to be masked, in order, without overlaps."""
        folded = text.casefold()
        found: list[Secret] = []
        for rule in self._rules:
            if rule.needed and not any(one in folded for one in rule.needed):
                continue
            # What is found already is never looked at again: a field named `kind` would match inside the marks.
            more = [
                Secret(at + start, at + end, rule.kind)
                for at, piece in list(_between(text, found))
                for start, end in rule.spans(piece)
            ]
            if more:
                found = sorted([*found, *more], key=lambda secret: secret.start)
        return found

    def text(self, text: str) -> str:
        """Any text, with every secret that the rules know replaced."""
        found = self.secrets(text)
        return masked(text, found) if found else text

    def cut_before(self, text: str, most: int) -> str:
        """The text with its secrets masked, of which the first `most` characters are wanted and no others: what they
        hold of a secret that ends behind them is masked, too."""
        near = text[: most + self.reach]
        found = [secret for secret in self.secrets(near) if secret.start < most]
        return masked(near[: max([most, *(secret.end for secret in found)])], found)

    def markup(self, text: str) -> str:
        """Text with tags of ours in it; the tags stay as they are."""
        parts = _TAG.split(text)
        return "".join(part if index % 2 else self.text(part) for index, part in enumerate(parts))

    def prompt(self, prompt: Prompt) -> Prompt:
        """The prompt as it may leave the process. The system text is left alone: it is ours or the operator's, and
        nothing of the session is in it."""
        return replace(prompt, prefix=self.markup(prompt.prefix), question=self.markup(prompt.question))

    def value(self, value: object) -> object:
        """The same of a JSON value: every text in it, and whatever stands under the name of a secret field."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._key(key): self._of_field(key, one) for key, one in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list | tuple) else value

    def _key(self, key: object) -> object:
        return self.text(key) if isinstance(key, str) else key

    def _of_field(self, key: object, value: object) -> object:
        named = self._named is not None and isinstance(key, str) and self._named.search(key)
        is_plain = isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
        return mark(KEY_KIND) if named and is_plain else self.value(value)


def mark(kind: str) -> str:
    return f'<redacted kind="{kind}"/>'


def masked(text: str, found: Sequence[Secret]) -> str:
    """The text with a mark for each of these."""
    pieces: list[str] = []
    done = 0
    for secret in found:
        pieces += [text[done : secret.start], mark(secret.kind)]
        done = secret.end
    return "".join((*pieces, text[done:]))


def without_broken_mark(text: str) -> str:
    """A masked text that was cut, without the beginning of a mark at its end."""
    start = text.rfind("<redacted", max(0, len(text) - _MARK_LENGTH))
    return text[:start] if start >= 0 and "/>" not in text[start:] else text


def _between(text: str, found: Sequence[Secret]) -> Iterator[tuple[int, str]]:
    """(start, text) of what nothing was found in yet."""
    done = 0
    for secret in found:
        yield done, text[done : secret.start]
        done = secret.end
    yield done, text[done:]


def _by_pattern(kind: str, pattern: re.Pattern[str], group: int = 0, needed: tuple[str, ...] = ()) -> _Rule:
    def spans(text: str) -> Iterator[tuple[int, int]]:
        return (span for one in pattern.finditer(text) if (span := one.span(group))[0] < span[1])

    return _Rule(kind, spans, longest(pattern), needed)


_DEFAULTS = (
    *(_by_pattern(kind, pattern, group, NEEDED[kind]) for kind, pattern, group in DEFAULT_PATTERNS),
    _Rule(PRIVATE_KEY, ends_of_private_keys, MOST_KEY + 100, NEEDED[PRIVATE_KEY]),
)


def _words(key: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[_\s-]+", key.strip()) if word)


def _alternatives(names: Sequence[tuple[str, ...]]) -> str:
    return f"(?:{'|'.join(r'[_-]?'.join(map(re.escape, words)) for words in names)})"


def _name_pattern(names: Sequence[tuple[str, ...]]) -> re.Pattern[str]:
    """Names of fields that end like one of these, as they do in running text."""
    return re.compile(rf"{_alternatives(names)}\Z", re.IGNORECASE)


def _by_name(names: Sequence[tuple[str, ...]]) -> list[_Rule]:
    """`password: x`, `"password": "x"`, also where JSON stands in a JSON text and its quotes have backslashes."""
    if not names:
        return []
    name = _alternatives(names)
    between = r"\s{0,4}[:=]\s{0,4}"
    # A quote with a backslash before it is part of the value, unless all quotes have one. Where the text was cut
    # within the value, by others or by `describe.shorten`, there is no second quote.
    quoted = rf"(?P<q>\\{{0,8}}[\"'])(?!(?P=q))(.{{1,{_VALUE_LENGTH}}}?)(?:(?<!\\)(?P=q)|\Z|… \()"
    bare = rf"([^\s\"'\\,;&<>{{}}()\[\]]{{1,{_BARE_LENGTH}}})"
    forms = ((rf"{name}(?:\\{{0,8}}[\"'])?{between}{quoted}", 2), (rf"{name}(?:\\{{0,8}}[\"'])?{between}{bare}", 1))
    needed = tuple({max(words, key=len).casefold() for words in names})
    return [_by_pattern(KEY_KIND, re.compile(form, re.IGNORECASE), group, needed) for form, group in forms]


def _checked_kind(kind: str) -> str:
    if not _KIND.fullmatch(kind):
        raise ValueError(f"{kind!r}: a kind is made of small letters, digits, `_`, `-` and `.`")
    return kind


NOTHING = Redaction(defaults=False)
"""Leaves every text as it is."""
