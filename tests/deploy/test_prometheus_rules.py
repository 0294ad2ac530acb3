"""Every alert fires when it must and at no other time, and whoever it wakes finds a runbook that is true."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from collector.kafka.outcomes import UNPARKED
from collector.metrics import Metrics, RequestOutcome
from collector.page.questions import FILTERS
from judge.evaluators.skill_selection import SCALE
from judge.gate_failures import FailedGate
from judge.verdict import NO_FAULT
from tests.deploy.alert_cases import CASES, ROOT, RULE_FILES, RULES, alerts, expectations, filled_in, groups, rule_of
from tests.deploy.alerts_page import DOCS, PAGES, with_table
from tests.integrations import require
from tests.test_docs import COMMANDS, named_in, options_of

RUNBOOKS = DOCS / "runbooks"
INDEX = RUNBOOKS / "README.md"
PROSE = [DOCS / "alerts.md", *sorted(RUNBOOKS.glob("*.md"))]
NAMES = sorted({rule["alert"] for rule in alerts()})
ALERTMANAGER = RULES / "alertmanager.yaml"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_METRIC = re.compile(r"(?:[a-z_]+:)?spanjudge_[a-z0-9_]+(?::[a-z0-9_]+)?")
_OF_A_HISTOGRAM = re.compile(r"_(bucket|count|sum)$")


def ran(program: str, package: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    found = shutil.which(program)
    require(program, found is not None, f"apt-get install {package}")
    return subprocess.run([found or program, *arguments], check=False, capture_output=True, text=True, timeout=300)


def succeeds(program: str, package: str, *arguments: str) -> str:
    finished = ran(program, package, *arguments)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def promtool(*arguments: str) -> str:
    return succeeds("promtool", "prometheus", *arguments)


def amtool(*arguments: str) -> str:
    return succeeds("amtool", "prometheus-alertmanager", *arguments)


def recorded() -> list[str]:
    return [rule["record"] for group in groups(RULES / "recording-rules.yaml") for rule in group["rules"]]


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """(page, line) of the code blocks of this language in what people read about alerts."""
    for page in PROSE:
        for found, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
            if found == language:
                yield from ((page.name, line) for line in text.splitlines() if line.strip())


def commands() -> Iterator[tuple[str, str]]:
    """(page, command) in blocks and within sentences."""
    yield from ((page, line) for page, line in blocks("sh") if line.startswith("spanjudge "))
    for page in PROSE:
        for inline in re.findall(r"`(spanjudge\s[^`]+)`", page.read_text(encoding="utf-8")):
            yield page.name, " ".join(inline.split())


# ---- the rules


@pytest.mark.integration("promtool")
def test_the_files_are_what_prometheus_takes() -> None:
    promtool("check", "rules", *map(str, RULE_FILES))
    promtool("check", "config", str(RULES / "prometheus.yaml"))


@pytest.mark.integration("promtool")
@pytest.mark.parametrize("cases", CASES, ids=lambda file: file.stem)
def test_alerts_fire_when_they_must_and_at_no_other_time(cases: Path, tmp_path: Path) -> None:
    file = tmp_path / cases.name
    file.write_text(yaml.safe_dump(filled_in(cases), width=10_000), encoding="utf-8")
    promtool("test", "rules", str(file))


@pytest.mark.integration("promtool")
def test_a_wrong_expectation_is_seen(tmp_path: Path) -> None:
    """The cases can fail: what a case leaves out is filled in from the rule, and this shows that it is not all."""
    (small,) = [file for file in CASES if file.stem == "telemetry"]
    document = filled_in(small)
    document["tests"] = document["tests"][:1]
    (expected,) = document["tests"][0]["alert_rule_test"][1]["exp_alerts"]
    expected["exp_annotations"]["summary"] = "something else"
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    finished = ran("promtool", "prometheus", "test", "rules", str(file))
    assert finished.returncode != 0
    assert "something else" in finished.stdout + finished.stderr


def test_every_rule_is_seen_to_fire_and_every_alert_to_be_silent() -> None:
    moments = [moment for file in CASES for moment in expectations(file)]
    fired = [rule_of(name, one["exp_labels"]) for name, expected in moments for one in expected]
    assert [(rule["alert"], rule["labels"]) for rule in alerts() if rule not in fired] == []
    silent = {name for name, expected in moments if not expected}
    assert sorted(set(NAMES) - silent) == []


def test_every_alert_is_seen_to_be_silent_after_a_restart() -> None:
    silent = {
        moment["alertname"]
        for file in CASES
        for case in yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]
        if "restart" in case["name"]
        for moment in case["alert_rule_test"]
        if not moment["exp_alerts"]
    }
    assert sorted(set(NAMES) - silent) == []


def test_recording_rules_are_named_by_level_metric_and_operations() -> None:
    names = recorded()
    assert [name for name in names if not re.fullmatch(r"[a-z_]+:spanjudge_[a-z0-9_]+:[a-z0-9_]+", name)] == []
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_says_how_urgent_it_is_what_was_seen_and_where_to_read_on(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"page", "ticket"}
    annotations = rule["annotations"]
    assert set(annotations) - {"page_url"} == {"summary", "description", "runbook_url"}
    assert annotations["runbook_url"] == f"https://runbooks.example.com/spanjudge/{rule['alert']}.md"
    # What telemetry names may have any character, and stands in an address.
    fields = re.findall(r"{{(.*?)}}", annotations.get("page_url", ""))
    assert all(field.strip().endswith("| urlquery") for field in fields)
    assert "{{" not in annotations["description"], "the cases take it as it is"


def test_links_to_the_page_use_filters_that_it_has() -> None:
    used = {name for rule in alerts() for name in re.findall(r"[?&](\w+)=", rule["annotations"].get("page_url", ""))}
    assert used
    assert used <= set(FILTERS)


# ---- Alertmanager


@pytest.mark.integration("amtool")
def test_the_example_is_what_alertmanager_takes() -> None:
    amtool("check-config", str(ALERTMANAGER))


@pytest.mark.integration("amtool")
@pytest.mark.parametrize("severity", ["page", "ticket"])
def test_an_alert_goes_where_its_severity_says(severity: str) -> None:
    labels = ("alertname=SpanJudgeSkillSelectionBurn", f"severity={severity}")
    told = amtool("config", "routes", "test", f"--config.file={ALERTMANAGER}", *labels)
    assert told.strip() == f"{severity}s"


def test_alerts_named_in_the_example_exist() -> None:
    named = set(re.findall(r"SpanJudge\w+", ALERTMANAGER.read_text(encoding="utf-8")))
    assert named
    assert named <= set(NAMES)


# ---- what people read


def test_there_is_a_runbook_for_each_alert_and_no_other() -> None:
    assert sorted(file.stem for file in RUNBOOKS.glob("*.md") if file != INDEX) == NAMES


@pytest.mark.parametrize("alert", NAMES)
def test_a_runbook_says_what_it_means_what_to_look_at_and_what_to_do(alert: str) -> None:
    text = (RUNBOOKS / f"{alert}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {alert}\n")
    parts = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert parts == ["What it means", "What to look at", "What to do", "When it is no problem"]
    assert "```promql" in text


@pytest.mark.parametrize(("page", "way"), PAGES.items(), ids=lambda value: getattr(value, "name", None))
def test_the_tables_of_alerts_are_current(page: Path, way: str) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == with_table(text, way), "write them anew: python -m tests.deploy.alerts_page"


@pytest.mark.integration("promtool")
def test_every_query_that_people_are_shown_parses(tmp_path: Path) -> None:
    queries = list(blocks("promql"))
    assert queries
    rules = [
        {"record": f"shown:query_{at}:{page[:-3].lower()}", "expr": query} for at, (page, query) in enumerate(queries)
    ]
    file = tmp_path / "shown.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "shown", "rules": rules}]}, width=10_000), encoding="utf-8")
    promtool("check", "rules", str(file))


@pytest.mark.parametrize(("page", "line"), list(commands()))
def test_a_command_that_people_are_shown_exists_with_its_options(page: str, line: str) -> None:
    command, rest = named_in(shlex.split(line, comments=True)[1:])
    assert command in COMMANDS, page
    switched_off = {option for parameter in COMMANDS[command].params for option in parameter.secondary_opts}
    assert {option for option in rest if option.startswith("-")} <= options_of(command) | switched_off


@pytest.mark.parametrize("file", [*RULE_FILES, *PROSE], ids=lambda file: file.name)
def test_every_metric_that_is_named_exists(file: Path) -> None:
    documented = set(
        re.findall(r"^\| `(spanjudge_\w+)`", (DOCS / "metrics.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    objectives = {"skill:spanjudge_skill_selection_objective:ratio"}  # the reader's own, if any
    known = documented | set(recorded()) | objectives
    text = re.sub(r"^```text\n.*?^```", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = set(_METRIC.findall(text))
    assert [name for name in sorted(named) if name not in known and _OF_A_HISTOGRAM.sub("", name) not in known] == []


def test_selectors_use_labels_that_the_metric_has() -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    labels = {
        name: set(re.findall(r"`(\w+)`", cell))
        for name, cell in re.findall(r"^\| `(spanjudge_\w+)` \| \w+ \| ([^|]*) \|", page, re.MULTILINE)
    }
    wrong = []
    for file in (*RULE_FILES, *PROSE):
        for metric, selector in re.findall(r"(?<!:)(spanjudge_\w+){([^}]*)}", file.read_text(encoding="utf-8")):
            used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))
            wrong += [(file.name, metric, used)] if not used <= labels[_OF_A_HISTOGRAM.sub("", metric)] else []
    assert wrong == []


def test_runbooks_ask_for_the_growth_of_what_is_there_before_it_grows() -> None:
    """`increase` does not see the event with which a series comes. Where one event matters, the counter is shown."""
    metrics = Metrics()
    metrics.tls.watched("admin.tls")
    metrics.tls.authenticating()
    there = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    many = {
        f"spanjudge_{name}"
        for name in (
            "export_retries_total",
            "export_sent_total",
            "judge_cost_dollars_total",
            "judge_requests_total",
            "judge_tokens_total",
            "kafka_send_failures_total",
            "not_judged_total",
            "request_duration_seconds_count",
            "verdicts_total",
        )
    }  # where something is wrong, or right, they grow again and again
    grown = {(page, name) for page, line in blocks("promql") for name in re.findall(r"(?:increase|rate)\((\w+)", line)}
    assert grown
    assert [(page, name) for page, name in sorted(grown) if name not in there | many] == []


def test_values_of_labels_in_the_rules_are_those_that_the_product_writes() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in RULE_FILES)
    written = {
        'label=~"Yes|No"': set(SCALE.values) == {"Yes", "No"},
        'outcome="refused"': "refused" in get_args(RequestOutcome),
        'outcome=~"malformed|too_large"': {"malformed", "too_large"} <= set(get_args(RequestOutcome)),
        'outcome="lost"': "lost" in UNPARKED,
        'gate="forbidden_events"': "forbidden_events" in get_args(FailedGate),
        'gate="high_risk"': "high_risk" in get_args(FailedGate),
    }
    assert all(selector in text for selector in written)
    assert all(written.values())


def test_the_made_up_addresses_are_those_that_the_head_of_the_file_says_to_replace() -> None:
    text = (RULES / "alert-rules.yaml").read_text(encoding="utf-8")
    head, _, rules = text.partition("groups:")
    assert set(re.findall(r"https://[\w.]+", rules)) == {
        "https://spanjudge.example.com",
        "https://runbooks.example.com",
    }
    assert all(address in head for address in set(re.findall(r"https://[\w.]+", rules)))
    assert (ROOT / "docs" / "runbooks").is_dir()


def test_the_rules_call_a_fault_what_verdict_spans_call_an_error() -> None:
    text = (RULES / "recording-rules.yaml").read_text(encoding="utf-8")
    (reasons,) = re.findall(r'reason!~"([a-z_|]+)"', text)
    assert set(reasons.split("|")) == NO_FAULT
