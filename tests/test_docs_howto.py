"""Pages of harnesses (docs/howto) against what is known of them: settings, recordings, what evaluators say."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from extractors.coverage import Signal
from extractors.registry import CONVENTIONS, HARNESSES, Extractor, settings_of
from judge.catalog import build, plan_all
from judge.suites import parse_suite
from judge.verdict import NotJudged
from tests.coverage_page import by_mode, expected, recorded
from tests.documented.pages import ROOT
from tests.extractors.fixtures import scenarios
from tests.fakes.provenance import fields

READERS = (*HARNESSES, *CONVENTIONS)
HOWTO = ROOT / "docs" / "howto"
_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.NAME)
def test_each_harness_has_a_page_that_names_every_setting(reader: Extractor) -> None:
    page = (HOWTO / f"{reader.NAME}.md").read_text(encoding="utf-8")
    wanted = " ".join(setting.how or "" for setting in settings_of(reader.NAME))
    names = {*_NAME.findall(wanted), *re.findall(r"\w+_\w+(?= =)|\w+(?==True)|\"(\w+)\":", wanted)} - {""}
    assert {name for name in names if name not in page} == set()
    assert f"--harness {reader.NAME} " in page


_SAID_AS = {
    Signal.HARNESS_VERSION: "version",
    Signal.CATALOG: "on offer",
    Signal.SYSTEM_PROMPT: "system prompt",
    Signal.DEFINITIONS: "definitions of tools",
}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.NAME)
def test_a_page_of_a_harness_says_what_was_never_recorded_of_it(reader: Extractor) -> None:
    page = (HOWTO / f"{reader.NAME}.md").read_text(encoding="utf-8").partition("## What cannot")[2]
    never = {signal for setting in settings_of(reader.NAME) if setting.how is None for signal in setting.signals}
    assert {signal for signal in never & _SAID_AS.keys() if _SAID_AS[signal] not in page} == set()


def test_pages_of_harnesses_name_no_variable_that_nobody_else_knows() -> None:
    """Those of OpenTelemetry's own exporters aside. What is in the list below was seen to work when it was recorded."""
    known = {name for reader in READERS for each in settings_of(reader.NAME) for name in _NAME.findall(each.how or "")}
    known |= {"OPENINFERENCE_HIDE_INPUT_MESSAGES", "OTEL_METRICS_INCLUDE_SESSION_ID", "META_ONLY"}
    for page in HOWTO.glob("*.md"):
        named = {name for name in _NAME.findall(page.read_text(encoding="utf-8")) if not _of_any_sdk(name)}
        assert named - known - {"EVENT_ONLY", "SPAN_AND_EVENT"} == set(), page.name


def _of_any_sdk(name: str) -> bool:
    return name.startswith(("OTEL_EXPORTER_OTLP_", "OTEL_RESOURCE_", "OTEL_SERVICE_")) or name.endswith("S_EXPORTER")


# -- what can be judged ------------------------------------------------------------------------------------------------

EVERYTHING = """
name: asks-for-everything
version: "1"
cases:
  - id: all
    match: {}
    expected_skill: none
    required_steps: [{tool: nobody-has-this}]
    forbidden_events: [{tool: "*delete*"}]
    answer_contains: [nobody says this]
    budgets: {tool_calls: 1, tokens: 5, seconds: 1}
"""


@pytest.fixture(scope="module")
def not_judged() -> dict[str, set[str]]:
    """harness → evaluators that find too little on half of their occasions or more, in the mode that tells most."""
    evaluators, cases = build(), parse_suite(EVERYTHING, "here").cases
    found = recorded()
    best = {harness: next(iter(by_mode(found, harness))) for harness in {one.harness for one in found}}
    all_of: Counter[tuple[str, str]] = Counter()
    missing: Counter[tuple[str, str]] = Counter()
    for scenario in scenarios():
        said, trajectory = fields(scenario), expected(scenario)
        if "cut" not in said and said["mode"] == best[trajectory.harness]:
            plan = plan_all(trajectory, cases, evaluators)
            judging = [*(one.evaluator for one in plan.verdicts), *(one.evaluator for one in plan.questions)]
            all_of.update((trajectory.harness, evaluator) for evaluator in judging)
            unknown = [one for one in plan.verdicts if isinstance(one.outcome, NotJudged)]
            missing.update((trajectory.harness, one.evaluator) for one in unknown)
    mostly: dict[str, set[str]] = {harness: set() for harness in best}
    for (harness, evaluator), count in missing.items():
        if 2 * count >= all_of[harness, evaluator]:
            mostly[harness].add(evaluator)
    return mostly


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.NAME)
def test_a_page_of_a_harness_names_every_evaluator_that_mostly_finds_too_little(
    reader: Extractor, not_judged: dict[str, set[str]]
) -> None:
    page = (HOWTO / f"{reader.NAME}.md").read_text(encoding="utf-8").partition("## What cannot")[2]
    assert {evaluator for evaluator in not_judged[reader.NAME] if f"`{evaluator}`" not in page} == set()
