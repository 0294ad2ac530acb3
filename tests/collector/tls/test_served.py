"""The files of one listener: what of them is taken, and what is said of the rest."""

from __future__ import annotations

import datetime
import os
import ssl
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from collector.tls.errors import CredentialsUnusable
from collector.tls.served import ServedTls
from tests.certificates import Authority, Pair
from tests.fakes.tls import ListenerFiles

KEY = "receivers.http.tls"
NOW_S = time.time()
HOUR = datetime.timedelta(hours=1)


def _files(directory: Path, authority: Authority) -> tuple[ListenerFiles, Pair]:
    pair = authority.issue("first")
    return ListenerFiles(directory / "served").take(pair, authority), pair


def test_files_that_did_not_change_are_nothing_new(tmp_path: Path) -> None:
    files, _ = _files(tmp_path, Authority(tmp_path))
    served = ServedTls(files.settings(), KEY)
    assert not served.look(NOW_S)


def test_a_new_pair_is_taken(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files, _ = _files(tmp_path, authority)
    served = ServedTls(files.settings(), KEY)
    before = served.now
    files.take(authority.issue("second"))
    assert served.look(NOW_S)
    assert served.now.validity.serial != before.validity.serial
    assert not served.look(NOW_S)


def test_a_certificate_without_its_key_changes_nothing(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files, _ = _files(tmp_path, authority)
    served = ServedTls(files.settings(), KEY)
    before = served.now
    files.put(files.certificate, authority.issue("second").certificate)
    with pytest.raises(CredentialsUnusable, match="key values mismatch"):
        served.look(NOW_S)
    assert served.now is before


def test_a_new_certificate_that_is_not_valid_waits_behind_one_that_is(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files, _ = _files(tmp_path, authority)
    served = ServedTls(files.settings(), KEY)
    before = served.now
    files.take(authority.issue("expired", ends=-HOUR))
    with pytest.raises(CredentialsUnusable, match="the new certificate is expired"):
        served.look(NOW_S)
    assert served.now is before
    assert served.look(before.validity.not_after_s + 1)  # then it is no worse than what it replaces


def test_an_expired_certificate_is_replaced(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = ListenerFiles(tmp_path / "served").take(authority.issue("expired", ends=-HOUR))
    served = ServedTls(files.settings(), KEY)
    files.take(authority.issue("second"))
    assert served.look(NOW_S)


@pytest.mark.parametrize("curve", [ec.SECP256K1(), ec.BrainpoolP256R1()], ids=lambda curve: curve.name)
def test_a_key_that_loads_and_that_no_client_can_talk_to_is_refused(tmp_path: Path, curve: ec.EllipticCurve) -> None:
    authority = Authority(tmp_path)
    files, _ = _files(tmp_path, authority)
    served = ServedTls(files.settings(), KEY)
    before = served.now
    files.take(authority.issue("rare", curve=curve))
    with pytest.raises(CredentialsUnusable, match=r"tls\.crt: clients could not connect with it"):
        served.look(NOW_S)
    assert served.now is before


@pytest.mark.parametrize("what", ["pipe", "directory", "endless"])
def test_what_is_no_file_is_neither_waited_for_nor_read_to_its_end(tmp_path: Path, what: str) -> None:
    files, _ = _files(tmp_path, Authority(tmp_path))
    served = ServedTls(files.settings(), KEY)
    files.certificate.unlink()
    match what:
        case "pipe":
            os.mkfifo(files.certificate)
        case "directory":
            files.certificate.mkdir()
        case _:
            files.certificate.symlink_to("/dev/zero")
    with pytest.raises(CredentialsUnusable, match=r"tls\.crt cannot be read: (not a regular file|Is a directory)"):
        served.look(NOW_S)


@pytest.mark.parametrize("broken", ["certificate", "key", "clients"])
def test_what_cannot_be_read_is_named_and_not_repeated(tmp_path: Path, broken: str) -> None:
    authority = Authority(tmp_path)
    files, _ = _files(tmp_path, authority)
    path: Path = getattr(files, broken)
    path.write_text("open sesame, and other secrets")
    with pytest.raises(CredentialsUnusable) as caught:
        ServedTls(files.settings(mutual=True), KEY)
    assert KEY in str(caught.value)
    assert str(path) in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    files, _ = _files(tmp_path, Authority(tmp_path))
    files.key.unlink()
    with pytest.raises(CredentialsUnusable, match=r"receivers\.http\.tls\.key_file: .*tls\.key cannot be read"):
        ServedTls(files.settings(), KEY)


def test_an_encrypted_key_is_refused_and_asks_nobody(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    files, pair = _files(tmp_path, Authority(tmp_path))
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    secret = serialization.BestAvailableEncryption(b"open sesame")
    files.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret))
    with pytest.raises(CredentialsUnusable, match="cert_file, key_file"):
        ServedTls(files.settings(), KEY)


def test_older_versions_of_tls_are_not_spoken(tmp_path: Path) -> None:
    files, _ = _files(tmp_path, Authority(tmp_path))
    assert ServedTls(files.settings(), KEY).context().minimum_version == ssl.TLSVersion.TLSv1_2
    newest = files.settings().model_copy(update={"min_version": "1.3"})
    assert ServedTls(newest, KEY).context().minimum_version == ssl.TLSVersion.TLSv1_3


def test_keys_are_in_no_representation(tmp_path: Path) -> None:
    files, _ = _files(tmp_path, Authority(tmp_path))
    assert "PRIVATE" not in repr(ServedTls(files.settings(), KEY).now)
