"""What is counted, under which labels, and that nothing in telemetry can break a scrape."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.samples import Sample

from collector.access.metrics import Refusal
from collector.calibration import PassRate
from collector.errors import Denial
from collector.evaluation.tally import Counts, count, tally
from collector.kafka.dead_letters import Cause
from collector.kafka.worker_metrics import State, Takeover
from collector.metric_bounds import LABELS, OF_METRICS, values_of
from collector.metric_labels import MAX_HISTOGRAMS, MAX_VALUES, OTHER
from collector.metrics import DropReason, Metrics, RequestOutcome, RestartReason
from collector.metrics_document import Documented, document
from collector.skill_metrics import AskedFor
from collector.verdict_facts import Example, VerdictFacts, facts_of
from judge.budget import Limit
from judge.calibration import Estimate
from judge.gate_failures import FailedGate
from judge.pass_rates import Tally
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


def test_histograms_are_bounded_below_counters_and_lose_no_score() -> None:
    metrics = Metrics()
    scored = MAX_HISTOGRAMS + 50
    for number in range(scored):
        made = judged(skill=f"skill-{number % 150}")
        metrics.verdict(replace(made, service=f"service-{number // 150}"))
    counts = [sample for sample in _samples(metrics) if sample.name == "spanjudge_score_count"]
    assert len(counts) == MAX_HISTOGRAMS + 1
    assert sum(sample.value for sample in counts) == scored
    assert _value(metrics, "label_overflow_total", label="series") == 50
    assert sum(1 for sample in _samples(metrics) if sample.name == "spanjudge_verdicts_total") == scored


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


def _samples(metrics: Metrics) -> Iterator[Sample]:
    """Of ours, also those without an event so far."""
    for family in metrics.registry.collect():
        if family.name.startswith("spanjudge_"):
            yield from family.samples


def test_every_sample_belongs_to_a_documented_metric_and_has_its_labels() -> None:
    metrics = _used()
    endings = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
    documented = {
        f"{line.name}{ending}": (set(line.labels) | ({"le"} if ending == "_bucket" else set()))
        for line in metrics.documented
        for ending in endings[line.kind]
    }
    for sample in _samples(metrics):
        assert set(sample.labels) == documented[sample.name], sample.name


def test_every_label_of_every_metric_says_what_values_it_has_and_has_no_others() -> None:
    for metrics in (Metrics("1.2.3"), _used()):
        for line in metrics.documented:
            for label in line.labels:
                known = values_of(line.name, label).known
                seen = {sample.labels[label] for sample in _samples(metrics) if _is_of(sample, line)}
                assert not known or seen <= set(known), (line.name, label)


def _is_of(sample: Sample, line: Documented) -> bool:
    return sample.name in {line.name, *(f"{line.name}_{ending}" for ending in ("bucket", "sum", "count"))}


def test_values_are_told_of_no_metric_or_label_that_there_is_not() -> None:
    declared = {(line.name.removeprefix("spanjudge_"), label) for line in Metrics().documented for label in line.labels}
    assert OF_METRICS.keys() <= declared
    assert LABELS.keys() <= {label for _, label in declared}


def test_the_reasons_that_are_told_are_those_that_the_code_gives() -> None:
    for choices, metric, label in (
        (DropReason, "dropped_total", "reason"),
        (RequestOutcome, "request_duration_seconds", "outcome"),
        (RestartReason, "evaluation_restarts_total", "reason"),
        (Refusal, "access_refused_total", "reason"),
        (Denial, "requests_denied_total", "reason"),
        (Cause, "kafka_dead_letters_total", "cause"),
        (FailedGate, "gate_failures_total", "gate"),
        (State, "kafka_partitions", "state"),
        (Takeover, "kafka_takeovers_total", "how"),
    ):
        assert set(values_of(metric, label).known) == set(get_args(choices))


def test_a_million_names_leave_metrics_small_and_are_counted_all_the_same() -> None:
    """Services, skills, labels, versions and scopes that are all new, by the way that evaluations are counted."""
    metrics, calls, at_once = Metrics(), 60_000, 1_000
    sizes = []
    for start in range(0, calls, at_once):
        numbers = range(start, min(start + at_once, calls))
        count(tally(_of_new_names(number) for number in numbers), metrics)
        sizes.append(sum(1 for _ in _samples(metrics)) if start % 20_000 == 0 else 0)
    assert sizes[20] == sizes[40], "nothing grows any more"
    told = list(_samples(metrics))
    assert len(told) < 20_000
    for line in metrics.documented:
        for label in line.labels:
            seen = {sample.labels[label] for sample in told if _is_of(sample, line)}
            assert len(seen) <= MAX_VALUES + 1, (line.name, label)
    assert sum(sample.value for sample in told if sample.name == "spanjudge_verdicts_total") == calls
    assert sum(sample.value for sample in told if sample.name == "spanjudge_score_count") == calls
    assert sum(sample.value for sample in told if sample.name == "spanjudge_unrecognised_total") == calls
    for label in ("service", "skill", "label", "agent_version", "scope"):
        assert (_value(metrics, "label_overflow_total", label=label) or 0) >= calls - MAX_VALUES, label
    held = sum(len(seen) for seen in metrics._labels._seen.values())
    held += len(metrics._verdict_series._seen) + len(metrics._skill_series._seen)
    assert held < 30_000, "what is remembered is bounded, too"


def _of_new_names(number: int) -> Counts:
    service, skill, version = f"service-{number}", f"skill-{number}", f"version-{number}"
    facts = VerdictFacts(service, "evaluator", skill, f"label-{number}", version, 1.0, number % 11 / 10)
    asked = AskedFor(service, skill, "loaded", version)
    return Counts(scopes=(f"scope-{number}",), skills=(asked,), verdicts=((facts, Example(None, f"s-{number}")),))


_NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([5e-324, 1e308, -0.0])


@settings(max_examples=60)
@given(st.lists(_NUMBERS, min_size=1, max_size=4), st.integers(0, 2**80))
def test_no_number_makes_a_sample_that_is_no_number(numbers: list[float], whole: int) -> None:
    metrics = Metrics()
    facts = facts_of(judged())
    for number in numbers:
        metrics.verdicts(replace(facts, score=number, inclusion_probability=number), 3, Example(None, "s"))
        metrics.verdict(replace(judged(), inclusion_probability=number, judged_ns=whole))
        metrics.request("grpc", "traces", "ok", number)
        for timed in (
            metrics.journal_committed,
            metrics.journal_oldest,
            metrics.clock_stepped,
            metrics.verdict_lag,
            metrics.judge.oldest_question,
        ):
            timed(number)
        metrics.evaluation_waiting(1, number)
        metrics.judge_asked("m", "answered", number)
        metrics.export_lag("otlp", [number])
        metrics.judge.budget([(Limit("hour", "tokens", 1), number)])
        metrics.rates.show([PassRate(("a", "b", "c"), Tally(1, 1, 1), 3, Estimate(number, number, number, 9))])
    for sample in _samples(metrics):
        assert math.isfinite(sample.value), sample


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
