"""Write until every file is full and no other can be begun, then let it be. Reports on standard output.

A process that may open no more files stands in for a file system that was mounted read-only: root, as which tests may
run, is stopped by no permission.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from pathlib import Path

from collector.errors import StoreUnavailable
from collector.journal.journal import Journal, JournalSettings
from tests.collector.journal.rows import row


async def main(directory: Path) -> None:
    journal = Journal(directory / "journal", JournalSettings(segment_bytes=1, min_free_bytes=0), lambda: 0)
    journal.start()
    await journal.append([row(1)], 9)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))
    refused = await _refuses(journal)
    try:
        journal.reopen()
        still_refused = False
    except Exception:  # noqa: BLE001 - what `Ingest` goes on from, whatever it is
        still_refused = True
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    journal.reopen()
    journal.restart()
    await journal.append([row(2, 1)], 9)
    report = {"refused": refused, "still_refused": still_refused, "after_restart": journal.last_row()}
    await journal.stop()
    print(json.dumps(report))  # noqa: T201


async def _refuses(journal: Journal) -> bool:
    try:
        await journal.append([row(2, 1)], 9)
    except StoreUnavailable:
        return True
    return False


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
