"""Write until the limit on file size stops the journal, then lift the limit and go on. Reports on standard output."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import sys
from pathlib import Path

from collector.errors import StoreUnavailable
from collector.journal.journal import Journal, JournalSettings
from tests.collector.journal.rows import row

_LIMIT = 3_000_000


async def main(directory: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing fails instead of ending the process
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LIMIT, resource.RLIM_INFINITY))
    settings = JournalSettings(segment_bytes=1024**3, min_free_bytes=0)
    journal = Journal(directory, settings, lambda: 0)
    journal.start()
    acknowledged: list[int] = []
    failed: list[int] = []
    for number in range(1, 21):
        try:
            await journal.append([row(number, content=bytes(400_000))], 400_000)
            acknowledged.append(number)
        except StoreUnavailable:
            failed.append(number)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    after = journal.last_row() + 1
    journal.restart()
    await journal.append([row(after)], 9)
    await journal.stop()
    print(json.dumps({"acknowledged": acknowledged, "failed": failed, "after_restart": after}))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
