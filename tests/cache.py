"""What tests fetch or build once and keep: in `.cache` of the checkout, or where SPANJUDGE_TEST_CACHE says."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """The directory `name` of the cache. When it is missing, `make` fills an empty one, which then takes the name, so
    that nobody sees half of it; of several runs of the tests one makes it and the others wait. What `make` raises is
    passed on, and nothing is kept."""
    cache = Path(os.environ.get("SPANJUDGE_TEST_CACHE") or Path(__file__).parents[1] / ".cache")
    cache.mkdir(parents=True, exist_ok=True)
    made = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            unfinished = cache / f"{name}.new"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(made)
    return made
