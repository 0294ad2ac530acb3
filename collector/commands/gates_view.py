"""Results of cases and gates for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.text import Text

from collector.commands.terminal import safe, short, styled
from collector.offline_answers import JUDGE_GATE
from collector.suite_report import Run
from judge.case_results import Standing
from judge.gates import Gate, Status

_STANDINGS = {
    Standing.PASSED: ("pass", "green"),
    Standing.FAILED: ("FAIL", "bold red"),
    Standing.NOT_JUDGED: ("none", "yellow"),
}
_STATUSES = {
    Status.PASSED: ("pass", "green"),
    Status.FAILED: ("FAIL", "bold red"),
    Status.UNDECIDED: ("open", "yellow"),
    Status.NOT_APPLICABLE: ("n/a ", "dim"),
}
_DETAILS = 10


def run_lines(run: Run) -> Iterator[Text]:
    """Each case of each session, what no session fell under, then the gates."""
    for result in run.results:
        total = "    " if result.total is None else f"{result.total:.2f}"
        risk = "  high risk" if result.high_risk else ""
        session = short(result.session.session_id, 100)
        yield styled(_STANDINGS[result.standing], f"  {safe(result.case)}  {total}  ", (session, "cyan"), (risk, "dim"))
        yield from (styled("      ", short(reason)) for reason in result.reasons)
    for case in run.unmatched:
        risk = "  high risk" if case.high_risk else ""
        yield styled(("none", "dim"), f"  {safe(case.key)}  ", ("no session falls under it", "dim"), (risk, "dim"))
    yield Text()
    # Which cases failed stands above.
    yield from gate_lines([replace(gate, details=()) if gate.name == "cases" else gate for gate in run.gates])


def gate_lines(gates: Sequence[Gate]) -> Iterator[Text]:
    yield styled(("gates", "bold"))
    for gate in gates:
        yield styled("  ", _STATUSES[gate.status], f"  {gate.name}: {short(gate.explanation)}")
        if gate.name == JUDGE_GATE or (gate.status is Status.PASSED and gate.name != "baseline"):
            continue  # what a judge did not answer is told on standard error, with what to do about it
        yield from (styled("        ", short(line)) for line in gate.details[:_DETAILS])
        if len(gate.details) > _DETAILS:
            yield styled("        ", (f"and {len(gate.details) - _DETAILS} more", "dim"))
