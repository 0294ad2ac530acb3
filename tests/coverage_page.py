"""docs/harnesses.md, computed from the fixtures: what is known of a session, by harness and by what was switched on.

python -m tests.coverage_page > docs/harnesses.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from extractors.coverage import CONTENT, Coverage, Level, Setting, Signal, beside, coverage, together
from extractors.registry import CONVENTIONS, HARNESSES, settings_of
from extractors.trajectory import Trajectory
from tests.extractors.fixtures import name_of, scenarios
from tests.fakes.provenance import fields

HEAD = """# What is known of which harness

What SpanJudge can tell of a session depends on what the agent's telemetry says, and most of that is off by default.
The tables are computed from the recorded sessions in `tests/fixtures` and checked by a test; write them anew with
`python -m tests.coverage_page > docs/harnesses.md`.

| in a table | means |
|---|---|
| recorded | in every recorded session of this mode, on every occasion |
| partly | on some occasions |
| not recorded | it happened, and the telemetry does not say it |
| - | no recorded session of this mode has an occasion for it |

What each row counts: a prompt, a skill on offer once a session, a skill load by name, the text of a refused load, of a
loaded skill; of a tool call the arguments, the result if it worked, the error if it did not, start and end; of a model
turn the text and the tokens; models, versions, system prompt, tool definitions and answer once a session. A session
whose prompt names no skills may have offered none: it counts as one that does not say. Sessions that were cut short on
purpose are left out.

Below each table stands what to set to know more; "content" are all of {content}.

`spanjudge inspect` says for a session of yours which of these are missing and what to set.
"""

_TRAJECTORY = TypeAdapter(Trajectory)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One fixture: its harness as recognized, its mode, and its tallies, those of the session it repeats included."""

    harness: str
    mode: str
    coverage: Coverage


def recorded() -> list[Recorded]:
    """Every whole fixture."""
    return [_recorded(scenario) for scenario in scenarios() if "cut" not in fields(scenario)]


def _recorded(scenario: Path) -> Recorded:
    said, trajectory = fields(scenario), expected(scenario)
    if "mode" not in said:
        raise ValueError(f"{name_of(scenario)}/provenance.md does not say its mode")
    found = coverage(trajectory)
    if "like" in said:
        found = beside(found, coverage(expected(scenario.parent / said["like"])))
    return Recorded(trajectory.harness, said["mode"], found)


def expected(scenario: Path) -> Trajectory:
    return _TRAJECTORY.validate_json((scenario / "expected.json").read_bytes())


def by_mode(found: Iterable[Recorded], harness: str) -> Mapping[str, Coverage]:
    """mode → tallies of a harness, the mode that tells most first."""
    groups: dict[str, list[Coverage]] = {}
    for one in found:
        if one.harness == harness:
            groups.setdefault(one.mode, []).append(one.coverage)
    modes = {mode: together(group) for mode, group in groups.items()}
    return dict(sorted(modes.items(), key=lambda item: (-_richness(item[1]), item[0])))


def _richness(found: Coverage) -> int:
    points = {Level.RECORDED: 2, Level.PARTLY: 1}
    return sum(points.get(tally.level, 0) for tally in found.values())


def page(found: Iterable[Recorded]) -> str:
    """The whole document."""
    found = list(found)
    parts = [HEAD.format(content=_enumerated(CONTENT))]
    for extractor in (*HARNESSES, *CONVENTIONS):
        modes = by_mode(found, extractor.NAME)
        if modes:
            parts.append("\n".join(_section(extractor.NAME, modes, settings_of(extractor.NAME))) + "\n")
    return "\n".join(parts)


def _enumerated(signals: Sequence[str]) -> str:
    return f"{', '.join(signals[:-1])} and {signals[-1]}"


def _section(harness: str, modes: Mapping[str, Coverage], settings: Iterable[Setting]) -> Iterator[str]:
    yield f"## {harness}"
    yield ""
    yield f"| | {' | '.join(modes)} |"
    yield f"|---|{'---|' * len(modes)}"
    for signal in Signal:
        levels = [found[signal].level for found in modes.values()]
        yield f"| {signal} | {' | '.join(levels)} |"
    yield ""
    yield "| to know | set |"
    yield "|---|---|"
    for setting in settings:
        how = "no setting records it" if setting.how is None else f"`{setting.how}`"
        remark = f": {setting.remark}" if setting.remark else ""
        yield f"| {', '.join(_names(setting))} | {how}{remark} |"


def _names(setting: Setting) -> list[str]:
    """The signals, those that one switch for content usually covers as one word."""
    if not set(CONTENT) <= set(setting.signals):
        return [*setting.signals]
    return ["content", *(signal for signal in setting.signals if signal not in CONTENT)]


if __name__ == "__main__":
    sys.stdout.write(page(recorded()))
