"""Recorded OTLP in files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.otlp.otlp_json import to_json
from collector.recordings import Recorded, Unreadable, read_file, read_recordings
from tests.collector.sessions.telemetry import log_request, record, span, trace_request

TRACES = trace_request([span(1, 1, session__id="s"), span(1, 2)])
LOGS = log_request([record(1, "user_prompt", session__id="s")])


def as_json(payload: bytes, signal: str, indent: int | None = None) -> bytes:
    return json.dumps(to_json(payload, "traces" if signal == "traces" else "logs"), indent=indent).encode()


def read(path: Path) -> tuple[list[Recorded], list[Unreadable]]:
    found = list(read_file(path))
    return [one for one in found if isinstance(one, Recorded)], [one for one in found if isinstance(one, Unreadable)]


@pytest.mark.parametrize(("signal", "payload"), [("traces", TRACES), ("logs", LOGS)])
@pytest.mark.parametrize("form", ["protobuf", "json", "pretty json", "lines", "array", "lengths"])
@pytest.mark.parametrize("zipped", [False, True])
def test_every_form_gives_the_request_that_was_recorded(
    tmp_path: Path, signal: str, payload: bytes, form: str, zipped: bool
) -> None:
    content = {
        "protobuf": payload,
        "json": as_json(payload, signal),
        "pretty json": as_json(payload, signal, indent=2),
        "lines": as_json(payload, signal) + b"\n",
        "array": b"\xef\xbb\xbf[" + as_json(payload, signal) + b"]\n",
        "lengths": len(payload).to_bytes(4, "big") + payload,
    }[form]
    file = tmp_path / "recording"
    file.write_bytes(gzip.compress(content) if zipped else content)
    recorded, unreadable = read(file)
    assert not unreadable
    assert [(one.signal, one.payload) for one in recorded] == [(signal, payload)]


def test_the_lines_of_a_file_may_hold_both_signals(tmp_path: Path) -> None:
    file = tmp_path / "agent.jsonl"
    file.write_bytes(as_json(TRACES, "traces") + b"\n\n" + as_json(LOGS, "logs") + b"\n")
    recorded, _ = read(file)
    assert [(one.signal, one.items, one.where) for one in recorded] == [
        ("traces", 2, f"{file}:1"),
        ("logs", 1, f"{file}:3"),
    ]


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_a_bad_line_is_named_and_the_others_are_read(tmp_path: Path, bad: int) -> None:
    lines = [as_json(TRACES, "traces")] * 3
    lines[bad - 1] = b'{"resourceSpans": ['
    file = tmp_path / "agent.json"
    file.write_bytes(b"\n".join(lines))
    recorded, unreadable = read(file)
    assert len(recorded) == 2
    assert [one.where for one in unreadable] == [f"{file}:{bad}"]


def test_a_bad_span_is_told_and_its_neighbours_are_read(tmp_path: Path) -> None:
    document = to_json(TRACES, "traces")
    document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] = "short"
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    recorded, unreadable = read(file)
    assert [one.items for one in recorded] == [1]
    assert "1 of its traces left out" in unreadable[0].cause
    assert "5 hex digits" in unreadable[0].cause


def test_half_an_emoji_in_a_recording_is_no_fault(tmp_path: Path) -> None:
    cut = as_json(TRACES, "traces").replace(b"span 1", b"half \\ud83d")
    for form in (cut, b"[" + cut + b"]"):
        file = tmp_path / "recording"
        file.write_bytes(form)
        recorded, unreadable = read(file)
        assert ([one.items for one in recorded], unreadable) == ([2], [])
        assert "half \ufffd".encode() in recorded[0].payload


@pytest.mark.parametrize("content", [b"\n\0" * 100_001, b'{"resourceSpans": [' + b"{}," * 100_000 + b"{}]}"])
def test_a_request_of_too_many_parts_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "recording"
    file.write_bytes(content)
    recorded, (told,) = read(file)
    assert (recorded, "more than 100000 spans or records" in told.cause) == ([], True)


def test_a_file_cut_inside_a_request_gives_the_requests_before_it(tmp_path: Path) -> None:
    framed = len(TRACES).to_bytes(4, "big") + TRACES
    file = tmp_path / "agent.proto"
    file.write_bytes(framed + framed[:-3])
    recorded, unreadable = read(file)
    assert len(recorded) == 1
    assert unreadable[0].where == f"{file} request 2"


def test_a_damaged_gzip_stream_is_told(tmp_path: Path) -> None:
    file = tmp_path / "agent.json.gz"
    file.write_bytes(gzip.compress(as_json(TRACES, "traces"))[:-9])
    _, unreadable = read(file)
    assert "gzip" in unreadable[0].cause


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    _, unreadable = read(tmp_path / "gone.json")
    assert "No such file" in unreadable[0].cause


def test_a_directory_is_read_in_the_order_of_names_and_other_files_in_it_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "traces-01.bin").write_bytes(TRACES)
    (tmp_path / "a-logs.json").write_bytes(as_json(LOGS, "logs"))
    (tmp_path / "expected.json").write_text('{"answer": 42}', encoding="utf-8")
    (tmp_path / "metrics-01.bin").write_bytes(TRACES)
    (tmp_path / "README.md").write_text("# no recording", encoding="utf-8")
    found = list(read_recordings([tmp_path]))
    assert [one.signal for one in found if isinstance(one, Recorded)] == ["logs", "traces"]
    assert all(one.skipped for one in found if isinstance(one, Unreadable))


def test_a_named_file_that_is_no_recording_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text('{"answer": 42}', encoding="utf-8")
    _, unreadable = read(file)
    assert not unreadable[0].skipped


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"[]", "the array is empty"),
        (b'[{"a": 1}]', "neither resourceSpans nor resourceLogs"),
        (b'[{"a": 1}', "not JSON"),
        ('{"resourceSpans": []}'.encode("utf-16"), "UTF-16"),
    ],
)
def test_what_is_wrong_with_a_text_is_told(tmp_path: Path, content: bytes, cause: str) -> None:
    file = tmp_path / "agent.json"
    file.write_bytes(content)
    recorded, unreadable = read(file)
    assert not recorded
    assert cause in unreadable[0].cause


def test_a_request_that_begins_like_an_array_is_no_array(tmp_path: Path) -> None:
    payload = next(
        request for size in range(120) if (request := trace_request([span(1, 1)], scope="s" * size))[:2] == b"\n["
    )
    file = tmp_path / "recording"
    file.write_bytes(payload)
    assert [one.payload for one in read(file)[0]] == [payload]


def test_a_directory_without_recordings_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# no recording", encoding="utf-8")
    (found,) = read_recordings([tmp_path])
    assert isinstance(found, Unreadable)
    assert not found.skipped
    assert ".jsonl" in found.cause


def test_zstd_is_named(tmp_path: Path) -> None:
    file = tmp_path / "agent.zst"
    file.write_bytes(b"\x28\xb5\x2f\xfd rest")
    _, unreadable = read(file)
    assert "zstd" in unreadable[0].cause


@given(content=st.binary(max_size=300))
def test_any_bytes_give_readings_and_never_an_exception(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(content)
    assert list(read_file(file))
