"""Every secret of a configuration is known to whoever masks them."""

from __future__ import annotations

import pytest

from collector.config import Config, StoreSettings
from collector.secret_values import secret_values
from collector.store.postgres_url import postgres_url


def test_secrets_of_every_section_are_found_and_passwords_within_urls() -> None:
    config = Config.model_validate(
        {
            "judge": {"api_key": "of-the-judge"},
            "store": {"url": "postgresql://ana:of%2Fthe%2Fdatabase@db/judge"},
            "export": {"otlp": {"endpoint": "https://c", "headers": {"authorization": "Bearer of-the-export"}}},
            "kafka": {
                "bootstrap_servers": "k:1",
                "security_protocol": "SASL_SSL",
                "sasl_mechanism": "PLAIN",
                "username": "ana",
                "password": "of-kafka",
            },
        }
    )
    found = set(secret_values(config))
    assert {"of-the-judge", "of/the/database", "of%2Fthe%2Fdatabase", "of-the-export", "of-kafka"} <= found
    assert "ana" not in found


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("postgresql://ana:o[pen@db/judge", "o[pen"),
        ("postgresql://ana:open/sesame@db/judge", "open/sesame"),
        ("postgresql://ana:open+sesame%21@db/judge", "open+sesame!"),
        ("postgresql://ana:open?sesame#1@db/judge", "open?sesame#1"),
        ("postgresql:///judge?host=db&user=ana&password=open%20sesame", "open sesame"),
        ("postgresql://ana@db/judge?sslkey=us.key&sslpassword=sesame", "sesame"),
    ],
)
def test_a_password_is_found_wherever_the_url_has_it(url: str, password: str) -> None:
    """Each of these reaches the database with it."""
    said = postgres_url(url)
    assert password in {said.password, said.query.get("password"), said.query.get("sslpassword")}
    assert password in secret_values(StoreSettings.model_validate({"url": url}))


def test_defaults_hold_none() -> None:
    assert secret_values(Config()) == ()
