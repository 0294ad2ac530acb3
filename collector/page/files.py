"""A file of the operator's, replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path


def read_if_there(file: Path) -> str | None:
    """Raises OSError, or UnicodeDecodeError for what is no text."""
    return file.read_text(encoding="utf-8") if file.exists() else None


def replace_text(file: Path, text: str) -> None:
    """All of it or nothing: whoever reads the file meanwhile finds the old text. Its permissions stay. Raises
    OSError."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="")
        temporary.chmod(file.stat().st_mode & 0o777 if file.exists() else 0o644)
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
