"""What we show to the receiver of verdicts, and by what we know it, as it is in files now."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

import httpx
import structlog

from collector.config import OtlpExport
from collector.secret_text import token_fault, without
from collector.tls.errors import CredentialsUnusable
from collector.tls.material import load_authorities, load_chain, read_file
from collector.watched_file import Stamp, stamp_of

log = structlog.get_logger(__name__)

_KEY = "export.otlp"


@dataclass(frozen=True, slots=True)
class Held:
    """One consistent set. `contents` are authorities, certificate and key as PEM, empty where there are none; two sets
    with the same contents need no new connection. `token` is None where none is configured."""

    contents: tuple[bytes, bytes, bytes] = field(repr=False)
    token: str | None = field(repr=False)
    server_name: str | None

    def headers(self) -> dict[str, str]:
        return {} if self.token is None else {"authorization": f"Bearer {self.token}"}


class ExportCredentials:
    """Reads the files again when their dates change. Belongs to one task at a time."""

    def __init__(self, settings: OtlpExport) -> None:
        values = (value.get_secret_value() for value in settings.headers.values())
        self._secrets = [word for value in values for word in (value, *value.split())]
        self._tls = settings.tls
        self._token_file = settings.bearer_token_file
        files = [self._token_file]
        if self._tls is not None:
            files += [self._tls.ca_file, self._tls.cert_file, self._tls.key_file]
        self._files = tuple(file for file in files if file is not None)
        self._seen: tuple[Stamp, ...] | None = None
        self._problem: str | None = None
        self._held: Held | None = None

    def current(self) -> Held:
        """Blocking. Files that went bad leave what was read before in use, and the log says so; the receiver may refuse
        it. Raises `CredentialsUnusable` when there was nothing before."""
        seen = tuple(map(stamp_of, self._files))
        if self._held is not None and self._problem is None and seen == self._seen:
            return self._held
        try:
            self._held = self._read()
            self._seen, self._problem = seen, None
        except CredentialsUnusable as error:
            if self._held is None:
                raise
            if self._problem != str(error):
                log.error("credentials_unusable", key=_KEY, problem=str(error), used="what was read before")  # noqa: TRY400
            self._problem = str(error)
        return self._held

    def masked(self, text: str) -> str:
        """A receiver that refuses a token may repeat it, and what it said is logged."""
        token = self._held.token if self._held is not None else None
        return without(text, [*self._secrets, token or ""])

    def context(self) -> ssl.SSLContext:
        """For HTTP. Blocking. Raises `CredentialsUnusable`."""
        tls = self._tls
        if tls is None or tls.ca_file is None:
            context = httpx.create_ssl_context()
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            load_authorities(context, tls.ca_file, f"{_KEY}.tls.ca_file")
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if tls is not None and tls.cert_file is not None:
            load_chain(context, tls.cert_file, tls.key_file, f"{_KEY}.tls")
        return context

    def _read(self) -> Held:
        tls = self._tls
        if tls is None:
            return Held((b"", b"", b""), self._token(), None)
        contents = self._contents()
        self.context()  # which finds out whether they can be used, and go together
        return Held(contents, self._token(), tls.server_name)

    def _contents(self) -> tuple[bytes, bytes, bytes]:
        tls = self._tls
        assert tls is not None
        ca, certificate, key = (
            read_file(file, f"{_KEY}.tls.{name}") if file is not None else b""
            for name, file in (("ca_file", tls.ca_file), ("cert_file", tls.cert_file), ("key_file", tls.key_file))
        )
        return ca, certificate, key

    def _token(self) -> str | None:
        if self._token_file is None:
            return None
        key = f"{_KEY}.bearer_token_file"
        token = read_file(self._token_file, key).decode("utf-8", "replace").strip()
        if fault := token_fault(token):
            raise CredentialsUnusable(f"{key}: {self._token_file}: the token {fault}")
        return token
