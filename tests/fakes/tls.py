"""Clients of TLS listeners that look at what they are shown, and files of a listener that can be replaced."""

from __future__ import annotations

import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from collector.tls_config import ListenerTls
from tests.certificates import Authority, Pair, serial


@dataclass(frozen=True, slots=True)
class ListenerFiles:
    """What a listener's `tls` names; `put` replaces a file at once, as tools that renew certificates do."""

    directory: Path

    @property
    def certificate(self) -> Path:
        return self.directory / "tls.crt"

    @property
    def key(self) -> Path:
        return self.directory / "tls.key"

    @property
    def clients(self) -> Path:
        return self.directory / "clients.pem"

    def take(self, pair: Pair, clients: Authority | None = None) -> ListenerFiles:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.put(self.key, pair.key)
        self.put(self.certificate, pair.certificate)
        if clients is not None:
            self.put(self.clients, clients.certificate)
        return self

    @staticmethod
    def put(to: Path, contents: Path) -> None:
        new = to.with_suffix(".new")
        copyfile(contents, new)
        os.replace(new, to)  # noqa: PTH105 - reads as what it does

    def settings(self, *, mutual: bool = False) -> ListenerTls:
        return ListenerTls(
            cert_file=self.certificate, key_file=self.key, client_ca_file=self.clients if mutual else None
        )

    def section(self, *, mutual: bool = False) -> dict[str, str]:
        """As it stands in a configuration file."""
        given = {"cert_file": str(self.certificate), "key_file": str(self.key)}
        return given | ({"client_ca_file": str(self.clients)} if mutual else {})


def client_context(authority: Authority, pair: Pair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.certificate)
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    return context


def serial_shown(address: str) -> int:
    """Of the certificate that a new connection is shown, whoever signed it. `address` is host:port. Blocking."""
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection((host, int(port)), timeout=20) as plain, context.wrap_socket(plain) as connection:
        der = connection.getpeercert(binary_form=True)
    assert der is not None
    return serial(ssl.DER_cert_to_PEM_cert(der).encode())
