"""What a session's telemetry does not say, and what to set on the harness so that the next one's does."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from collector.commands.terminal import styled
from extractors.coverage import missing
from extractors.registry import UNRECOGNISED, settings_of
from extractors.trajectory import Trajectory

PAGE = "docs/harnesses.md"


def missing_lines(trajectory: Trajectory) -> Iterator[Text]:
    """Nothing for a session that misses nothing, and for one that nobody recognised."""
    lacking = missing(trajectory)
    if not lacking or trajectory.harness == UNRECOGNISED:
        return
    yield styled(("  missing             ", "bold"), ", ".join(lacking), (f"  see {PAGE}", "dim"))
    told = set()
    for setting in settings_of(trajectory.harness):
        own = [signal for signal in setting.signals if signal in lacking]
        told.update(own)
        if not own:
            continue
        remark = f"  ({setting.remark})" if setting.remark else ""
        if setting.how is None:
            yield styled("    ", (f"no setting records {', '.join(own)}{remark}", "dim"))
        else:
            yield styled("    ", (f"for {', '.join(own)}: ", "dim"), (setting.how, "cyan"), (remark, "dim"))
    if rest := [signal for signal in lacking if signal not in told]:
        yield styled("    ", (f"no setting is known for {', '.join(rest)}", "dim"))
