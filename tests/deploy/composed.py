"""What Compose makes of deploy/compose.yaml, by Compose's own loader: a Go module, built once and kept between runs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.go_programs import go_program


class ComposeError(Exception):
    """Why Compose refuses the file."""


def compose_program() -> Path:
    """Raises `NoGo`."""
    return go_program("compose", Path(__file__).with_name("compose"))


def composed(program: Path, file: Path, *profiles: str, **environment: str) -> Mapping[str, Any]:
    """The project with all that is merged and filled in; without `profiles` those of .env beside the file. Raises
    `ComposeError`."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("COMPOSE_", "SPANJUDGE_"))}
    ran = subprocess.run(
        [str(program), str(file), *profiles],
        env={**ours, **environment},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise ComposeError(ran.stderr.strip())
    project: Mapping[str, Any] = json.loads(ran.stdout)
    return project


if __name__ == "__main__":
    compose_program()  # in front of the tests, whose time is measured
