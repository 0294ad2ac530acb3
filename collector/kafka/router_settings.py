"""The `kafka.router` section: how long traces wait for a name, and how much is done at once."""

from __future__ import annotations

from pydantic import Field

from collector.config_section import Seconds, Section

_MIB = 1024 * 1024


class KafkaRouterSettings(Section):
    """How routers bring telemetry of traces to the sessions that it belongs to."""

    unnamed_seconds: Seconds | None = Field(
        None,
        description="a trace that nothing has named for this long is a session of its own; as sessions.idle_seconds "
        "where left out, or the longest of sessions.rules",
    )
    root_seconds: Seconds = Field(
        30, description="so is a trace whose root span came without a name, when none came for this long after it"
    )
    remember_seconds: Seconds | None = Field(
        None,
        description="how long names and places of telemetry are known after the last of a trace; as "
        "sessions.idle_seconds (or the longest of sessions.rules) and sessions.late_window_seconds together where left "
        "out",
    )
    max_traces: int = Field(
        250_000, gt=0, description="remembered in each partition; above it those that began first are let go"
    )
    parked_bytes: int = Field(
        256 * _MIB, ge=0, description="of waiting telemetry kept in memory; the rest is read again from Kafka"
    )
    transaction_seconds: float = Field(0.2, ge=0, le=10, description="a partition's work is committed this often")
    transaction_bytes: int = Field(
        16 * _MIB, ge=64 * 1024, description="or when this much of it was read; twice as much is held at most"
    )
    renew_seconds: Seconds = Field(
        600,
        description="what is known of traces is written anew after this long, so that takeovers have little to read",
    )
