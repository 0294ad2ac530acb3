"""A child process that does not outlive its parent, and leaves stopping to it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when `parent`, the id of the process that started it, ends. Ends it at once
    when that is so already. Elsewhere than on Linux the end of the socket to the parent has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def leave_signals_to_parent() -> None:
    """Ctrl-C, and the SIGTERM of a service manager, reach all processes of a group: the parent says what becomes of
    the work in hand."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
