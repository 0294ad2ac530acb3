"""`spanjudge token`: a new bearer token, and its entry for the file of tokens."""

from __future__ import annotations

from textwrap import indent
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError

from collector.access.tokens import digest_of, new_token, valid_entry
from collector.commands.files import fail


def token(
    name: Annotated[str, typer.Argument(help="Who it is for; the author of their labels.")],
    tenant: Annotated[
        list[str] | None,
        typer.Option(help="Opens what belongs to this tenant only; may be repeated. '' is telemetry without a tenant."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="May look, and change nothing.")] = False,
) -> None:
    """Make a random token. Its entry for access.tokens_file goes to standard output, the token itself to standard
    error: it is shown this once, and kept nowhere.

    \b
    Examples:
      spanjudge token ana
      spanjudge token desk-north --tenant north --read-only >> tokens.yaml

    The file begins with a line `tokens:`. A running server reads it again when it changes.
    """
    made = new_token()
    entry: dict[str, Any] = {"name": name, "sha256": digest_of(made).hex()}
    if tenant:
        entry["tenants"] = tenant
    if read_only:
        entry["read_only"] = True
    try:
        valid_entry(entry)
    except ValidationError as error:
        raise fail("; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors(include_url=False))) from error
    typer.echo(indent(yaml.safe_dump([entry], sort_keys=False, allow_unicode=True), "  "), nl=False)
    typer.echo(f"The token, shown this once: {made}", err=True)
