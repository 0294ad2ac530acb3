"""Certificates that live as long as a test: an authority, a server's, a client's."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)
_CURVE = ec.SECP256R1()


@dataclass(frozen=True, slots=True)
class Pair:
    """PEM files: the certificate (chain), its key (PKCS #8), and both in one file."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """Signs certificates for 127.0.0.1 and localhost; its own is in `certificate`."""

    def __init__(self, directory: Path, name: str = "authority of the tests") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        signed = _builder(self._name, self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.certificate = directory / "authority.pem"
        self.certificate.write_bytes(_pem(signed.sign(self._key, hashes.SHA256())))

    def issue(
        self,
        name: str,
        *,
        host: str | None = None,
        ends: datetime.timedelta = _DAY,
        curve: ec.EllipticCurve = _CURVE,
    ) -> Pair:
        """A certificate for a server or client called `name`, on another host where one is given. It ends so long from
        now, and began a day before that or before now."""
        key = ec.generate_private_key(curve)
        here: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        hosts = here if host is None else [x509.DNSName(host)]
        signed = _builder(_named(name), self._name, key.public_key(), ends).add_extension(
            x509.SubjectAlternativeName(hosts), critical=False
        )
        certificate = _pem(signed.sign(self._key, hashes.SHA256()))
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        pair = Pair(*(self._directory / f"{name}.{what}.pem" for what in ("certificate", "key", "both")))
        pair.certificate.write_bytes(certificate)
        pair.key.write_bytes(private)
        pair.both.write_bytes(private + certificate)
        return pair


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def serial(pem: bytes) -> int:
    return x509.load_pem_x509_certificate(pem).serial_number


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, ends: datetime.timedelta = _DAY
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, now + ends) - _DAY)
        .not_valid_after(now + ends)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
