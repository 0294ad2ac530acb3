"""The access of a listener, and files of tokens for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from collector.access.access import Access
from collector.access.settings import AccessSettings
from collector.clock import Clock
from collector.metrics import Metrics
from tests.fakes.clock import FakeClock
from tests.fakes.verdicts import NOW_NS

OPEN = "0.0.0.0:9464"
LOOPBACK = "127.0.0.1:9464"


def token(name: str) -> str:
    """One that is long enough, and always the same."""
    return f"{name}-{'0123456789abcdef' * 2}"


def bearer(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token(name)}"}


def tokens_file(directory: Path, **people: Mapping[str, Any]) -> Path:
    """Of these people, each with what stands beside name and token."""
    entries = [{"name": name, "token": token(name), **given} for name, given in people.items()]
    file = directory / "tokens.yaml"
    file.write_text(yaml.safe_dump({"tokens": entries}))
    return file


def access(
    settings: AccessSettings | None = None,
    *,
    listen: str = LOOPBACK,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
) -> Access:
    return Access(settings or AccessSettings(), listen, clock or FakeClock(NOW_NS), (metrics or Metrics()).access)
