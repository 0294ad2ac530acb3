"""Reading configuration for commands: problems go to standard error, one a line, and end the command."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from collector.config import Config, load_config
from collector.judging import Rules
from collector.rules import load_rules
from judge.documents import DocumentError

DEFAULTS = "the defaults"


def config_of(file: Path | None) -> Config:
    """The configuration in the file, or the defaults, with data in ./data. Exits with 1 and every problem."""
    if file is None:
        return Config(data_dir=Path("data").resolve())
    try:
        return load_config(file, os.environ)
    except DocumentError as error:
        raise problems(error) from error


def rules_of(config: Config, file: Path | None) -> Rules:
    """Evaluators and suites of the configuration. Exits with 1 and every problem."""
    try:
        return load_rules(config, str(file) if file else DEFAULTS)
    except DocumentError as error:
        raise problems(error) from error


def problems(error: DocumentError) -> typer.Exit:
    typer.echo(str(error), err=True)
    count = len(error.problems)
    typer.echo(f"{count} problem{'s' if count > 1 else ''}; nothing was started.", err=True)
    return typer.Exit(1)
