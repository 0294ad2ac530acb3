"""Certificates and keys as they are in their files now, checked so far that connections can be made with them."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from collector.tls.errors import CredentialsUnusable
from collector.tls.trial import tried
from collector.tls.validity import Validity, validity_of
from collector.tls_config import ListenerTls
from collector.watched_file import read_whole

MAX_FILE_BYTES = 4 * 1024 * 1024

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True)
class ServerMaterial:
    """One consistent set of a listener's files. `contents` are certificate, key and clients' authorities (empty without
    any) as PEM; `context` was made of the same."""

    contents: tuple[bytes, bytes, bytes] = field(repr=False)
    validity: Validity
    context: ssl.SSLContext


def read_server(settings: ListenerTls, key: str) -> ServerMaterial:
    """Blocking. `key` is the section's place in the configuration, for messages. Raises `CredentialsUnusable`, also
    when the files are changed while they are read: the next look will find them whole."""
    contents = read_contents(settings, key)
    context = _context(settings, key)
    if read_contents(settings, key) != contents:
        raise CredentialsUnusable(f"{key}: the files are being changed")
    try:
        validity = validity_of(contents[0])
    except ValueError as error:
        raise CredentialsUnusable(f"{key}.cert_file: {settings.cert_file}: {error}") from error
    return ServerMaterial(contents, validity, context)


def read_contents(settings: ListenerTls, key: str) -> tuple[bytes, bytes, bytes]:
    """Certificate, key and clients' authorities as they are. Blocking. Raises `CredentialsUnusable`."""
    clients = settings.client_ca_file
    return (
        read_file(settings.cert_file, f"{key}.cert_file"),
        read_file(settings.key_file, f"{key}.key_file"),
        read_file(clients, f"{key}.client_ca_file") if clients else b"",
    )


def read_file(path: Path, key: str) -> bytes:
    """Raises `CredentialsUnusable`."""
    try:
        return read_whole(path, MAX_FILE_BYTES)
    except OSError as error:
        raise CredentialsUnusable(f"{key}: {path} cannot be read: {error.strerror}") from error


def load_chain(context: ssl.SSLContext, certificate: Path, private: Path | None, key: str) -> None:
    """Raises `CredentialsUnusable`."""
    try:
        context.load_cert_chain(certificate, private, password="")  # without one OpenSSL would ask on the terminal
    except (OSError, ValueError) as error:
        raise CredentialsUnusable(
            f"{key}.cert_file, key_file: {certificate} and {private} cannot be used: {reason_of(error)}"
        ) from error


def load_authorities(context: ssl.SSLContext, file: Path, key: str) -> None:
    """Raises `CredentialsUnusable`."""
    try:
        context.load_verify_locations(cafile=file)
    except (OSError, ValueError) as error:
        raise CredentialsUnusable(f"{key}: {file} cannot be used: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """OpenSSL's own word where it has one, without the line of its source; where it has none, what most likely is."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, str):
        return reason.replace("_", " ").lower()
    return "no PEM in it, or damaged" if "PEM lib" in str(error) else str(error)


def _context(settings: ListenerTls, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[settings.min_version]
    # Nobody takes up an earlier connection: its certificates may have been replaced since.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_COMPRESSION
    context.num_tickets = 0
    load_chain(context, settings.cert_file, settings.key_file, key)
    try:
        tried(context)
    except ssl.SSLError as error:
        raise CredentialsUnusable(
            f"{key}.cert_file: {settings.cert_file}: clients could not connect with it: {reason_of(error)}"
        ) from error
    if settings.client_ca_file is not None:
        load_authorities(context, settings.client_ca_file, f"{key}.client_ca_file")
        context.verify_mode = ssl.CERT_REQUIRED
    return context
