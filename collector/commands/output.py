"""Results of commands as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer
from pydantic import TypeAdapter

from collector.commands.files import fail
from collector.commands.terminal import safe
from collector.store.records import tame

STANDARD_OUTPUT = Path("-")


def json_text(value: dict[str, Any]) -> str:
    return (
        TypeAdapter(dict[str, Any]).dump_json({key: tame(one) for key, one in value.items()}, indent=2).decode() + "\n"
    )


def write(file: Path, text: str) -> None:
    """All of it or nothing: whoever reads the file meanwhile finds the old text. `-` is standard output.
    Exits with 1 when it cannot be written."""
    if file == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
        return
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="")
        temporary.chmod(file.stat().st_mode & 0o777 if file.exists() else 0o644)
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise fail(f"{safe(str(file))} cannot be written: {error}") from error
