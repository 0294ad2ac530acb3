"""Names of models: what was asked for, and what answered, may be written differently for the same model."""

from __future__ import annotations

import re

_PROVIDER = re.compile(r"\A(?:.*/)?(?:.*anthropic\.)?")
"""Bedrock and some gateways write region and maker before the name."""
_NAME = re.compile(r"(?P<name>.*?)(?:[-@](?P<day>[0-9]{8}|latest|default))?(?:-v[0-9]+:[0-9]+)?", re.DOTALL)
"""The day of a snapshot, and Bedrock's own version behind it."""
_MOVING = frozenset({None, "latest", "default"})


def same_model(asked: str, answered: str) -> bool:
    """Whether both name one model: an alias and its snapshot do, two snapshots do not."""
    (name, day), (other, other_day) = _parts(asked), _parts(answered)
    return name == other and (day == other_day or day in _MOVING or other_day in _MOVING)


def _parts(model: str) -> tuple[str, str | None]:
    match = _NAME.fullmatch(_PROVIDER.sub("", model, count=1))
    return (match["name"], match["day"]) if match else (model, None)
