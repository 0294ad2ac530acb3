"""The certificates of one listener, which connections made from now on see as they are now."""

from __future__ import annotations

import ssl
from typing import Any

import grpc

from collector.tls.errors import CredentialsUnusable
from collector.tls.material import ServerMaterial, read_contents, read_server
from collector.tls_config import ListenerTls


class ServedTls:
    """`look` from time to time; what the servers were given follows."""

    def __init__(self, settings: ListenerTls, key: str) -> None:
        """Blocking. `key` is the section's place in the configuration. Raises `CredentialsUnusable`."""
        self.key = key
        self._settings = settings
        self.now: ServerMaterial = read_server(settings, key)
        self._given_to_grpc = self.now

    def look(self, now_s: float) -> bool:
        """Read the files again; whether they hold something new. Blocking. Raises `CredentialsUnusable`, and then
        serves what it served; so it does, too, for a certificate that is not valid now when the one it has is."""
        if read_contents(self._settings, self.key) == self.now.contents:
            return False
        new = read_server(self._settings, self.key)
        if new.validity.at(now_s) != "valid" and self.now.validity.at(now_s) == "valid":
            raise CredentialsUnusable(
                f"{self.key}.cert_file: {self._settings.cert_file}: the new certificate is {new.validity.at(now_s)}"
            )
        self.now = new
        return True

    def context(self) -> ssl.SSLContext:
        """For asyncio servers. Each connection is handed on to the newest context as soon as it says whom it wants."""
        first = self.now.context

        def newest(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
            # A context of its own for each set of files: one that is changed in place has, for a moment or for good,
            # a certificate and the key of another.
            connection.context = self.now.context

        first.sni_callback = newest
        return first

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """For one gRPC server, which asks at each connection whether there is something new."""
        self._given_to_grpc = self.now
        newer: Any = self._newer  # None is a good answer, which grpc's type does not say
        mutual = self._settings.client_ca_file is not None
        return grpc.dynamic_ssl_server_credentials(_for_grpc(self._given_to_grpc), newer, mutual)

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        now = self.now
        if now is self._given_to_grpc:
            return None
        self._given_to_grpc = now
        return _for_grpc(now)


def _for_grpc(material: ServerMaterial) -> grpc.ServerCertificateConfiguration:
    certificate, key, clients = material.contents
    return grpc.ssl_server_certificate_configuration([(key, certificate)], clients or None)
