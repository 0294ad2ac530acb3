"""On what was it measured: figures without this mean nothing."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import psutil

TOUCHED_BYTES = 2 << 30
PACKAGES = ("grpcio", "protobuf", "opentelemetry-proto", "lmdb", "isal", "spanjudge")


def describe(data_dir: Path) -> dict[str, str]:
    """What a reader needs to compare figures, for people. `data_dir` is where the product keeps its journal."""
    return {
        "cpu": f"{psutil.cpu_count()} x {_cpu_model()}",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system of the journal": file_system(data_dir),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "commit": _commit(),
    }


def file_system(path: Path) -> str:
    """Its type: on tmpfs a flush costs nothing, and a durable server looks better than it is."""
    mounts = [part for part in psutil.disk_partitions(all=True) if path.resolve().is_relative_to(part.mountpoint)]
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype if mounts else "unknown"


def touch_memory(directory: Path) -> None:
    """Write a large file and remove it, so that the pages a journal will use have been used before.

    A virtual machine gets its memory page by page as it first touches it, and the kernel charges that to whoever
    writes: on a fresh machine five times what the write itself costs, on a machine that has been up for a day nothing.
    """
    room = min(psutil.virtual_memory().available // 4, psutil.disk_usage(str(directory)).free // 4, TOUCHED_BYTES)
    chunk = bytes(1 << 20)
    scratch = directory / "touched"
    with scratch.open("wb") as file:
        for _ in range(room // len(chunk)):
            file.write(chunk)
    scratch.unlink()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or "unknown"
