"""The `spanjudge` command."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from collector.commands.baseline import baseline_app
from collector.commands.calibrate import calibrate
from collector.commands.demo import demo
from collector.commands.diff import diff
from collector.commands.explain import explain
from collector.commands.gate import gate
from collector.commands.inspect import inspect
from collector.commands.label import label
from collector.commands.replay import replay
from collector.commands.run import check_config, config_schema, run
from collector.commands.sessions import sessions
from collector.commands.show import show
from collector.commands.suite import suite_app
from collector.commands.token import token
from collector.config import Log
from collector.logs import set_up_logs

app = typer.Typer(
    name="spanjudge",
    help="Judge what AI agents did, from the OpenTelemetry they already emit.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(run)
app.command("check-config")(check_config)
app.command("config-schema")(config_schema)
app.command()(demo)
app.command()(replay)
app.command()(sessions)
app.command()(show)
app.command()(explain)
app.command()(label)
app.command()(calibrate)
app.command()(inspect)
app.add_typer(suite_app, name="suite")
app.add_typer(baseline_app, name="baseline")
app.command()(diff)
app.command()(gate)
app.command()(token)


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
    set_up_logs(Log(level="warning"))  # standard output is for results; `run` sets up its own
    app()
