"""What is in force: the configuration, and the rules that it and its files make. Read at the start and at SIGHUP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from collector.config import Config, load_config
from collector.config_problems import with_those_of_its_files
from collector.reading import Rules
from collector.rules import RuleFiles, load_rules, read_rule_files
from judge.documents import DocumentError, Problem

LIVE = ("suites", "rubrics", "evaluators", "composite", "gates", "sampling", "log")
"""Sections that can change while the server runs."""


@dataclass(frozen=True, slots=True)
class InForce:
    """`source` names the configuration file in messages."""

    config: Config
    source: str
    files: RuleFiles
    rules: Rules


def read_in_force(file: Path, environment: Mapping[str, str]) -> InForce:
    """Raises `DocumentError` with every problem of the configuration and of its files."""
    try:
        config = load_config(file, environment)
    except DocumentError as error:
        raise with_those_of_its_files(error, file, environment) from error
    return in_force(config, str(file))


def in_force(config: Config, source: str) -> InForce:
    """Raises `DocumentError` with every problem of the files."""
    try:
        files = read_rule_files(config, source)
    except DocumentError:
        load_rules(config, source)  # raises too, and tells everything else with it
        raise
    return InForce(config, source, files, load_rules(config, source, files=files))


def changed_to(now: InForce, wanted: InForce) -> InForce:
    """The wanted one as far as it can take effect without a restart. Raises `DocumentError` when what can does not go
    with what cannot."""
    changes = {name: getattr(wanted.config, name) for name in LIVE}
    mixed = now.config.model_copy(update=changes)
    try:
        Config.model_validate(mixed.model_dump())
    except ValidationError as error:
        told = "; ".join(str(one["msg"]) for one in error.errors(include_url=False, include_input=False))
        problem = f"{told}. What this needs was changed too, and takes effect after a restart"
        raise DocumentError((Problem(wanted.source, 1, "", problem),)) from error
    return InForce(mixed, wanted.source, wanted.files, load_rules(mixed, wanted.source, files=wanted.files))


def need_restart(now: Config, wanted: Config) -> list[str]:
    """Keys, as `receivers.grpc.listen`, that differ and are read at the start only."""
    return [key for key in _differences("", now, wanted) if key.partition(".")[0] not in LIVE]


def _differences(prefix: str, now: BaseModel, wanted: BaseModel) -> list[str]:
    keys: list[str] = []
    for name in type(now).model_fields:
        before, after = getattr(now, name), getattr(wanted, name)
        if before == after:
            continue
        both_sections = isinstance(before, BaseModel) and isinstance(after, BaseModel)
        keys += _differences(f"{prefix}{name}.", before, after) if both_sections else [f"{prefix}{name}"]
    return keys
