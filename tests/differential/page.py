"""docs/differences.md: where Strands Evals and SpanJudge tell our fixtures differently, and why.

python -m tests.differential.page > docs/differences.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.differential.differences import Difference, Explanation, Kind, differences, explanations
from tests.differential.readings import Reading, our_readings, sessions, their_readings

HEAD = """# Differences from another reader

Strands Evals (`strands-agents-evals` on PyPI) also reads agents' telemetry for skills and tool calls. `make
differential` lets it read the spans of our fixtures and compares. This page is written by
`python -m tests.differential.page > docs/differences.md` from the explanations in
`tests/differential/explanations.yaml`; a test fails on a difference that nobody has explained, and on an explanation
that no longer applies. It compares what both could know: spans. Sessions of log records alone it cannot read at all.

"We" is SpanJudge, "they" is Strands Evals. A difference is one signal of one fixture.
"""


def page(ours: Mapping[str, Reading], theirs: Mapping[str, Reading], reasons: Sequence[Explanation]) -> str:
    """The whole document."""
    found = differences(ours, theirs)
    return "\n".join((HEAD, *_counts(len(ours), found), "", *_table(found, reasons))) + "\n"


def _counts(fixtures: int, found: Sequence[Difference]) -> Iterator[str]:
    same = fixtures - len({one.scenario for one in found})
    yield f"{fixtures} fixtures with spans; of {same} both tell the same in every signal. {len(found)} differences:"
    yield ""
    yield f"| signal | {' | '.join(Kind)} |"
    yield f"|---|{'---|' * len(Kind)}"
    for signal in dict.fromkeys(one.signal for one in sorted(found, key=lambda one: one.signal)):
        counts = (sum(one.signal == signal and one.kind is kind for one in found) for kind in Kind)
        yield f"| {signal} | {' | '.join(map(str, counts))} |"


def _table(found: Sequence[Difference], reasons: Iterable[Explanation]) -> Iterator[str]:
    yield "| what | where | differences | why |"
    yield "|---|---|---|---|"
    for reason in reasons:
        covered = sum(reason.covers(one) for one in found)
        where = ", ".join(f"`{pattern}`" for pattern in reason.where)
        yield f"| {', '.join(reason.signals)}: {reason.kind} | {where} | {covered} | {reason.why} |"


if __name__ == "__main__":
    read = sessions()
    sys.stdout.write(page(our_readings(read), their_readings(read), explanations()))
