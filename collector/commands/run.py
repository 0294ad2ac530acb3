"""`spanjudge run` and `spanjudge check-config`."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

if TYPE_CHECKING:
    from collector.app import Addresses

from collector.access.visitors import check_files
from collector.commands.files import DEFAULTS, ConfigFile, config_of, problems
from collector.config import Config, Listener
from collector.exposure import exposures
from collector.in_force import InForce, in_force, read_in_force
from collector.reading import Rules
from collector.secret_values import secret_values
from judge.documents import DocumentError

log = structlog.get_logger(__name__)

ADDRESSES_FILE = "addresses.json"
"""In the data directory, written when the server has started: where it listens."""


def run(config_file: ConfigFile = None) -> None:
    """Receive OTLP, judge the sessions, publish the verdicts, until SIGTERM or Ctrl-C.

    Telemetry is taken on 127.0.0.1:4317 (gRPC) and 127.0.0.1:4318 (HTTP); metrics and health are on
    http://127.0.0.1:9464. Set ANTHROPIC_API_KEY to have the questions for an LLM judge asked; without it they are
    reported as not judged, and everything else works.

    \b
    Examples:
      spanjudge run
      spanjudge run -c spanjudge.yaml
      ANTHROPIC_API_KEY=... spanjudge run -c spanjudge.yaml

    Data stay in ./data, or where data_dir says; a second server on the same data refuses to start. SIGHUP has the
    configuration file read again: suites, rubrics, evaluators, composite, gates, sampling and log take effect at once,
    unless something is wrong with it, which the log then tells.
    """
    from collector.app import serve
    from collector.data_directory import AlreadyRunning
    from collector.errors import StoreUnavailable
    from collector.judge_building import redaction_of
    from collector.kafka.errors import KafkaProblem
    from collector.logs import set_up_logs
    from collector.open_files import allow_many

    allow_many()
    now = _in_force(config_file)
    config = now.config
    set_up_logs(config.log, redaction_of(config.judge), secret_values(config))
    for exposure in exposures(config):
        log.warning("open_to_the_network", key=exposure.key, problem=exposure.message)

    def started(addresses: Addresses) -> None:
        write_addresses(config.data_dir, addresses)
        typer.echo(_banner(config, now.rules, addresses), err=True)

    read = None if config_file is None else partial(read_in_force, config_file.resolve(), dict(os.environ))
    try:
        asyncio.run(serve(now, started, read))
    except (OSError, DocumentError, AlreadyRunning, StoreUnavailable, KafkaProblem) as error:
        typer.echo(f"spanjudge: {error}", err=True)
        raise typer.Exit(1) from error


def check_config(
    config_file: Annotated[Path, typer.Argument(help="Configuration file (YAML).", metavar="FILE")],
) -> None:
    """Check a configuration, its suites and rubrics: say every problem with its line; exit with 1 if there is one.

    Starts nothing. Run it before each deployment, and in CI for the suites.

    \b
    Example:
      spanjudge check-config spanjudge.yaml
    """
    now = _in_force(config_file)
    rules = now.rules
    for exposure in exposures(now.config):
        typer.echo(f"{config_file}: warning: {exposure}", err=True)
    cases = sum(len(suite.cases) for suite in rules.suites)
    typer.echo(
        f"{config_file}: good. Evaluators: {len(rules.evaluators)}, suites: {len(rules.suites)}, cases: {cases}."
    )


def _in_force(file: Path | None) -> InForce:
    """Exits with 1 and every problem."""
    try:
        now = in_force(config_of(None), DEFAULTS) if file is None else read_in_force(file, os.environ)
        check_files(now.config.access)
    except DocumentError as error:
        raise problems(error) from error
    return now


def config_schema() -> None:
    """Print a JSON Schema of the configuration file, for editors and for checks elsewhere.

    \b
    Example:
      spanjudge config-schema > spanjudge.schema.json

    The Red Hat YAML extension, and every editor with yaml-language-server, then knows all keys when the file begins
    with the line

    \b
      # yaml-language-server: $schema=spanjudge.schema.json
    """
    from collector.config_docs import schema

    typer.echo(json.dumps(schema(), indent=2))


def write_addresses(data_dir: Path, addresses: Addresses) -> None:
    """Say where the server listens, for whoever started it with port 0. Another file takes the name at once, so
    that nobody reads half of it."""
    written = data_dir / f"{ADDRESSES_FILE}.new"
    written.write_text(json.dumps(asdict(addresses)) + "\n", encoding="utf-8")
    written.replace(data_dir / ADDRESSES_FILE)


def _banner(config: Config, rules: Rules, addresses: Addresses) -> str:
    judge = config.judge.model if _has_key(config) else "none (set ANTHROPIC_API_KEY to ask one)"
    http, admin = _url(addresses.http, config.receivers.http), _url(addresses.admin, config.admin)
    lines = [
        "SpanJudge is running",
        f"  OTLP/gRPC   {addresses.grpc or 'off'}{' (TLS)' if addresses.grpc and config.receivers.grpc.tls else ''}",
        f"  OTLP/HTTP   {http or 'off'}",
        f"  metrics     {f'{admin}/metrics' if admin else 'off'}",
        *([f"  Kafka       {', '.join(config.kafka.bootstrap_servers)}, role {config.role}"] if config.kafka else []),
    ]
    if config.role == "receiver":
        return "\n".join(lines)
    lines += [
        f"  data        {config.data_dir}",
        f"  judge       {judge}",
        f"  evaluators  {', '.join(evaluator.id for evaluator in rules.evaluators)}",
        f"  verdicts    {config.export.otlp.endpoint if config.export.otlp else 'kept here, not exported by OTLP'}",
    ]
    return "\n".join(lines)


def _url(address: str | None, listener: Listener) -> str | None:
    return address and f"{'https' if listener.tls else 'http'}://{address}"


def _has_key(config: Config) -> bool:
    return config.judge.api_key is not None or bool(os.environ.get("ANTHROPIC_API_KEY"))
