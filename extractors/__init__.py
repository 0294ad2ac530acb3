"""What did the agent do? Telemetry in, a `Trajectory` out; no I/O, no clock."""
