"""Options that say where recorded requests go: what is wrong is told by option, and no secret is repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.commands.destination import Destination, sender_to
from tests.certificates import Authority


def test_https_goes_without_saying_with_anything_of_tls() -> None:
    assert Destination().url == "http://127.0.0.1:4317"
    assert Destination(protocol="http").url == "http://127.0.0.1:4318"
    assert Destination("judge:4317").url == "http://judge:4317"
    assert Destination("judge:4317", ca_file=Path("ca.pem")).url == "https://judge:4317"
    assert Destination("http://judge:4317", ca_file=Path("ca.pem")).url == "http://judge:4317"


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"endpoint": "http://"}, "--endpoint"),
        ({"endpoint": "ftp://judge"}, "--endpoint"),
        ({"endpoint": "http://ann:open-sesame@judge"}, "--endpoint: must hold no user or password"),
        ({"endpoint": "http://judge", "ca_file": Path("ca.pem")}, "--tls-ca"),
        ({"ca_file": Path("absent.pem")}, "--tls-ca: absent.pem cannot be read"),
        ({"cert_file": Path("us.crt")}, "--tls-cert and --tls-key go together: add --tls-key"),
        ({"cert_file": Path("absent.crt"), "key_file": Path("absent.key")}, "--tls-cert: absent.crt cannot be read"),
        ({"token_file": Path("absent")}, "--token-file: absent cannot be read"),
        ({"headers": ("open-sesame",)}, "--header: write NAME=VALUE"),
        ({"headers": ("x-key=open-sesame\n",)}, "--header"),
        ({"headers": ("Authorization=open-sesame",)}, "--token-file"),
    ],
)
def test_what_cannot_be_used_is_told_by_its_option(protocol: Any, given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        sender_to(Destination(**{"protocol": protocol, **given}))
    assert told in str(caught.value)
    assert "open-sesame" not in str(caught.value)
    assert "export.otlp" not in str(caught.value)


async def test_a_token_that_cannot_be_sent_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("open\nsesame")
    with pytest.raises(ValueError, match=r"--token-file: .*: the token must be one line") as caught:
        sender_to(Destination(token_file=file))
    assert "sesame" not in str(caught.value)


async def test_files_that_do_not_go_together_are_told_before_anything_is_sent(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    one, other = authority.issue("one"), authority.issue("other")
    with pytest.raises(ValueError, match=r"--tls-cert, --tls-key: .* key values mismatch"):
        sender_to(Destination(cert_file=one.certificate, key_file=other.key))
