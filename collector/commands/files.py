"""Reading configuration for commands: problems go to standard error, one a line, and end the command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from collector.config import Config, load_config
from collector.reading import Rules
from collector.rules import load_rules
from judge.documents import DocumentError

DEFAULTS = "the defaults"

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Configuration file (YAML). Without one, the defaults hold.", metavar="FILE"),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where the server keeps its data; stronger than the file's.", metavar="DIR"),
]


def config_of(file: Path | None, data_dir: Path | None = None) -> Config:
    """The configuration in the file, or the defaults, with data in ./data. Exits with 1 and every problem."""
    if file is None:
        return Config(data_dir=(data_dir or Path("data")).resolve())
    try:
        config = load_config(file, os.environ)
    except DocumentError as error:
        raise problems(error) from error
    return config if data_dir is None else config.model_copy(update={"data_dir": data_dir.resolve()})


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


def fail(message: str, code: int = 1) -> typer.Exit:
    """Says what is wrong on standard error; raise what it returns."""
    typer.echo(f"spanjudge: {message}", err=True)
    return typer.Exit(code)
