"""A bar on standard error for what takes long, where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from collector.commands.terminal import console


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Call what it yields with how many are done."""
    screen = console(to="stderr")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
