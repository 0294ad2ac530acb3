"""`spanjudge calibrate`: how accurate evaluators are, by people's labels, and what that does to pass rates."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter
from rich import box
from rich.table import Table
from rich.text import Text

from collector.calibration import Calibration, PassRate, calibrations, pass_rates
from collector.clock import SystemClock
from collector.commands.files import ConfigFile, DataDir, config_of, fail
from collector.commands.sessions import nanoseconds
from collector.commands.stored import open_store
from collector.commands.terminal import NOT_RECORDED, console, safe, short
from collector.errors import StoreUnavailable
from judge.calibration import CONFIDENCE, Estimate, Minimum, NoEstimate

_WORDS = {
    "not_enough_labels": "not enough labels",
    "no_better_than_chance": "no better than chance",
    "no_verdicts": "no verdicts",
}


@dataclass(frozen=True, slots=True)
class _Found:
    known: list[Calibration]
    rates: list[PassRate]


def calibrate(
    config_file: ConfigFile = None,
    data_dir: DataDir = None,
    evaluator: Annotated[str | None, typer.Option(help="Only this evaluator.")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Only labels given and sessions closed within this long: 12h, 30d. Default: all labels, and rates of "
            "calibration.window_seconds.",
            metavar="DURATION",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: calibrations, rates.")] = False,
) -> None:
    """Hold people's labels against verdicts, for each evaluator by version, prompt version and judge model.

    Agreement and kappa are those of the labelled verdicts. Sensitivity is the share of what people pass that the
    evaluator passes, specificity the share of what people fail that it fails; both are weighted back to all verdicts.
    Pass rates are shown as counted, and corrected for these errors and for sampling. Ranges are 95 % intervals. Where
    there are not enough labels it says so, and how many it takes.

    \b
    Examples:
      spanjudge calibrate -c spanjudge.yaml
      spanjudge calibrate --evaluator goal_completion --since 30d
      spanjudge calibrate --json | jq '.calibrations[].accuracy.sensitivity'
    """
    settings = config_of(config_file, data_dir).calibration
    minimum = Minimum(settings.min_labels, settings.min_each)
    now_ns = SystemClock().now_ns()
    since_ns = None if since is None else now_ns - nanoseconds(since)
    window_ns = now_ns - int(settings.window_seconds * 1e9)
    evaluators = None if evaluator is None else [evaluator]

    async def find() -> _Found:
        store = open_store(config_file, data_dir)
        try:
            given = await store.labels.given(evaluator, since_ns)
            known = calibrations(given, await store.labels.counts(since_ns, evaluators), minimum)
            counts = await store.labels.counts(window_ns if since_ns is None else since_ns, evaluators)
        except StoreUnavailable as error:
            raise fail(str(error)) from error
        finally:
            await store.close()
        return _Found(known, pass_rates(counts, known))

    found = asyncio.run(find())
    if as_json:
        document = {"confidence": CONFIDENCE, "calibrations": _documents(found.known), "rates": _rates(found.rates)}
        typer.echo(TypeAdapter(dict[str, Any]).dump_json(document, indent=2))
        return
    if not found.known and not found.rates:
        typer.echo("No verdicts with a score" + (f" of {safe(evaluator)}." if evaluator else " yet."), err=True)
        return
    screen = console()
    if found.known:
        screen.print(calibration_table(found.known))
        for line in _missing(found.known):
            screen.print(Text(line, "yellow"))
        screen.print()
    screen.print(rate_table(found.rates))


def calibration_table(known: Sequence[Calibration]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="accuracy", title_justify="left", title_style="bold")
    for name in ("evaluator", "version", "prompt", "judge model"):
        table.add_column(name, overflow="fold")
    for name in ("verdicts", "labels"):
        table.add_column(name, justify="right")
    for name in ("agreement", "kappa", "sensitivity", "specificity"):
        table.add_column(name, no_wrap=True)
    for one in known:
        accuracy = one.accuracy
        parts = (accuracy.agreement, accuracy.kappa, accuracy.sensitivity, accuracy.specificity)
        table.add_row(
            Text(one.yardstick.evaluator),
            Text(short(one.yardstick.version, 60)),
            Text(one.yardstick.prompt_version or "none"),
            Text(one.yardstick.model or "none (code)"),
            str(one.tally.verdicts),
            str(one.confusion.labels),
            *(_number(part) for part in parts),
        )
    return table


def rate_table(rates: Sequence[PassRate]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="pass rates", title_justify="left", title_style="bold")
    for name in ("evaluator", "service", "agent version"):
        table.add_column(name, overflow="fold")
    table.add_column("verdicts", justify="right")
    table.add_column("as counted", justify="right")
    table.add_column("corrected", no_wrap=True)
    for rate in sorted(rates, key=lambda one: (one.key[1], one.key[0], one.key[2])):
        service, evaluator, version = rate.key
        ratio = rate.tally.ratio
        table.add_row(
            Text(evaluator),
            Text(short(service, 40) or NOT_RECORDED),
            Text(short(version, 40) or NOT_RECORDED),
            str(rate.tally.verdicts),
            "" if ratio is None else f"{ratio:.2f}",
            _number(rate.corrected),
        )
    return table


def _number(found: Estimate | NoEstimate) -> Text:
    if isinstance(found, Estimate):
        return Text(f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})")
    return Text(_WORDS[found.reason], "yellow")


def _missing(known: Sequence[Calibration]) -> list[str]:
    """For each evaluator that cannot be told about, why, and what to do."""
    lines = []
    for one in known:
        accuracy = one.accuracy
        parts = (accuracy.agreement, accuracy.kappa, accuracy.sensitivity, accuracy.specificity)
        details = dict.fromkeys(part.detail for part in parts if isinstance(part, NoEstimate))
        name = f"{one.yardstick.evaluator} {short(one.yardstick.version, 60)}"
        if details:
            lines.append(f"{name}: {'; '.join(details)}. spanjudge label --next {one.yardstick.evaluator}")
        if one.disputed:
            lines.append(f"{name}: {one.disputed} labelled verdicts are left out, with as many people for as against")
    return lines


def _documents(known: Sequence[Calibration]) -> list[dict[str, Any]]:
    return [
        {
            "evaluator": one.yardstick.evaluator,
            "evaluator_version": one.yardstick.version,
            "prompt_version": one.yardstick.prompt_version,
            "judge_model": one.yardstick.model,
            "verdicts": one.tally.verdicts,
            "labels": one.confusion.labels,
            "authors": one.authors,
            "disputed": one.disputed,
            "confusion": asdict(one.confusion),
            "accuracy": asdict(one.accuracy),
        }
        for one in known
    ]


def _rates(rates: Sequence[PassRate]) -> list[dict[str, Any]]:
    return [
        {
            "service": rate.key[0],
            "evaluator": rate.key[1],
            "agent_version": rate.key[2],
            "verdicts": rate.tally.verdicts,
            "labels": rate.labels,
            "pass_ratio": rate.tally.ratio,
            "pass_ratio_corrected": asdict(rate.corrected),
        }
        for rate in rates
    ]
