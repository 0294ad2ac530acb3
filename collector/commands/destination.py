"""Where recorded requests are sent, and what is shown to be let in there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from collector.config import OtlpExport
from collector.exporters.otlp import Sender
from collector.exporters.otlp_grpc import GrpcSender
from collector.exporters.otlp_http import HttpSender
from collector.tls.errors import CredentialsUnusable

Protocol: TypeAlias = Literal["grpc", "http"]

_LOCAL: dict[Protocol, str] = {"grpc": "127.0.0.1:4317", "http": "127.0.0.1:4318"}
_OPTIONS = {  # longer keys first: the shorter are part of them
    "export.otlp.tls.cert_file, key_file": "--tls-cert, --tls-key",
    "export.otlp.tls.cert_file": "--tls-cert",
    "export.otlp.tls.key_file": "--tls-key",
    "export.otlp.tls.ca_file": "--tls-ca",
    "export.otlp.tls.server_name": "--tls-server-name",
    "export.otlp.tls": "--tls-ca, --tls-cert, --tls-server-name",
    "export.otlp.bearer_token_file": "--token-file",
    "export.otlp.headers": "--header",
    "export.otlp.endpoint": "--endpoint",
    "put them into headers": "--token-file is for a token",
    "cert_file": "--tls-cert",
    "key_file": "--tls-key",
}


@dataclass(frozen=True, slots=True)
class Destination:
    """`endpoint` is a URL, host:port, or None for this machine; with anything of TLS, https goes without saying.
    `headers` are written NAME=VALUE."""

    endpoint: str | None = None
    protocol: Protocol = "grpc"
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name: str | None = None
    token_file: Path | None = None
    headers: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        at = self.endpoint or _LOCAL[self.protocol]
        return at if "://" in at else f"{'https' if self.tls else 'http'}://{at}"

    @property
    def tls(self) -> dict[str, object]:
        given = {
            "ca_file": self.ca_file,
            "cert_file": self.cert_file,
            "key_file": self.key_file,
            "server_name": self.server_name,
        }
        return {name: value for name, value in given.items() if value is not None}


def sender_to(destination: Destination) -> Sender:
    """Does not connect, but reads the files. Raises `ValueError`, naming the option, for what cannot be used."""
    given: dict[str, Any] = {
        "endpoint": destination.url,
        "protocol": "grpc" if destination.protocol == "grpc" else "http/protobuf",
        "headers": dict(map(_header, destination.headers)),
        "bearer_token_file": destination.token_file,
        "tls": destination.tls or None,
    }
    try:
        settings = OtlpExport.model_validate(given)
        sender: Sender = GrpcSender(settings) if destination.protocol == "grpc" else HttpSender(settings)
        sender.credentials.current()
    except ValidationError as error:  # whose own text repeats what it was given
        raise ValueError("; ".join(_told(error))) from None
    except (ValueError, CredentialsUnusable) as error:
        raise ValueError(_in_options(str(error))) from error
    return sender


def _header(written: str) -> tuple[str, str]:
    name, equals, value = written.partition("=")
    if not equals:
        raise ValueError("--header: write NAME=VALUE")
    if name.lower() == "authorization":
        raise ValueError(
            "--header: everybody on this machine can read the arguments of a process; write the token to a file, "
            "and name that by --token-file"
        )
    return name, value


def _told(error: ValidationError) -> Iterable[str]:
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        key = ".".join(map(str, ("export", "otlp", *one["loc"])))
        yield _in_options(f"{key}: {one['msg'].removeprefix('Value error, ')}")


def _in_options(text: str) -> str:
    for key, option in _OPTIONS.items():
        text = text.replace(key, option)
    return text
