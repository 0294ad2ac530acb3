"""Shapes of well-known secrets, and which expressions of the user's own may run.

Python's engine backtracks: on text that a stranger wrote, an unlucky expression may take for ever. So every
repetition needs an upper limit, and the ways to match from one place must not multiply to more than `MOST_WAYS`. That
bounds the time for each character of text, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from re import _constants as codes  # type: ignore[attr-defined]  # private, and the only parser of this syntax
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST_REPEATS = 512
MOST_WAYS = 10_000
MOST_PATTERN = 500

MOST_KEY = 20_000
"""Characters of a private key between its first and its last line."""

_WORD = r"(?<![A-Za-z0-9_])"
_PEM_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END = r"-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_LAST_LINE = re.compile(_PEM_END)
# Backwards from the last line: the lines above it, as far as they look like those of a key, and of the first perhaps
# only a part. A line break may be written as in JSON, or have become a space.
_BREAK_BACKWARDS = r"(?:\s|[nr]\\{1,8}){1,8}"
_LINE_END_BACKWARDS = r"(?=[nr]\\|[^A-Za-z0-9+/=]|\Z)"
_LINE_BACKWARDS = rf"{_BREAK_BACKWARDS}[A-Za-z0-9+/=]{{%d,{MOST_KEY}}}?{_LINE_END_BACKWARDS}"
_KEY_BACKWARDS = re.compile(
    rf"(?:(?![nr]\\)[A-Za-z0-9+/=]{{1,{MOST_KEY}}}?{_LINE_END_BACKWARDS})?"
    rf"(?:{_LINE_BACKWARDS % 1}){{0,2}}(?:{_LINE_BACKWARDS % 40})*(?:{_LINE_BACKWARDS % 1})?"
)


def ends_of_private_keys(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of keys whose beginning is missing: whoever recorded the text had cut it."""
    done = 0
    for last in _LAST_LINE.finditer(text):
        before = text[max(done, last.start() - MOST_KEY) : last.start()]
        lines = _KEY_BACKWARDS.match(before[::-1])
        done = last.end()
        yield last.start() - (lines.end() if lines else 0), done


DEFAULT_PATTERNS: tuple[tuple[str, re.Pattern[str], int], ...] = tuple(
    (kind, re.compile(pattern), group)
    for kind, pattern, group in (
        # A key whose end was left out for length is no less a key.
        ("private-key", rf"{_PEM_BEGIN}(?:[A-Za-z0-9+/=\s\\:,.()]|-(?!-)){{1,{MOST_KEY}}}(?:{_PEM_END})?", 0),
        ("anthropic-key", _WORD + r"sk-ant-[A-Za-z0-9_-]{16,200}", 0),
        ("openai-key", _WORD + r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,200}", 0),
        ("aws-access-key", _WORD + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])", 0),
        ("github-token", _WORD + r"(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})", 0),
        ("gitlab-token", _WORD + r"gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_.-]{18,200}", 0),
        ("slack-token", _WORD + r"xox[abeoprs]-[A-Za-z0-9-]{10,200}", 0),
        ("slack-webhook", r"hooks\.slack\.com/services/[A-Za-z0-9_/-]{20,100}", 0),
        ("google-key", _WORD + r"AIza[A-Za-z0-9_-]{35}", 0),
        ("google-token", _WORD + r"ya29\.[A-Za-z0-9_-]{20,500}", 0),
        ("stripe-key", _WORD + r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,200}", 0),
        ("npm-token", _WORD + r"npm_[A-Za-z0-9]{36}", 0),
        ("pypi-token", _WORD + r"pypi-[A-Za-z0-9_-]{50,300}", 0),
        ("hugging-face-token", _WORD + r"hf_[A-Za-z0-9]{30,100}", 0),
        ("sendgrid-key", _WORD + r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}", 0),
        ("json-web-token", _WORD + r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,1000}", 0),
        (
            "authorization",
            r"(?i:authorization[\"'\\]{0,9}\s{0,4}[:=]\s{0,4}[\"'\\]{0,9}[a-z]{0,12}\s{1,4})([^\s\"'\\<>]{8,2000})",
            1,
        ),
        ("authorization", r"(?i:\bbearer)\s{1,4}(?=[A-Za-z_.~+/-]{0,200}[0-9])([A-Za-z0-9+/=._~-]{20,2000})", 1),
        ("url-password", r"[a-z][a-z0-9+.-]{0,20}://[^\s/:@\"'<>]{0,100}:([^\s/@\"'<>]{1,200})@", 1),
    )
)
"""Kind, pattern, and the group that is the secret; the more particular kind first."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    "private-key": ("private key",),
    "anthropic-key": ("sk-ant-",),
    "openai-key": ("sk-",),
    "aws-access-key": ("akia", "asia", "abia", "acca"),
    "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "gitlab-token": ("gl",),
    "slack-token": ("xox",),
    "slack-webhook": ("hooks.slack.com",),
    "google-key": ("aiza",),
    "google-token": ("ya29.",),
    "stripe-key": ("k_live_", "k_test_"),
    "npm-token": ("npm_",),
    "pypi-token": ("pypi-",),
    "hugging-face-token": ("hf_",),
    "sendgrid-key": ("sg.",),
    "json-web-token": ("eyj",),
    "authorization": ("authorization", "bearer"),
    "url-password": ("://",),
}
"""Kind → texts of which there is one wherever the kind is, whatever its case. Looking for them first is much quicker
than looking for the patterns, and almost always enough."""

DEFAULT_KEYS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "client secret",
    "api key",
    "access key",
    "access key id",
    "secret key",
    "secret access key",
    "private key",
    "access token",
    "refresh token",
    "auth token",
    "session token",
    "id token",
)


def checked_pattern(kind: str, pattern: str) -> re.Pattern[str]:
    """The expression, compiled. Raises `ValueError` that says what is wrong with it and how to write it instead."""
    if len(pattern) > MOST_PATTERN:
        raise ValueError(f"{kind}: a pattern may have {MOST_PATTERN} characters, not {len(pattern)}")
    try:
        compiled = re.compile(pattern)
        ways = _ways_of(parser.parse(pattern), kind)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{kind}: not a regular expression: {error}") from error
    if ways > MOST_WAYS:
        raise ValueError(
            f"{kind}: there are {ways:,} ways to match it from one place, and at most {MOST_WAYS:,} are allowed: "
            "use fewer or shorter repetitions"
        )
    if compiled.search(""):
        raise ValueError(f"{kind}: it matches the empty text, so it would match everywhere")
    return compiled


def longest(pattern: re.Pattern[str]) -> int:
    """Most characters that the expression matches."""
    return int(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG).getwidth()[1])


def _ways_of(items: Any, kind: str) -> int:
    """An upper bound on the ways in which a sequence of parsed parts can match from one place."""
    ways = 1
    for operation, argument in items:
        ways = min(ways * _ways_of_one(operation, argument, kind), MOST_WAYS * MOST_WAYS)
    return ways


def _ways_of_one(operation: Any, argument: Any, kind: str) -> int:
    if operation in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}:
        return _ways_to_repeat(argument, kind)
    if operation is codes.SUBPATTERN:
        return _ways_of(argument[3], kind)
    if operation in {codes.ASSERT, codes.ASSERT_NOT}:
        return _ways_of(argument[1], kind)
    if operation is codes.ATOMIC_GROUP:
        return _ways_of(argument, kind)
    if operation is codes.BRANCH:
        return sum(_ways_of(branch, kind) for branch in argument[1])
    if operation in {codes.GROUPREF, codes.GROUPREF_EXISTS}:
        raise ValueError(f"{kind}: references to groups cannot be used")
    return 1


def _ways_to_repeat(argument: Any, kind: str) -> int:
    low, high, inner = argument
    if high is codes.MAXREPEAT or high > MOST_REPEATS:
        raise ValueError(
            f"{kind}: every repetition needs an upper limit of at most {MOST_REPEATS}: write {{1,100}} for +, and "
            "{0,100} for *"
        )
    ways = _ways_of(inner, kind)
    if ways == 1:
        return int(high) - int(low) + 1
    total = 0
    for times in range(int(low), int(high) + 1):
        total += ways**times
        if total > MOST_WAYS:
            break
    return total
