"""Labels one by one: show a verdict, ask a person, keep what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import typer
from rich.console import Console

from collector.clock import Clock
from collector.commands.files import fail
from collector.commands.session_view import session_lines, verdict_lines
from collector.commands.stored import Chosen
from collector.commands.terminal import LONG, recorded, safe, short, styled
from collector.label_queue import next_to_label
from collector.labelling import NotALabel, Said, label_of
from collector.store.labels import Label
from collector.store.sql_store import SqlStore
from judge.question import Scale
from judge.verdict import Judged, Score

_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Desk:
    """What labelling needs."""

    store: SqlStore
    scales: Mapping[str, Scale]
    clock: Clock
    author: str
    screen: Console

    async def keep(self, judged: Judged, said: Said) -> Label:
        """Raises `NotALabel`."""
        evaluator = judged.verdict.evaluator
        seen = await self.store.labels.known_labels(evaluator)
        label = label_of(judged, said, self.clock.now_ns(), self.scales.get(evaluator), seen)
        if not await self.store.labels.add(label):
            raise NotALabel("verdict", "the verdict is not in the store any more")
        return label


async def label_one_by_one(desk: Desk, evaluator: str) -> None:
    """Until there is nothing left, or the person has had enough."""
    labelled, skipped = 0, set[str]()
    while (judged := await next_to_label(desk.store, evaluator, skipped)) is not None:
        await _show(desk, judged)
        answer = await _answer(desk, judged)
        if answer == "quit":
            break
        if answer == "skip":
            skipped.add(judged.id)
            continue
        try:
            kept = await desk.keep(judged, _ask_for_details(desk, judged, agrees=answer == "agree"))
        except NotALabel as error:
            typer.echo(f"Not kept: {error}", err=True)
            continue
        labelled += 1
        typer.echo(told(judged, kept))
    else:
        if not labelled and not skipped:
            raise fail(
                f"no unlabelled verdict of {safe(evaluator)} with a score; spanjudge sessions lists what there is"
            )
        typer.echo("Nothing is left to label.")
    typer.echo(f"{labelled} labelled, {len(skipped)} skipped. spanjudge calibrate tells what they say.")


async def _show(desk: Desk, judged: Judged) -> None:
    closings = await desk.store.session(judged.session.session_id, judged.session.tenant)
    trajectory = next((one.trajectory for one in closings if one.ref == judged.session), None)
    desk.screen.print()
    desk.screen.print(styled(("session ", "dim"), (safe(judged.session.session_id), "bold cyan")))
    if trajectory is not None:
        desk.screen.print(styled(("task    ", "dim"), recorded(trajectory.task, _TEXT)))
        desk.screen.print(styled(("answer  ", "dim"), recorded(trajectory.answer, _TEXT)))
    if judged.verdict.subject.name:
        desk.screen.print(styled(("about   ", "dim"), f"{judged.verdict.subject.kind} ", about(judged)))
    for line in verdict_lines(judged, _TEXT):
        desk.screen.print(line)


async def _answer(desk: Desk, judged: Judged) -> str:
    words = {word[0]: word for word in ("agree", "disagree", "view", "skip", "quit")}
    while True:
        said = typer.prompt("[a]gree, [d]isagree, [v]iew the session, [s]kip, [q]uit").strip().lower()
        word = words.get(said[:1], "")
        if not word.startswith(said) or not said:
            typer.echo("Type one of a, d, v, s, q.", err=True)
        elif word == "view":
            await _view(desk, judged)
        else:
            return word


async def _view(desk: Desk, judged: Judged) -> None:
    closings = await desk.store.session(judged.session.session_id, judged.session.tenant)
    for closing in closings:
        if closing.ref == judged.session:
            chosen = Chosen(closing, tuple(one.ref.revision for one in closings))
            for line in session_lines(chosen, [judged], LONG):
                desk.screen.print(line)


def _ask_for_details(desk: Desk, judged: Judged, *, agrees: bool) -> Said:
    scale = desk.scales.get(judged.verdict.evaluator)
    right = ""
    if not agrees and (scale is None or len(scale.labels) > 2):
        known = f" ({', '.join(scale.labels)})" if scale else ""
        right = typer.prompt(f"Which label is right{known}? Enter for none of them", default="", show_default=False)
    return Said(agrees, typer.prompt("Why"), desk.author, right.strip() or None)


def told(judged: Judged, label: Label) -> str:
    word = "agrees" if label.agrees else "disagrees"
    right = f", {safe(label.right_label)} would be right" if label.right_label else ""
    return f"{judged.id}  {judged.verdict.evaluator}  {about(judged)}: {safe(label.author)} {word}{right}"


def about(judged: Judged) -> str:
    outcome = judged.verdict.outcome
    found = f"{safe(outcome.label)} {outcome.value:.2f}" if isinstance(outcome, Score) else "no score"
    name = judged.verdict.subject.name
    return f"{short(name, 60)}: {found}" if name else found
