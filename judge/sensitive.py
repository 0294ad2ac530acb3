"""Secrets and personal data in text, by the shapes that they are known to have. Values are found and never repeated.

The shapes of keys and tokens are those that redaction knows too. Every pattern begins where no character of its own
kind stands before it, every repetition is bounded, and what is repeated can match in one way only, so that the time
for a text grows with its length and no more. Checksums decide where there are any.

The list is our own and short. Scanners of source code (detect-secrets and the like) are built for files: they keep
global settings and guess by entropy, which in tool arguments flags every identifier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge.globs import matches
from judge.redaction_patterns import DEFAULT_PATTERNS, NEEDED

MOST_HITS = 100


@dataclass(frozen=True, slots=True)
class Shape:
    """What one kind of data looks like. `kind` is its name in settings, `title` what explanations call it. `holds`
    looks closer at what the pattern found; `group` is the part that is the value. `needed` are texts of which there is
    one, whatever its case, wherever the pattern is found: looking for them first is much quicker."""

    kind: str
    title: str
    pattern: re.Pattern[str]
    group: str | int = 0
    holds: Callable[[str], bool] = bool
    needed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A value, found at a place of the text. `value` is for allow-lists, and must not be shown."""

    shape: Shape
    start: int
    value: str

    @property
    def end(self) -> int:
        return self.start + len(self.value)


def luhn(digits: str) -> bool:
    """Whether the check digit of a card number is right; spaces and dashes are skipped."""
    numbers = [int(digit) for digit in digits if digit in "0123456789"]
    if not 13 <= len(numbers) <= 19 or len(set(numbers)) == 1:
        return False
    doubled = [number * 2 - 9 * (number > 4) for number in numbers[-2::-2]]
    return (sum(numbers[-1::-2]) + sum(doubled)) % 10 == 0


IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AT": 20, "BE": 16, "BG": 22, "BR": 29, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18,
    "EE": 20, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GI": 23, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23,
    "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28,
    "PT": 25, "RO": 24, "RS": 22, "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TR": 26, "UA": 29,
}  # fmt: skip
"""Country → characters of an IBAN, for countries that use it widely."""


def iban(text: str) -> bool:
    """Whether length and check digits are those of an IBAN."""
    compact = text.replace(" ", "")
    if len(compact) != IBAN_LENGTHS.get(compact[:2]):
        return False
    return int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 == 1


PLACEHOLDERS = (
    "*",
    "<",
    "$",
    "{",
    "%",
    "xxx",
    "your",
    "example",
    "changeme",
    "redacted",
    "none",
    "null",
    "true",
    "false",
)


def _no_placeholder(value: str) -> bool:
    """`password=<your password>` and `${PASSWORD}` hide nothing."""
    return not value.lower().startswith(PLACEHOLDERS)


def _iban_within(text: str) -> bool:
    """The pattern may have taken a following word for the end of the number."""
    compact = text.replace(" ", "")
    return iban(compact[: IBAN_LENGTHS.get(compact[:2], 0)])


_OWN_KIND = {"private-key": "private_key", "json-web-token": "jwt", "url-password": "url_password"}
"""Kinds of redaction that are kinds of their own here; all others are `api_key`."""

_SECRETS = tuple(
    Shape(_OWN_KIND.get(kind, "api_key"), kind.replace("-", " "), pattern, group, _no_placeholder, NEEDED[kind])
    for kind, pattern, group in DEFAULT_PATTERNS
)

_PERSONAL = (
    Shape(
        "password",
        "password",
        re.compile(
            r"(?<![A-Za-z0-9])(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|auth[_-]?token)"
            r"[\"']?\s{0,5}[:=]\s{0,5}[\"']?(?P<value>[^\s\"',;&]{6,200})",
            re.IGNORECASE,
        ),
        "value",
        _no_placeholder,
        ("pass", "secret", "api", "token"),
    ),
    Shape(
        "card", "card number", re.compile(r"(?<![0-9A-Za-z.-])[0-9](?:[ -]?[0-9]){12,18}(?![0-9A-Za-z])"), holds=luhn
    ),
    Shape(
        "iban",
        "IBAN",
        re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])"),
        holds=_iban_within,
    ),
    Shape(
        "email",
        "e-mail address",
        re.compile(
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])"
        ),
        needed=("@",),
    ),
    Shape(
        "phone",
        "phone number",
        re.compile(r"(?<![0-9A-Za-z+])\+[1-9](?:[ ()./-]{0,2}[0-9]){7,14}(?![0-9A-Za-z])"),
        needed=("+",),
    ),
)

SHAPES: tuple[Shape, ...] = (*_SECRETS, *_PERSONAL)
NAMES: tuple[str, ...] = tuple(dict.fromkeys(shape.kind for shape in SHAPES))
USUAL = tuple(name for name in NAMES if name not in {"email", "phone"})
"""Addresses and numbers are what many agents work with; whoever wants them found names them."""


def hits(text: str, kinds: Sequence[str] = USUAL, allow: Sequence[str] = ()) -> list[Hit]:
    """The first `MOST_HITS` values in the text that are of one of these kinds and fit no pattern of `allow`, shape by
    shape. Where shapes overlap (`api_key=sk-…`), the value counts for the first only."""
    found: list[Hit] = []
    folded = text.casefold()
    for shape in SHAPES:
        if shape.kind not in kinds or (shape.needed and not any(needed in folded for needed in shape.needed)):
            continue
        for match in shape.pattern.finditer(text):
            hit = Hit(shape, match.start(shape.group), match[shape.group])
            if not shape.holds(hit.value) or any(matches(pattern, hit.value) for pattern in allow):
                continue
            if not any(hit.start < other.end and other.start < hit.end for other in found):
                found.append(hit)
                if len(found) == MOST_HITS:
                    return found
    return found
