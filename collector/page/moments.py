"""Times in words (pure)."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(at_ns: int) -> str:
    """`2026-01-31 12:00:05`."""
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def machine(at_ns: int) -> str:
    """For the `datetime` attribute: RFC 3339."""
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ago(at_ns: int, now_ns: int) -> str:
    """`just now`, `12 min ago`, `3 h ago`, `2 d ago`."""
    seconds = max(0, now_ns - at_ns) // 10**9
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size or (unit == "min" and seconds >= size):
            return f"{seconds // size} {unit} ago"
    return "just now"


def duration(nanoseconds: int) -> str:
    """`850 ms`, `3.2 s`, `4 min 05 s`, `2 h 10 min`."""
    if nanoseconds < 999_500_000:
        return f"{max(0, nanoseconds) / 1e6:.0f} ms"
    seconds = nanoseconds / 1e9
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
