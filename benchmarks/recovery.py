"""How long does the product take to be ready again after `kill -9`? `python -m benchmarks.recovery`.

So many bytes of sessions that stay open are sent to the product as users run it; it is killed; the page cache is
dropped, so that the journal must come from the disk; and it is started again. Measured are the time from its start to
the first answer of `/readyz`, and of it the time that reading the journal took, which the product tells itself.
Dropping the page cache takes root: without it the journal's own files are given up (`posix_fadvise`), which says so.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from benchmarks import machine, open_product
from benchmarks.generate import Shape, write_pool
from benchmarks.memory import load
from benchmarks.open_product import OpenProduct
from benchmarks.processes import ServerFailed
from benchmarks.sessions import Profile

_POOL_SPANS = 12_000
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_TOLD = re.compile(r"recovered\b.*?\bseconds=([0-9.]+).*?\bsessions=(\d+)")


@dataclass(frozen=True, slots=True)
class Result:
    """`read_s` is what the product says reading took; `journal_bytes` are on disk."""

    journal_bytes: int
    sessions: int
    cold: str
    ready_s: float
    read_s: float


def measure(profile: Profile, size: int, directory: Path) -> Result:
    """Raises `ServerFailed` when something was not taken, or the product tells of no recovery."""
    pool = directory / "pool"
    write_pool(pool, Shape(profile, spans=_POOL_SPANS))
    passes = -(-size // pool.stat().st_size)
    product = open_product.prepare(directory)
    with product.server as server:
        load(pool, product.address, passes * _POOL_SPANS)
        server.signal(signal.SIGKILL)
    files = [file for file in product.data_dir.rglob("*") if file.is_file()]
    cold = _forget(files)
    began = time.perf_counter()
    with product.server:
        ready_s = time.perf_counter() - began
    sessions, read_s = _told(product)
    return Result(sum(file.stat().st_blocks * 512 for file in files), sessions, cold, ready_s, read_s)


def _forget(files: list[Path]) -> str:
    """Have the kernel let go of what it keeps of the files; how."""
    os.sync()
    try:
        _DROP_CACHES.write_text("3")
    except OSError:
        for file in files:
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return "the journal's files were given up, the rest of the page cache was not: not permitted"
    return "the page cache was dropped"


def _told(product: OpenProduct) -> tuple[int, float]:
    found = _TOLD.search(product.log())
    if found is None:
        raise ServerFailed(product.server.failure("tells of no recovery"))
    return int(found[2]), float(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recovery", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--profile", choices=get_args(Profile), default="rich")
    parser.add_argument("--bytes", type=int, default=1_000_000_000, help="telemetry to send before the kill")
    parser.add_argument("--data-dir", type=Path, help="where the journal goes while it runs")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spanjudge-recovery-", dir=chosen.data_dir) as name:
        for key, value in machine.describe(Path(name)).items():
            print(f"- {key}: {value}")
        try:
            result = measure(chosen.profile, chosen.bytes, Path(name))
        except ServerFailed as failed:
            sys.exit(f"benchmarks.recovery: {failed}")
    print(f"{chosen.profile}: {result.sessions:,} open sessions, {result.journal_bytes / 1e9:.2f} GB of journal")
    print(f"  {result.cold}")
    print(f"  start to ready: {result.ready_s:.2f} s, of it reading the journal {result.read_s:.2f} s")


if __name__ == "__main__":
    main()
