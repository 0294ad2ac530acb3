"""What is counted, under which labels, and that nothing in telemetry can break a scrape."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.exposition import choose_encoder

from collector.metric_labels import MAX_VALUES, OTHER
from collector.metrics import Metrics, document
from judge.budget import Limit
from judge.question import Answer
from judge.verdict import NotApplicable, NotJudged, Score
from tests.fakes.verdicts import TRACE_ID, judged
from tests.integrations import require

METRICS_DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"


def _value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"spanjudge_{name}", labels)


def _openmetrics(metrics: Metrics) -> str:
    encode, _ = choose_encoder("application/openmetrics-text; version=1.0.0")
    return encode(metrics.registry).decode()


def _used() -> Metrics:
    """Every method called once, so that every metric has a series."""
    metrics = Metrics("1.2.3")
    metrics.received("traces", 5)
    metrics.stored("traces", 4)
    metrics.dropped("traces", "sampled_out", 1)
    metrics.late("logs", 1)
    metrics.undecodable("logs", 1)
    metrics.request("grpc", "traces", "ok", 0.002)
    metrics.journal_committed(0.001)
    metrics.journal_bytes(4096)
    metrics.journal_room(10**9)
    metrics.closing_caught_up(1_767_225_600_000_000_000)
    metrics.verdict(judged(evaluator="forbidden_events", outcome=Score(0.0, "violated", "")))
    metrics.sessions_open(3, 0)
    metrics.session_closed("idle")
    metrics.unrecognised(["some.scope"])
    metrics.verdict(judged())
    metrics.verdict(judged(outcome=NotJudged("judge_unavailable")))
    metrics.verdict_lag(0.2)
    metrics.judge_asked("model-a", "answered", 2.0)
    metrics.judge_answered(Answer("Yes", "because", "model-a", 100, 20, 50, 10))
    metrics.questions_pending(1)
    metrics.judge.cost("model-a", "goal_completion", 1_500_000)
    metrics.judge.cache_hit("goal_completion")
    metrics.judge.budget([(Limit("day", "dollars", 5), 0.5)])
    metrics.judge.circuit_opened("judge_unavailable")
    metrics.judge.question_expired("budget_spent")
    metrics.export_sent("otlp", 2, 1_767_225_600_000_000_000)
    metrics.export_failed("otlp", "invalid_argument", 1)
    metrics.export_retried("otlp", "unavailable")
    metrics.export_pending("otlp", 7)
    return metrics


def test_a_verdict_is_counted_under_its_labels() -> None:
    metrics = Metrics()
    metrics.verdict(judged(outcome=Score(0.75, "mostly", "fine")))
    labels = {
        "service": "shop",
        "evaluator": "skill_selection",
        "skill": "refunds",
        "label": "mostly",
        "agent_version": "7",
    }
    assert _value(metrics, "verdicts_total", **labels) == 1
    assert _value(metrics, "verdicts_weighted_total", **labels) == 2, "half of the sessions are sampled"
    score = {"service": "shop", "evaluator": "skill_selection", "skill": "refunds"}
    assert _value(metrics, "score_bucket", **score, le="0.7") == 0
    assert _value(metrics, "score_bucket", **score, le="0.8") == 1


@pytest.mark.parametrize(
    ("outcome", "label"), [(NotJudged("judge_refused"), "not_judged"), (NotApplicable("no skill"), "not_applicable")]
)
def test_a_verdict_without_a_score_is_counted_and_never_averaged(
    outcome: NotJudged | NotApplicable, label: str
) -> None:
    metrics = Metrics()
    metrics.verdict(judged(outcome=outcome))
    text = generate_latest(metrics.registry).decode()
    assert f'label="{label}"' in text
    assert "spanjudge_score_count" not in text


def test_a_verdict_that_was_not_judged_is_counted_by_reason() -> None:
    metrics = Metrics()
    metrics.verdict(judged(outcome=NotJudged("judge_refused", "policy")))
    assert _value(metrics, "not_judged_total", evaluator="skill_selection", reason="judge_refused") == 1


def test_the_tool_of_a_tool_call_is_no_skill() -> None:
    metrics = Metrics()
    about_skill = judged()
    subject = replace(about_skill.verdict.subject, kind="tool_call", name="search")
    metrics.verdict(replace(about_skill, verdict=replace(about_skill.verdict, subject=subject)))
    assert 'skill=""' in generate_latest(metrics.registry).decode()


def test_an_impossible_inclusion_probability_does_not_raise_and_is_not_weighted() -> None:
    metrics = Metrics()
    for probability in (0.0, float("nan"), -1.0):
        metrics.verdict(replace(judged(), inclusion_probability=probability))
    assert "spanjudge_verdicts_weighted_total{" not in generate_latest(metrics.registry).decode()


def test_exemplars_appear_in_openmetrics_only() -> None:
    metrics = _used()
    openmetrics = _openmetrics(metrics)
    assert f'session_id="s-1",trace_id="{TRACE_ID}"' in openmetrics
    assert TRACE_ID not in generate_latest(metrics.registry).decode()


def test_no_text_from_telemetry_can_break_a_scrape() -> None:
    metrics = Metrics()
    hostile = 'x\n# TYPE forged counter\nforged 1 "\\ \ud800'
    plain = judged(skill=hostile)
    named = replace(plain.verdict, evaluator=hostile, outcome=Score(1.0, hostile, hostile))
    session = replace(plain.session, session_id=hostile)
    metrics.verdict(replace(plain, verdict=named, session=session, service=hostile, agent_version=hostile))
    metrics.unrecognised([hostile])
    metrics.session_closed(hostile)
    text = generate_latest(metrics.registry).decode()
    assert not [line for line in text.splitlines() if line.startswith(("forged", "# TYPE forged"))]
    _openmetrics(metrics)


def test_skills_past_the_bound_are_counted_as_other() -> None:
    metrics = Metrics()
    for number in range(MAX_VALUES + 5):
        metrics.verdict(judged(skill=f"skill-{number}"))
    folded = {
        "service": "shop",
        "evaluator": "skill_selection",
        "skill": OTHER,
        "label": "yes",
        "agent_version": "7",
    }
    assert _value(metrics, "verdicts_total", **folded) == 5
    assert _value(metrics, "label_overflow_total", label="skill") == 5


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
def test_a_nonsense_duration_does_not_spoil_the_sum(seconds: float) -> None:
    metrics = Metrics()
    metrics.verdict_lag(seconds)
    assert _value(metrics, "verdict_lag_seconds_sum") == 0


def test_every_series_is_there_before_its_first_event() -> None:
    metrics = Metrics()
    assert _value(metrics, "dropped_total", signal="logs", reason="own") == 0
    assert _value(metrics, "sessions_closed_total", reason="max_age") == 0
    assert _value(metrics, "spans_received_total") == 0


def test_an_unrecognised_session_counts_once_under_each_scope() -> None:
    metrics = Metrics()
    metrics.unrecognised(["a", "a", "b"])
    metrics.unrecognised([])
    assert _value(metrics, "unrecognised_total", scope="a") == 1
    assert _value(metrics, "unrecognised_total", scope="b") == 1
    assert _value(metrics, "unrecognised_total", scope="") == 1


def test_every_token_of_an_answer_is_counted_under_one_kind_only() -> None:
    metrics = Metrics()
    metrics.judge_answered(Answer("Yes", "because", "m", input_tokens=100, output_tokens=20, cache_read_tokens=60))
    counted = {kind: _value(metrics, "judge_tokens_total", model="m", kind=kind) for kind in ("input", "cache_read")}
    assert counted == {"input": 40, "cache_read": 60}


def test_money_and_the_circuit_are_shown_as_people_count_them() -> None:
    metrics = Metrics()
    metrics.judge.cost("m", "goal_completion", 1_500_000_000)
    metrics.judge.budget([(Limit("hour", "tokens", 10, "goal_completion"), 0.25)])
    assert _value(metrics, "judge_cost_dollars_total", model="m", evaluator="goal_completion") == 1.5
    labels = {"window": "hour", "unit": "tokens", "evaluator": "goal_completion"}
    assert _value(metrics, "judge_budget_remaining_ratio", **labels) == 0.25
    for state, shown in (("closed", 0), ("open", 1), ("half_open", 1)):
        metrics.judge.circuit(state)  # type: ignore[arg-type]
        assert _value(metrics, "judge_circuit_open") == shown


def test_there_are_no_created_series_and_all_names_are_plain() -> None:
    text = _openmetrics(_used())
    assert "_created" not in text
    for name in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE):
        assert re.fullmatch(r"(spanjudge|process)_[a-z0-9_]+", name), name


def test_the_document_lists_every_metric_of_the_registry() -> None:
    metrics = _used()
    exposed = {family.name for family in metrics.registry.collect() if family.name.startswith("spanjudge_")}
    documented = {line.name.removesuffix("_total") for line in metrics.documented}
    assert documented == {name if name != "spanjudge_build" else "spanjudge_build_info" for name in exposed}


def test_the_document_is_current() -> None:
    written = METRICS_DOCUMENT.read_text()
    assert written == document(Metrics().documented), "run: python -m collector.metrics > docs/metrics.md"


@pytest.mark.integration("promtool")
def test_promtool_finds_nothing_to_complain_about() -> None:
    promtool = shutil.which("promtool")
    require("promtool", promtool is not None, "apt-get install prometheus")
    assert promtool is not None
    text = generate_latest(_used().registry)
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
