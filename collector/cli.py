"""The `spanjudge` command."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from collector.commands.run import check_config, run

app = typer.Typer(
    name="spanjudge",
    help="Judge what AI agents did, from the OpenTelemetry they already emit.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(run)
app.command("check-config")(check_config)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spanjudge {version('spanjudge')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Judge what AI agents did, from the OpenTelemetry they already emit."""


def main() -> None:
    app()
