"""Every secret of a configuration is known to whoever masks them."""

from __future__ import annotations

from collector.config import Config
from collector.secret_values import secret_values


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


def test_defaults_hold_none() -> None:
    assert secret_values(Config()) == ()
