"""OTLP attribute values to plain Python, leniently (pure).

Text that is not UTF-8 is read with U+FFFD in place of the broken bytes. A value that cannot be read, or is nested
deeper than `MAX_DEPTH`, becomes None and leaves a note; its neighbours are unharmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf.message import DecodeError

from collector.otlp import telemetry_pb2 as pb
from extractors.spans import Value

MAX_DEPTH = 100
"""Arrays and maps inside one another. Each level takes two of Python's frames; the interpreter allows a thousand."""


def text(raw: str | bytes) -> str:
    """`raw` as text. protobuf gives bytes for what is not UTF-8: that is read with U+FFFD."""
    return raw if isinstance(raw, str) else raw.decode("utf-8", "replace")


def attributes(pairs: Sequence[pb.KeyValue], notes: set[str]) -> dict[str, Value]:
    """Key-value pairs as a dict; of a key that comes twice the first counts. Adds what was lost to `notes`."""
    found: dict[str, Value] = {}
    for pair in pairs[:]:  # a list: walking protobuf's own sequence is slower
        any_value = pair.value
        key, raw = pair.key, any_value.string_value
        name = key if type(key) is str else text(key)
        # Most values are texts, most others whole numbers: they are spared the question of which kind they are, and
        # calls of `text`.
        if raw:
            found[name] = raw if type(raw) is str else text(raw)
        else:
            found[name] = any_value.int_value or value(any_value, notes)
    return found if len(found) == len(pairs) else _first_of_each(pairs, notes)


def _first_of_each(pairs: Iterable[pb.KeyValue], notes: set[str]) -> dict[str, Value]:
    """OTLP forbids a key to come twice. Where one does, the Collector goes by the first, and so does ingest, which has
    looked for the session's name already."""
    found: dict[str, Value] = {}
    for pair in pairs:
        if (name := text(pair.key)) not in found:
            found[name] = value(pair.value, notes)
    return found


def value(any_value: pb.AnyValue, notes: set[str], depth: int = 0) -> Value:
    """An `AnyValue` as str, bool, int, float, bytes, tuple, dict or None (nothing set). Adds losses to `notes`."""
    match any_value.WhichOneof("value"):
        case "string_value":
            return text(any_value.string_value)
        case "bool_value":
            return any_value.bool_value
        case "int_value":
            return any_value.int_value
        case "double_value":
            return any_value.double_value
        case "bytes_value":
            return any_value.bytes_value
        case "array_value" | "kvlist_value":
            return _nested(any_value, notes, depth)
        case _:
            return None


def _nested(any_value: pb.AnyValue, notes: set[str], depth: int) -> Value:
    if depth >= MAX_DEPTH:
        notes.add(f"a value nested deeper than {MAX_DEPTH} levels was left out")
        return None
    try:
        if any_value.HasField("array_value"):
            array = pb.ArrayValue.FromString(any_value.array_value)
            return tuple(value(item, notes, depth + 1) for item in array.values)
        pairs = pb.KeyValueList.FromString(any_value.kvlist_value)
        return {text(pair.key): value(pair.value, notes, depth + 1) for pair in pairs.values}
    except DecodeError as error:
        notes.add(f"a nested value was left out, it does not parse: {error}")
        return None
