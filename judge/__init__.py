"""Was it good, and what must we ask to know? A `Trajectory` in, verdicts and questions out; no I/O, no clock."""
