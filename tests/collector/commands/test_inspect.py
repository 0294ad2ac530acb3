"""`spanjudge inspect`."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from collector.cli import app
from tests.collector.sessions.telemetry import log_request, record, span, trace_request
from tests.extractors.fixtures import FIXTURES


def inspect(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def test_a_refusal_is_shown_with_its_text_and_the_span_it_came_from() -> None:
    shown = inspect(FIXTURES / "strands" / "refused-unknown-name")
    assert shown.exit_code == 0, shown.output
    assert "refused renewals  ← span 6e688ee32aa238fa (execute_tool skills)" in shown.stdout
    assert "refusal     Skill 'renewals' not found" in shown.stdout


def test_what_the_telemetry_lacks_is_called_not_recorded() -> None:
    shown = inspect(FIXTURES / "claude_code" / "no-content")
    assert "skills offered      not recorded" in shown.stdout
    assert "arguments   not recorded" in shown.stdout


def test_no_skill_loaded_and_no_way_to_tell_differ() -> None:
    shown = inspect(FIXTURES / "codex" / "traces-only")
    assert "skill invocations   none seen; what tools read is not recorded" in shown.stdout
    assert "for skill loads, tool arguments" in shown.stdout


def test_traces_and_logs_of_one_session_are_put_together_across_files(tmp_path: Path) -> None:
    (tmp_path / "logs-01.bin").write_bytes(log_request([record(1, "user_prompt")]))
    (tmp_path / "traces-01.bin").write_bytes(trace_request([span(1, 2, parent=1)]))
    (tmp_path / "traces-02.bin").write_bytes(trace_request([span(1, 1, session__id="s-7")]))
    shown = inspect(tmp_path, "--json")
    documents = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [(one["session_id"], one["spans"], one["records"]) for one in documents] == [("s-7", 2, 1)]


def test_an_unrecognised_session_says_what_sent_it(tmp_path: Path) -> None:
    file = tmp_path / "traces.bin"
    file.write_bytes(trace_request([span(1, 1, session__id="s", colour="red")], scope="some.web.server"))
    shown = inspect(file)
    assert "Nothing in this session was understood" in shown.stdout
    assert "scope some.web.server  1 span, 0 records, in 1 session" in shown.stdout
    for told_of_nothing in ("missing", "none", "not recorded"):
        assert told_of_nothing not in shown.stdout


def test_unrecognised_telemetry_is_put_together_by_scope_without_its_values(tmp_path: Path) -> None:
    web = [span(1, 1, session__id="s", colour="red"), span(1, 2, parent=1), span(2, 3, session__id="t", colour="blue")]
    (tmp_path / "traces-1.bin").write_bytes(trace_request(web, scope="some.web.server"))
    (tmp_path / "logs-1.bin").write_bytes(log_request([record(1, "door.opened")], scope="some.door"))
    agent = span(3, 4, session__id="u", gen_ai__operation__name="chat")
    (tmp_path / "traces-2.bin").write_bytes(trace_request([agent], scope="some.agent"))
    shown = inspect(tmp_path, "--unrecognised")
    assert shown.exit_code == 0
    assert "2 sessions in which nothing was understood" in shown.stdout
    assert "scope some.web.server  3 spans, 0 records, in 2 sessions" in shown.stdout
    assert "attributes  colour (2), session.id (2)" in shown.stdout
    assert "scope some.door  0 spans, 1 record, in 1 session" in shown.stdout
    assert "records     door.opened (1)" in shown.stdout
    assert "some.agent" not in shown.stdout
    assert "red" not in shown.stdout
    assert "docs/adding-a-harness.md" in shown.stdout


def test_that_everything_was_recognised_is_said() -> None:
    shown = inspect(FIXTURES / "strands" / "two-turns", "--unrecognised")
    assert (shown.exit_code, shown.stdout.strip()) == (0, "Every session was recognised.")


def test_what_is_missing_is_named_with_the_setting_that_records_it() -> None:
    shown = inspect(FIXTURES / "claude_code" / "no-content")
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert any(line.startswith("missing prompts, skills offered") and "docs/harnesses.md" in line for line in lines)
    assert "for prompts: OTEL_LOG_USER_PROMPTS=1" in lines
    assert any(line.startswith("for skills offered") and "OTEL_LOG_RAW_API_BODIES=1" in line for line in lines)


def test_what_no_setting_records_is_said_to_be_so() -> None:
    shown = inspect(FIXTURES / "codex" / "skill-then-tool")
    assert "no setting records skills offered, system prompt, tool definitions" in shown.stdout
    assert "log_user_prompt" not in shown.stdout  # nothing is said of what is there


def test_what_is_missing_is_in_the_json_too() -> None:
    (line,) = inspect(FIXTURES / "codex" / "skill-then-tool", "--json").stdout.splitlines()
    assert "skills offered" in json.loads(line)["missing"]


def test_a_control_sequence_in_a_session_id_does_not_reach_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "traces.bin"
    file.write_bytes(trace_request([span(1, 1, session__id="\x1b[2J")]))
    shown = inspect(file)
    assert "\x1b" not in shown.output
    assert "\\x1b[2J" in shown.stdout


def test_only_the_session_asked_for_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "traces.bin"
    file.write_bytes(trace_request([span(1, 1, session__id="a"), span(2, 2, session__id="b")]))
    assert "session b" in inspect(file, "--session", "b").stdout
    assert "session a" not in inspect(file, "--session", "b").stdout


def test_a_session_that_is_not_there_is_an_error_that_names_those_that_are(tmp_path: Path) -> None:
    file = tmp_path / "traces.bin"
    file.write_bytes(trace_request([span(1, 1, session__id="a")]))
    shown = inspect(file, "--session", "z")
    assert shown.exit_code == 1
    assert "there are: a" in shown.stderr


def test_a_damaged_file_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"resourceSpans": [', encoding="utf-8")
    (tmp_path / "traces-b.bin").write_bytes(trace_request([span(1, 1, session__id="a")]))
    shown = inspect(tmp_path)
    assert shown.exit_code == 1
    assert "a.json" in shown.stderr
    assert "session a" in shown.stdout


def test_either_files_or_a_stored_session_must_be_given() -> None:
    assert inspect().exit_code == 1
    assert "--stored" in inspect().stderr
