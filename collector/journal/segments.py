"""The journal's files: LMDB environments, one a segment, written only at the end and dropped whole.

LMDB is excellent when keys only grow and poor when rows are deleted one by one, so nothing is deleted: a segment
goes when no open session has a row in it or before it. A commit is on disk when it returns (LMDB's `sync`), unless the
rows are kept elsewhere too, and need to outlast neither the machine nor the process.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
import threading
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import lmdb

from collector.errors import StoreUnavailable
from collector.journal.rows import FIRST_ROW, NO_ROW, Row, RowKey, decode_key, decode_keys, key_of

DATA, LOCK = "data.mdb", "lock.mdb"
_KEYS_A_TURN = 4096
_SLACK = 512 * 1024 * 1024  # room in the map above a segment's size for the commit that crosses it
MOST_READERS = 510  # transactions at once, of all processes
_LOCK_BYTES = 32_768  # what LMDB makes of so many

UNREADABLE = (lmdb.CorruptedError, lmdb.PageNotFoundError, struct.error, ValueError)
"""What reading damaged pages, or rows of a later version, ends in."""


class MissingRow(Exception):
    """A row that should be in the journal is not, or cannot be read any more; the argument is its number."""


class ChainTooLarge(Exception):
    """A chain has more bytes than were wanted, and was not read; `keys` are all of it, newest first."""

    def __init__(self, keys: Sequence[RowKey]) -> None:
        super().__init__(f"{len(keys)} rows of {sum(key.size for key in keys)} bytes")
        self.keys = keys


@dataclass(slots=True)
class Segment:
    """`first_row` is the number of the first row that may stand in it."""

    path: Path
    environment: lmdb.Environment
    first_row: int
    opened_ms: int
    place: tuple[int, int]
    """device and inode of the file"""
    descriptor: int
    """of the file too: it tells whether it was deleted"""
    used: int = 0

    def close(self) -> None:
        self.environment.close()
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class Extent:
    """One file: its rows begin at `first_row`; `size` is about the bytes in it."""

    first_row: int
    size: int


def map_size(segment_bytes: int) -> int:
    """Bytes of address space for one segment: room, too, for the commit that crosses its size."""
    return segment_bytes + max(_SLACK, segment_bytes)


def require_whole(path: Path, environment: lmdb.Environment) -> None:
    """Raises OSError for a file that was cut short: pages behind its end are mapped all the same, and reading one ends
    the process by SIGBUS."""
    wanted = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    found = (path / DATA).stat().st_size
    if environment.stat()["entries"] and found < wanted:
        raise OSError(f"{path} was cut short: {found} bytes of {wanted}")


def chain_in(segments: Sequence[Segment], last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]:
    """The row with this number and all of the same owner before it, oldest first. `segments` are in order.

    Raises `ChainTooLarge` before any value is read, `MissingRow`, and what LMDB and broken rows raise.
    """
    if most_bytes is not None:
        keys = [key for key, _ in _chained(segments, last_row, values=False)]
        if sum(key.size for key in keys) > most_bytes:
            raise ChainTooLarge(keys)
    return list(_chained(segments, last_row, values=True))[::-1]


def _chained(segments: Sequence[Segment], last_row: int, *, values: bool) -> Iterator[tuple[RowKey, bytes]]:
    """Newest first, b"" for values that are not wanted."""
    row = last_row
    for segment in reversed(segments):
        if row < segment.first_row:
            continue
        with segment.environment.begin() as transaction:
            cursor = transaction.cursor()
            while row >= segment.first_row and row != NO_ROW:
                if not cursor.set_range(key_of(row)):
                    raise MissingRow(row)
                key = decode_key(cursor.key())
                if key.row != row:
                    raise MissingRow(row)
                yield key, cursor.value() if values else b""
                row = key.before
        if row == NO_ROW:
            break
    else:
        if row != NO_ROW:
            raise MissingRow(row)


class _Readers:
    """Who reads just now. A file that is closed under a reader can take the whole process down: LMDB unmaps it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reading = 0
        self._closing = False

    @contextmanager
    def one(self) -> Iterator[None]:
        """Read; waits while files are being closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closing)
            self._reading += 1
        try:
            yield
        finally:
            with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    @contextmanager
    def none(self) -> Iterator[None]:
        """Close files; waits for those who read, and lets nobody begin. For one thread at a time."""
        with self._changed:
            self._closing = True
            self._changed.wait_for(lambda: self._reading == 0)
        try:
            yield
        finally:
            with self._changed:
                self._closing = False
                self._changed.notify_all()


def _is_empty(file: Path) -> bool:
    try:
        return file.stat().st_size == 0
    except FileNotFoundError:
        return True


def _remove_beginnings(segment: Path) -> None:
    """Where files cannot be opened, `rmtree` cannot remove them either."""
    with suppress(OSError):
        for name in (DATA, LOCK):
            (segment / name).unlink(missing_ok=True)
        segment.rmdir()


def _reserve_lock(segment: Path) -> None:
    """Before LMDB maps its file of locks, which it makes without room on the disk: where there is none, the first write
    into it ends the process by SIGBUS. Raises OSError instead."""
    segment.mkdir(exist_ok=True)
    if sys.platform == "linux":
        descriptor = os.open(segment / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            os.posix_fallocate(descriptor, 0, _LOCK_BYTES)
        finally:
            os.close(descriptor)


def place_of(segment: Path) -> tuple[int, int]:
    found = (segment / DATA).stat()
    return found.st_dev, found.st_ino


class Segments:
    """All segments of one journal directory, oldest first. Appending, dropping and reopening are for one thread at a
    time; `chain` and `size` for any."""

    def __init__(self, directory: Path, segment_bytes: int, *, durable: bool = True) -> None:
        """Not `durable`: for rows that nobody looks for after a crash of the machine. Raises `StoreUnavailable` when
        the directory, or a segment in it, cannot be opened."""
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._durable = durable
        self._readers = _Readers()
        self._segments: tuple[Segment, ...] = ()  # replaced, never changed: other threads go on with theirs
        self._closed = False
        self._deleted = False
        self.emptied: tuple[Path, ...] = ()
        """the files that had nothing in them when all were opened: LMDB, which begins a file with a page of its own,
        takes them for new ones"""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._segments = self._open_all()
        except (OSError, lmdb.Error) as error:
            raise StoreUnavailable(f"the journal in {directory} cannot be opened: {error}") from error

    def _open_all(self) -> tuple[Segment, ...]:
        """Every segment in the directory, or an error and none of them."""
        opened: list[Segment] = []
        self.emptied = ()
        try:
            for path in sorted(self._directory.iterdir()):
                if path.is_dir() and path.name.isdigit():
                    if _is_empty(path / DATA):
                        self.emptied += (path / DATA,)
                    opened.append(self._open(path, int(path.name), opened_ms=0))
        except (OSError, lmdb.Error):
            for segment in opened:
                segment.close()
            raise
        return tuple(opened)

    def _open(self, path: Path, first_row: int, opened_ms: int) -> Segment:
        size = map_size(self._segment_bytes)
        _reserve_lock(path)
        try:
            environment = lmdb.open(
                str(path), map_size=size, max_readers=MOST_READERS, metasync=self._durable, sync=self._durable
            )
        except (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.CorruptedError) as error:
            raise OSError(f"{error}; {self._remedy}") from error
        try:
            require_whole(path, environment)
        except OSError as error:
            environment.close()
            raise OSError(f"{error}; {self._remedy}") from error
        descriptor = os.open(path / DATA, os.O_RDONLY)
        return Segment(path, environment, first_row, opened_ms, place_of(path), descriptor)

    @property
    def _remedy(self) -> str:
        return f"move {self._directory} away to start without the sessions in it"

    def start(self, first_row: int, now_ms: int) -> None:
        """Begin a new segment, whose rows start at `first_row`."""
        path = self._directory / f"{first_row:020d}"
        begun_before = path.exists()
        try:
            segment = self._open(path, first_row, now_ms)
        except (OSError, lmdb.Error):
            if not begun_before:  # or it would be taken for one that lost all it had
                _remove_beginnings(path)
            raise
        if self._durable:
            self._keep_entry()
        self._segments += (segment,)

    def _keep_entry(self) -> None:
        """The directory entry must survive a power cut as the rows in it do."""
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def needs_start(self, now_ms: int, max_age_ms: int) -> bool:
        """Is there no segment yet, or is the newest full or old?"""
        if not self._segments:
            return True
        newest = self._segments[-1]
        age = now_ms - newest.opened_ms
        return newest.used >= self._segment_bytes or (newest.used > 0 and age >= max_age_ms)

    def append(self, rows: Sequence[Row]) -> None:
        """Commit rows, numbered upward, to the newest segment; there (and durable) on return, or raises and wrote none.

        Raises lmdb.MapFullError when they do not fit, lmdb.Error or OSError when the disk fails or the file is gone.
        """
        newest = self._segments[-1]
        written, join = 0, b"".join

        def entries() -> Iterator[tuple[bytes, bytes]]:
            """A value is joined when its turn has come, and gone when it is written."""
            nonlocal written
            for key, pieces in rows:
                value = join(pieces)
                written += len(value)
                yield key, value

        with newest.environment.begin(write=True) as transaction:
            _, added = transaction.cursor().putmulti(entries(), append=True)
            if added != len(rows):
                raise lmdb.KeyExistsError(f"of {len(rows)} rows only {added} came behind those before them")
        self._check_in_place(newest)
        newest.used += written + 96 * len(rows)

    def _check_in_place(self, segment: Segment) -> None:
        """A file that was deleted, or moved away, takes rows all the same, and nobody would ever find them."""
        if place_of(segment.path) != segment.place:
            raise FileNotFoundError(f"{segment.path} is another directory than the one that was opened")

    def chain(self, last_row: int, most_bytes: int | None = None) -> list[tuple[RowKey, bytes]]:
        """The row with this number and all of the same owner before it, oldest first.

        Raises `MissingRow` when one of them is in no segment, `StoreUnavailable` when the journal cannot be read,
        `ChainTooLarge` when they have more than `most_bytes`.
        """
        try:
            with self._readers.one():
                if self._closed:
                    raise StoreUnavailable(f"the journal in {self._directory} is closed")
                return chain_in(self._segments, last_row, most_bytes)
        except UNREADABLE as error:  # will not get better: not to be tried again, as the rest is
            raise MissingRow(last_row) from error
        except lmdb.Error as error:
            raise StoreUnavailable(f"the journal in {self._directory} cannot be read: {error}") from error

    def entries(self, wanted: Container[int]) -> Iterator[tuple[RowKey, bytes]]:
        """Every row's key in order, with its value where its type is wanted and b"" elsewhere (it is not read then).

        Raises `StoreUnavailable`, as `last_row`, when the journal is damaged or of a later version.
        """
        for segment in self._segments:
            with self._read_whole(segment) as transaction:
                keys = transaction.cursor().iternext(keys=True, values=False)
                # Keys are decoded many at a time: after a crash there may be millions, and everybody waits.
                while some := b"".join(islice(keys, _KEYS_A_TURN)):
                    for key in decode_keys(some):
                        yield key, bytes(transaction.get(key.encode(), b"")) if key.type in wanted else b""

    @contextmanager
    def _read_whole(self, segment: Segment) -> Iterator[lmdb.Transaction]:
        try:
            with segment.environment.begin() as transaction:
                yield transaction
        except (lmdb.Error, *UNREADABLE) as error:
            raise StoreUnavailable(
                f"the journal in {segment.path} cannot be read, it is damaged or of a later version ({error}); "
                f"{self._remedy}"
            ) from error

    def last_row(self) -> int:
        """The number of the newest row, `FIRST_ROW - 1` in an empty journal."""
        for segment in reversed(self._segments):
            with self._read_whole(segment) as transaction:
                cursor = transaction.cursor()
                if cursor.last():
                    return decode_key(bytes(cursor.key())).row
            if segment.first_row > FIRST_ROW:
                return segment.first_row - 1
        return FIRST_ROW - 1

    def extents(self) -> tuple[Extent, ...]:
        return tuple(Extent(segment.first_row, segment.used) for segment in self._segments)

    def arrived_ms(self, row: int) -> int | None:
        """The time of the first row from this number on; None when there is none. Raises `StoreUnavailable`."""
        with self._readers.one():
            for segment in self._segments:
                with self._read_whole(segment) as transaction:
                    cursor = transaction.cursor()
                    if cursor.set_range(key_of(row)):
                        return decode_key(bytes(cursor.key())).at_ms
        return None

    def adopt(self, now_ms: int) -> None:
        """After opening: let ages count from now, and take stock of what is in each segment."""
        for segment in self._segments:
            info, stat = segment.environment.info(), segment.environment.stat()
            segment.used = (info["last_pgno"] + 1) * stat["psize"] if stat["entries"] else 0
            segment.opened_ms = now_ms

    def drop_before(self, row: int) -> int:
        """Remove every segment, but the newest, that holds only rows below `row`; returns how many went.

        Raises OSError when a file cannot be removed. It is out of use even so, and comes up again at the next start.
        """
        dropped = 0
        while len(self._segments) > 1 and self._segments[1].first_row <= row:
            segment, self._segments = self._segments[0], self._segments[1:]
            with self._readers.none():
                segment.close()
            shutil.rmtree(segment.path)
            dropped += 1
        return dropped

    def size(self) -> int:
        """Bytes on disk. A file that is being removed meanwhile counts nothing."""
        total = 0
        for segment in self._segments:
            with suppress(FileNotFoundError):
                total += (segment.path / DATA).stat().st_blocks * 512
        return total

    def clear_readers(self) -> int:
        """Give back what processes that died while they read still hold; how many that were."""
        with self._readers.one():
            return sum(segment.environment.reader_check() for segment in self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def reopen(self, now_ms: int) -> None:
        """Close every file and open what is in the directory: after a failed write LMDB may refuse even to read.

        A directory whose files were deleted is begun anew, for they do not come back. One that is merely out of sight,
        moved or unmounted, is waited for: there is telemetry in it that was acknowledged.

        Raises OSError or lmdb.Error; all is closed then, and the next call tries again.
        """
        with self._readers.none():
            if not self._closed:
                self._deleted = all(os.fstat(segment.descriptor).st_nlink == 0 for segment in self._segments)
            self._close()
            if self._deleted:
                self._directory.mkdir(parents=True, exist_ok=True)
            found = self._open_all()
            if not found and not self._deleted:  # an unmounted disk leaves an empty directory in its place
                raise FileNotFoundError(f"the journal's files are gone from {self._directory}, and were not deleted")
            self._segments, self._closed = found, False
        self.adopt(now_ms)

    def close(self) -> None:
        """Waits for those who read. Callable twice."""
        with self._readers.none():
            self._close()

    def _close(self) -> None:
        for segment in self._segments:
            segment.close()
        self._segments, self._closed = (), True
