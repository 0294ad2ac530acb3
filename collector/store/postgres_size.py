"""How much of a PostgreSQL database the verdict store takes, and how much of that holds anything.

Tables do not shrink when rows are deleted: what is in use is estimated from some of their pages, read as a query does,
so that what is deleted no longer counts, whether the server has cleaned up behind it or not.
"""

from __future__ import annotations

from sqlalchemy import Connection, Table, func, literal, select, tablesample, text

from collector.store.baseline_tables import baseline_sessions
from collector.store.judge_tables import answers
from collector.store.metadata import metadata
from collector.store.retention import StoreSize
from collector.store.schema import questions, sessions, verdicts

_WITH_RECORDS = (sessions, verdicts, questions, answers, baseline_sessions)
"""Where nearly everything is; of the others all counts as used."""
_PAGES = 1_000  # of each table that are read: tens of milliseconds
_ROW_BYTES = 36  # its header, its place in the page, and what it is rounded up by
_PAGE = 8192
_SEED = 1  # the same pages every time, or a look soon after would find another size by chance


def size(connection: Connection) -> StoreSize:
    on_disk = used = 0
    for table in metadata.sorted_tables:
        rows, kept_apart, indexes = _taken(connection, table.name)
        whole = rows + kept_apart + indexes
        on_disk += whole
        used += round(whole * _share(connection, table, rows, rows + kept_apart)) if table in _WITH_RECORDS else whole
    return StoreSize(on_disk, used)


def _taken(connection: Connection, table: str) -> tuple[int, int, int]:
    """Bytes of rows, of long values kept apart from them, and of indexes."""
    statement = text(
        "SELECT pg_relation_size(t), pg_table_size(t) - pg_relation_size(t), pg_indexes_size(t) "
        "FROM CAST(:name AS regclass) AS t"
    )
    rows, apart, indexes = connection.execute(statement, {"name": table}).one()
    return rows, apart, indexes


def _share(connection: Connection, table: Table, row_bytes: int, all_bytes: int) -> float:
    """Of the table that holds rows, 0 to 1."""
    if not row_bytes:
        return 1.0
    percent = min(100.0, 100.0 * _PAGES * _PAGE / row_bytes)
    some = tablesample(table, func.system(percent), seed=literal(_SEED))
    widths = [func.coalesce(func.pg_column_size(column), 0) for column in some.c]
    held = connection.scalar(select(func.sum(sum(widths, start=literal(_ROW_BYTES)))).select_from(some))
    return min(1.0, float(held or 0) * 100.0 / percent / all_bytes)
