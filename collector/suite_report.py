"""What came of a suite: results of cases and gates, as a JSON document and as JUnit XML (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from xml.etree import ElementTree

from collector.offline import Examined, concluded, judged_session
from collector.offline_answers import Asked, judge_gate
from collector.store.baselines import KeptSession
from judge.case_results import CaseResult, JudgedSession, Standing, case_results, session_rates
from judge.composite import CompositeRules
from judge.gates import (
    Gate,
    GateRules,
    Status,
    adherence_gate,
    baseline_gate,
    cases_gate,
    forbidden_gate,
    high_risk_gate,
)
from judge.significance import compare
from judge.suites import Case, Suite
from judge.yardstick import comparable

FORMAT = 1
"""Of the JSON document; goes up when a reader would have to change."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that one run of suites found. `unmatched` are cases that no session fell under."""

    suites: tuple[Suite, ...]
    sessions: tuple[KeptSession, ...]
    results: tuple[CaseResult, ...]
    unmatched: tuple[Case, ...]
    gates: tuple[Gate, ...]

    @property
    def passed(self) -> bool:
        """Whether no gate failed or stayed open."""
        return not any(gate.status in {Status.FAILED, Status.UNDECIDED} for gate in self.gates)


def run_of(
    examined: Sequence[Examined],
    suites: Sequence[Suite],
    composite: CompositeRules,
    rules: GateRules,
    *,
    baseline: Sequence[KeptSession] | None = None,
    require_all: bool = False,
    asked: Asked | None = None,
) -> Run:
    """Cases and gates over all sessions. With `require_all` a case that no session fell under fails, too. `asked` is
    what became of the questions, None where no judge was to be asked."""
    kept = tuple(concluded(one, composite) for one in examined)
    sessions = [judged_session(each, one.cases) for each, one in zip(kept, examined, strict=True)]
    cases = [case for suite in suites for case in suite.cases]
    results = case_results(sessions, frozenset(case.key for case in cases if case.high_risk), composite)
    seen = {result.case for result in results}
    unmatched = tuple(case for case in cases if case.key not in seen)
    gates = [*absolute_gates(sessions, results, [case.key for case in unmatched if case.high_risk], rules)]
    if require_all:
        gates.append(_all_there(unmatched))
    if baseline is not None:
        gates.append(against(baseline, sessions, rules))
    if asked is not None:
        gates.append(judge_gate(asked))
    return Run(tuple(suites), kept, results, unmatched, tuple(gates))


def absolute_gates(
    sessions: Sequence[JudgedSession], results: Sequence[CaseResult], unmatched: Sequence[str], rules: GateRules
) -> tuple[Gate, ...]:
    """Those that need no baseline."""
    return (
        cases_gate(results, rules),
        high_risk_gate(results, unmatched),
        forbidden_gate(sessions),
        adherence_gate(results, rules),
    )


def against(baseline: Sequence[KeptSession], sessions: Sequence[JudgedSession], rules: GateRules) -> Gate:
    """The gate on rates that fell. Only scores of one yardstick are compared (the evaluator's version, its prompt, the
    judge's model); the gate's details say what is left out."""
    found = comparable(session_rates(map(judged_session, baseline)), session_rates(sessions))
    gate = baseline_gate(compare(found.counts, rules.level, rules.min_sample), rules)
    return replace(gate, details=(*gate.details, *found.left_out))


def _all_there(unmatched: Sequence[Case]) -> Gate:
    if not unmatched:
        return Gate("all_cases", Status.PASSED, "every case was met by a session")
    text = f"{len(unmatched)} cases were met by no session"
    return Gate("all_cases", Status.FAILED, text, tuple(case.key for case in unmatched))


def document(run: Run) -> dict[str, Any]:
    """The JSON document; docs/suites.md says what is in it."""
    return {
        "format": FORMAT,
        "passed": run.passed,
        "suites": [{"name": suite.name, "version": suite.version, "cases": len(suite.cases)} for suite in run.suites],
        "sessions": len(run.sessions),
        "results": [
            {
                "case": result.case,
                "session_id": result.session.session_id,
                "tenant": result.session.tenant,
                "standing": str(result.standing),
                "high_risk": result.high_risk,
                "total": result.total,
                "adherence": result.adherence,
                "reasons": list(result.reasons),
            }
            for result in run.results
        ],
        "unmatched": [case.key for case in run.unmatched],
        "gates": [gate_document(gate) for gate in run.gates],
    }


def gate_document(gate: Gate) -> dict[str, Any]:
    return {**asdict(gate), "status": str(gate.status), "details": list(gate.details)}


def junit(run: Run) -> str:
    """JUnit XML: a test suite for each suite, a test case for each case and session, and a test suite of the gates. A
    result that was not judged is an error, a case that no session fell under is skipped."""
    root = ElementTree.Element("testsuites", name="spanjudge")
    seconds = {one.session.ref: _seconds(one) for one in run.sessions}
    for suite in run.suites:
        of_suite = [result for result in run.results if result.case.partition("/")[0] == suite.name]
        element = ElementTree.SubElement(root, "testsuite", name=_xml(suite.name))
        for result in of_suite:
            case = _testcase(element, suite.name, f"{result.case.partition('/')[2]} [{result.session.session_id}]")
            case.set("time", f"{seconds.get(result.session, 0.0):.3f}")
            _add_standing(case, result)
        for unmatched in (case for case in run.unmatched if case.suite == suite.name):
            case = _testcase(element, suite.name, unmatched.id)
            ElementTree.SubElement(case, "skipped", message="no session falls under this case")
        _count(element)
    element = ElementTree.SubElement(root, "testsuite", name="gates")
    for gate in run.gates:
        _add_gate(element, gate)
    _count(element)
    _count(root, "testsuite/testcase")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _testcase(parent: ElementTree.Element, classname: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, "testcase", classname=_xml(classname), name=_xml(name), time="0.000")


def _add_standing(case: ElementTree.Element, result: CaseResult) -> None:
    if result.standing is Standing.PASSED:
        return
    kind = "failure" if result.standing is Standing.FAILED else "error"
    first = result.reasons[0] if result.reasons else str(result.standing)
    element = ElementTree.SubElement(case, kind, message=_xml(first), type=str(result.standing))
    element.text = _xml("\n".join(result.reasons))


def _add_gate(parent: ElementTree.Element, gate: Gate) -> None:
    case = _testcase(parent, "gates", gate.name)
    if gate.status is Status.NOT_APPLICABLE:
        ElementTree.SubElement(case, "skipped", message=_xml(gate.explanation))
    elif gate.status is not Status.PASSED:
        kind = "failure" if gate.status is Status.FAILED else "error"
        element = ElementTree.SubElement(case, kind, message=_xml(gate.explanation), type=str(gate.status))
        element.text = _xml("\n".join((gate.explanation, *gate.details)))


_COUNTED: Mapping[str, str] = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _count(element: ElementTree.Element, cases: str = "testcase") -> None:
    found = element.findall(cases)
    element.set("tests", str(len(found)))
    for attribute, child in _COUNTED.items():
        # The usual schema lets a test suite count what was skipped, and not all of them together.
        if attribute != "skipped" or element.tag == "testsuite":
            element.set(attribute, str(sum(case.find(child) is not None for case in found)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in found):.3f}")


def _seconds(kept: KeptSession) -> float:
    """How long the session took; 0 where times were not recorded."""
    trajectory = kept.session.trajectory
    if trajectory is None or not 0 < trajectory.started_ns <= trajectory.ended_ns:
        return 0.0
    return (trajectory.ended_ns - trajectory.started_ns) / 1e9


def _xml(text: str) -> str:
    """What XML 1.0 can hold; ElementTree writes the rest all the same, and no parser takes it back."""
    return _NOT_XML.sub("�", text)
