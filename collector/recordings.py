"""Recorded OTLP in files, as requests to send or to look into.

What is read, each also gzipped, told apart by content:
- an `Export{Trace,Logs}ServiceRequest` in protobuf (`.bin`, `.pb`);
- OTLP/JSON: one object with `resourceSpans` or `resourceLogs`, however it is laid out;
- an array of such objects;
- JSON lines: one such object a line, as the Collector's file exporter writes them;
- the file exporter's `format: proto`: each request behind its length, 4 bytes, big-endian.

What cannot be read is told with file and place, and what stands beside it is read all the same.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import orjson
from google.protobuf.message import DecodeError

from collector.errors import Malformed, TooLarge
from collector.otlp.envelope import walk
from collector.otlp.otlp_json import Signal, parsed, to_protobuf
from collector.otlp.wire_pb2 import SpanHead

_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_ZSTD = b"\x28\xb5\x2f\xfd"
_PROTOBUF_ENDINGS = frozenset({".bin", ".pb", ".binpb", ".proto"})
_LINES_ENDINGS = frozenset({".jsonl", ".ndjson"})
_ENDINGS = _PROTOBUF_ENDINGS | _LINES_ENDINGS | {".json", ".otlp"}
_SIGNAL_KEYS: dict[str, Signal] = {"resourceSpans": "traces", "resourceLogs": "logs"}
_NAMED = re.compile(r"(?:^|[^a-z])(traces?|spans?|logs?|metrics?)(?:[^a-z]|$)")
_LENGTH_BYTES = 4
_PEEK = 64


@dataclass(frozen=True, slots=True)
class Recorded:
    """One export request. `where` names file and line (or the number of the request) for people."""

    signal: Signal
    payload: bytes
    items: int
    where: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What was not understood, and why. `skipped`: it is no recording of spans or records at all (metrics, or
    another file in a directory that was named as a whole), so nothing is lost."""

    where: str
    cause: str
    skipped: bool = False


Reading: TypeAlias = Recorded | Unreadable


def read_recordings(paths: Sequence[Path]) -> Iterator[Reading]:
    """Everything in the files, and in the files below the directories, in order of their names."""
    for path in paths:
        if path.is_dir():
            files = _files_below(path)
            if not files:
                yield Unreadable(str(path), f"no file in it ends like a recording: {', '.join(sorted(_ENDINGS))}")
            for file in files:
                yield from read_file(file, found_in_directory=True)
        else:
            yield from read_file(path)


def read_file(path: Path, *, found_in_directory: bool = False) -> Iterator[Reading]:
    """Everything in one file. Never raises for what the file holds, or for one that cannot be opened."""
    try:
        with path.open("rb") as file:
            yield from _read(path, _inflated(file), found_in_directory)
    except OSError as error:
        yield Unreadable(str(path), error.strerror or str(error))
    except (EOFError, zlib.error) as error:
        yield Unreadable(str(path), f"the gzip stream is damaged or cut: {error}")
    except Malformed as error:
        yield Unreadable(str(path), str(error), skipped=found_in_directory)


def _files_below(directory: Path) -> list[Path]:
    return sorted(
        path
        for path in directory.rglob("*")
        if path.is_file() and ({path.suffix, Path(path.stem).suffix if path.suffix == ".gz" else ""} & _ENDINGS)
    )


def _inflated(file: BinaryIO) -> io.BufferedReader:
    buffered = cast("io.BufferedReader", file)
    start = buffered.peek(_PEEK)
    if start.startswith(_ZSTD):
        raise Malformed("zstd is not read here: decompress it first (zstd -d)")
    if start.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=buffered))
    return buffered


def _read(path: Path, file: io.BufferedReader, found_in_directory: bool) -> Iterator[Reading]:
    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    start = file.peek(_PEEK)
    if not start:
        yield Unreadable(str(path), "the file is empty", skipped=found_in_directory)
    elif start.startswith(_UTF_16):
        yield Unreadable(str(path), "the text is UTF-16, as PowerShell's > writes it: save it as UTF-8")
    elif start[0] == 0:  # no request of less than 16 MiB has a length that begins otherwise, and no request does
        yield from _with_lengths(path, file)
    elif kind not in _PROTOBUF_ENDINGS and _looks_like_an_array(start):
        yield from _array(file.read(), str(path), found_in_directory)
    elif kind in _PROTOBUF_ENDINGS or not _looks_like_json(start):
        yield from _protobuf(file.read(), _signal_named(path.name), str(path))
    else:
        yield from _json(path, file, kind in _LINES_ENDINGS, found_in_directory)


def _looks_like_json(start: bytes) -> bool:
    text = _without_mark(start)
    # A request begins with a newline and a length, and 0x7b, "{", is a length too: look one further.
    return text.startswith(b"{") and text[1:].lstrip()[:1] in {b'"', b"}"}


def _looks_like_an_array(start: bytes) -> bool:
    text = _without_mark(start)
    # As above: after a length of 0x5b, "[", no length inside is as great as these signs are.
    return text.startswith(b"[") and text[1:].lstrip()[:1] in {b"{", b"]"}


def _without_mark(start: bytes) -> bytes:
    """Text without a byte order mark and blanks before it."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()


def _array(text: bytes, where: str, found_in_directory: bool) -> Iterator[Reading]:
    """The requests in a JSON array."""
    try:
        documents = parsed(_without_mark(text))
    except Malformed as error:
        yield Unreadable(where, str(error))
        return
    if not isinstance(documents, list) or not documents:
        yield Unreadable(where, "the array is empty", skipped=found_in_directory)
        return
    for number, document in enumerate(documents, start=1):
        yield from _document(orjson.dumps(document), f"{where} request {number}", skippable=found_in_directory)


def _with_lengths(path: Path, file: io.BufferedReader) -> Iterator[Reading]:
    number = 0
    while size := file.read(_LENGTH_BYTES):
        number += 1
        where = f"{path} request {number}"
        wanted = int.from_bytes(size, "big")
        request = file.read(wanted) if len(size) == _LENGTH_BYTES else b""
        if len(size) < _LENGTH_BYTES or len(request) < wanted:
            yield Unreadable(where, f"the file ends in it: {len(request)} of {wanted} bytes are there")
            return
        if request.lstrip().startswith(b"{"):
            yield from _document(request, where, skippable=False)
        else:
            yield from _protobuf(request, _signal_named(path.name), where)


def _json(path: Path, file: io.BufferedReader, lines: bool, found_in_directory: bool) -> Iterator[Reading]:
    first = file.readline()
    if lines or _is_json(first):
        for number, line in enumerate(_chained(first, file), start=1):
            if line.strip():
                yield from _document(line, f"{path}:{number}", skippable=found_in_directory)
        return
    whole = first + file.read()
    if _is_json(whole):
        yield from _document(whole, str(path), skippable=found_in_directory)
        return
    rest = whole.splitlines()
    if any(_is_json(line) for line in rest if line.startswith(b"{")):
        for number, line in enumerate(rest, start=1):
            if line.strip():
                yield from _document(line, f"{path}:{number}", skippable=False)
        return
    yield from _document(whole, str(path), skippable=False)


def _chained(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _is_json(text: bytes) -> bool:
    try:
        parsed(text)
    except Malformed:
        return False
    return True


def _document(text: bytes, where: str, *, skippable: bool) -> Iterator[Reading]:
    """The requests in one JSON object: one for each signal it has."""
    try:
        keys = parsed(text.removeprefix(b"\xef\xbb\xbf"))
    except Malformed as error:
        yield Unreadable(where, str(error))
        return
    signals = [signal for key, signal in _SIGNAL_KEYS.items() if isinstance(keys, dict) and key in keys]
    if not signals:
        metrics = isinstance(keys, dict) and "resourceMetrics" in keys
        cause = "metrics are not judged" if metrics else "there is neither resourceSpans nor resourceLogs in it"
        yield Unreadable(where, cause, skipped=metrics or skippable)
    for signal in signals:
        try:
            converted = to_protobuf(text.removeprefix(b"\xef\xbb\xbf"), signal)
        except (Malformed, TooLarge) as error:
            yield Unreadable(where, str(error))
            continue
        if converted.rejected:
            yield Unreadable(where, f"{converted.rejected} of its {signal} left out: {converted.cause}")
        if converted.items:
            yield Recorded(signal, converted.payload, converted.items, where)


def _protobuf(request: bytes, named: str | None, where: str) -> Iterator[Reading]:
    if named == "metrics":
        yield Unreadable(where, "metrics are not judged", skipped=True)
        return
    try:
        groups = walk(request)
    except Malformed as error:
        yield Unreadable(where, f"neither JSON nor an OTLP request: {error}")
        return
    except TooLarge as error:
        yield Unreadable(where, str(error))
        return
    items = [request[body:end] for group in groups for _, body, end in group.items]
    if not items:
        yield Unreadable(where, "there are no spans and no log records in it", skipped=True)
        return
    signal: Signal = cast("Signal", named) if named else ("traces" if _is_span(items[0]) else "logs")
    yield Recorded(signal, request, len(items), where)


def _signal_named(name: str) -> str | None:
    """What a file name such as `traces-01.bin` says it holds: `traces`, `logs`, `metrics`, or None."""
    found = _NAMED.search(name.lower())
    if found is None:
        return None
    word = found[1].rstrip("s")
    return {"trace": "traces", "span": "traces", "log": "logs", "metric": "metrics"}[word]


def _is_span(item: bytes) -> bool:
    """Spans begin with ids of 16 and 8 bytes; the same field numbers of a log record are times and numbers."""
    try:
        head = SpanHead.FromString(item)
    except DecodeError:
        return False
    return len(head.trace_id) == 16 and len(head.span_id) == 8
