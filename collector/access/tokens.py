"""The file that says which bearer tokens are good, and for what; read again whenever it changes.

```yaml
tokens:
  - name: ana                       # who it is: author of labels, name in logs
    sha256: 3f1c...                 # of the token, 64 hexadecimal digits; or the token itself, as `token:`
    tenants: [north, ""]            # "" is telemetry without a tenant; left out: all tenants
    read_only: true                 # may look and change nothing; left out: false
```

A name may stand there twice, so that a new token can be handed out before the old one ends. `spanjudge token NAME`
makes a token and prints its entry. For receivers, a token with exactly one tenant says whose the telemetry is.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from pydantic import Field, SecretStr, field_validator, model_validator

from collector.config_section import Section
from collector.secret_text import token_fault
from collector.sessions.keys import name_fault
from collector.watched_file import read_whole, stamp_of
from judge.documents import DocumentError, Problem, parse_document
from judge.yaml_tree import read_tree

MIN_TOKEN = 32
"""Characters of a token that stands in the file itself: guessing must be hopeless."""
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_NAME = 200

_KNOWN_KEY = re.compile(r"tokens(\[\d+\](\.(name|token|sha256|read_only|tenants(\[\d+\])?))?)?")
_SHAPE = "must be YAML with a list under `tokens`: of each a name, and sha256 or token"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whose token it is and what it opens; `tenants` is None for all of them. `digest` is the token's SHA-256."""

    name: str
    tenants: frozenset[str] | None
    read_only: bool
    digest: bytes = field(repr=False)


class _Entry(Section):
    name: str = Field(min_length=1, max_length=MAX_NAME)
    token: SecretStr | None = None
    sha256: str | None = Field(None, pattern=r"^[0-9a-fA-F]{64}$")
    tenants: tuple[str, ...] | None = Field(None, min_length=1)
    read_only: bool = False

    @field_validator("name")
    @classmethod
    def _can_be_seen(cls, name: str) -> str:
        if not name.isprintable() or name != name.strip():
            raise ValueError("must have only characters that can be seen, and no blank at its ends")
        return name

    @field_validator("token")
    @classmethod
    def _cannot_be_guessed(cls, token: SecretStr | None) -> SecretStr | None:
        if token is None:
            return None
        if len(token.get_secret_value()) < MIN_TOKEN:
            raise ValueError(f"must have at least {MIN_TOKEN} characters: `spanjudge token` makes good ones")
        if fault := token_fault(token.get_secret_value()):  # no header could carry it
            raise ValueError(fault)
        return token

    @field_validator("tenants")
    @classmethod
    def _can_be_tenants(cls, tenants: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in tenants or ():
            if fault := _encoding_fault(name) or name_fault(name):
                raise ValueError(fault)
        return tenants

    @model_validator(mode="after")
    def _has_one_of_both(self) -> _Entry:
        if (self.token is None) == (self.sha256 is None):
            raise ValueError("must have either sha256 or token")
        return self

    @model_validator(mode="after")
    def _opens_all_by_silence_only(self) -> _Entry:
        if self.tenants is None and "tenants" in self.model_fields_set:  # as of a template whose value is missing
            raise ValueError("tenants must be a list: remove its line where all tenants are meant")
        return self

    def bearer(self) -> Bearer:
        digest = digest_of(self.token.get_secret_value()) if self.token else bytes.fromhex(self.sha256 or "")
        tenants = None if self.tenants is None else frozenset(self.tenants)
        return Bearer(self.name, tenants, self.read_only, digest)


class _Tokens(Section):
    tokens: tuple[_Entry, ...]


def valid_entry(entry: Mapping[str, object]) -> None:
    """Raises `pydantic.ValidationError` for what must not stand in the file."""
    _Entry.model_validate(entry)


def _encoding_fault(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "must be text that can be written as UTF-8"
    return None


def digest_of(token: str) -> bytes:
    # Tokens are long and random: a slow hash would protect nothing, and be paid for by every request.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def new_token() -> str:
    return "sj_" + secrets.token_urlsafe(32)


def read_tokens(path: Path) -> tuple[Bearer, ...]:
    """Raises `DocumentError`, whose messages repeat nothing of the file but its known keys."""
    source = str(path)
    try:
        raw = read_whole(path, MAX_FILE_BYTES)
    except OSError as error:
        raise DocumentError((Problem(source, 1, "", f"cannot be read: {error.strerror}"),)) from error
    entries = _entries(raw, source)
    bearers = tuple(entry.bearer() for entry in entries)
    if len({one.digest for one in bearers}) < len(bearers):
        raise DocumentError((Problem(source, 1, "tokens", "has one token twice: whose is it?"),))
    return bearers


def _entries(raw: bytes, source: str) -> tuple[_Entry, ...]:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise DocumentError((Problem(source, 1, "", _SHAPE),)) from None
    try:
        return parse_document(text, source, _Tokens).tokens
    except DocumentError as error:
        # What YAML stumbles over, or a key that nobody knows, may be a token that stands in the wrong place.
        flaws = tuple(Problem(source, flaw.line, "", _SHAPE) for flaw in read_tree(text, None).flaws)
        raise DocumentError(flaws or tuple(map(_told, error.problems))) from None


def _told(problem: Problem) -> Problem:
    if _KNOWN_KEY.fullmatch(problem.key):
        return problem
    return Problem(problem.source, problem.line, "", _SHAPE)


def _no_one(_good: bool) -> None:
    return


class TokenFile:
    """The tokens that are good now. A file that went bad, or away, leaves those in force that were good before."""

    def __init__(self, path: Path, on_read: Callable[[bool], None] = _no_one) -> None:
        """`on_read` is told of each later reading whether it went well. Raises `DocumentError`."""
        self._path = path
        self._on_read = on_read
        self._problem: str | None = None
        self._seen = stamp_of(path)
        self._take(read_tokens(path))

    def find(self, token: str) -> Bearer | None:
        """Whose it is. Looks at the file's date each time, and reads the file where that changed."""
        self._refresh()
        digest = digest_of(token)
        # Finding by digest tells by its time nothing about the tokens: who asks cannot choose digests.
        found = self._by_digest.get(digest)
        return found if found is not None and hmac.compare_digest(found.digest, digest) else None

    def named(self, name: str) -> Sequence[Bearer]:
        """All tokens of this name."""
        self._refresh()
        return self._by_name.get(name, ())

    def problem(self) -> str | None:
        """Why the file, as it is now, is not in force."""
        self._refresh()
        return self._problem

    def _refresh(self) -> None:
        seen = stamp_of(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._take(read_tokens(self._path))
        except DocumentError as error:
            self._problem = f"{error}; the tokens from before stay in force"
            log.error("tokens_not_read", file=str(self._path), problem=str(error))  # noqa: TRY400 - says it all
            self._on_read(False)
            return
        self._problem = None
        log.info("tokens_read", file=str(self._path), tokens=len(self._by_digest))
        self._on_read(True)

    def _take(self, bearers: Sequence[Bearer]) -> None:
        self._by_digest = {one.digest: one for one in bearers}
        by_name: dict[str, list[Bearer]] = {}
        for one in bearers:
            by_name.setdefault(one.name, []).append(one)
        self._by_name = by_name
