"""Start again with allocator settings that suit megabyte messages.

By default glibc maps and unmaps memory for every message of a few hundred KiB, and pays page faults for each: a
quarter of the ingest's CPU (docs/performance.md). It reads its settings only when a process starts.
"""

from __future__ import annotations

import os
import sys

SETTINGS = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_ARENA_MAX": "2",
}
_DONE = "SPANJUDGE_MALLOC_SET"


def restart_with_settings(arguments: list[str]) -> None:
    """Replace this process by itself with the settings, once; what the user has set stays. Elsewhere than on Linux,
    nothing happens."""
    if sys.platform != "linux" or os.environ.get(_DONE):
        return
    environment = {**SETTINGS, **os.environ, _DONE: "1"}
    # -P: else a `collector` in the current directory, a common name, would be started instead of us.
    os.execve(sys.executable, [sys.executable, "-P", "-m", "collector", *arguments], environment)  # noqa: S606
