"""The SQLite file behind the library: opening it, numbered migrations, and what happens when it can't be used.

WAL with synchronous=NORMAL: a commit survives a killed process, and costs well under a millisecond.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.errors import AppError
from app.words import say, why

log = logging.getLogger(__name__)

# Append only: the number of scripts that have run is kept in PRAGMA user_version.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE conversations (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL DEFAULT '',
        scheme TEXT NOT NULL,
        model TEXT NOT NULL DEFAULT '',
        leaf TEXT,
        cached_tokens INTEGER NOT NULL DEFAULT 0,
        cached_bytes INTEGER NOT NULL DEFAULT 0,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        deleted REAL
    );
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        conversation TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
        parent TEXT,
        role TEXT NOT NULL,
        content TEXT NOT NULL DEFAULT '',
        state TEXT NOT NULL,
        error TEXT NOT NULL DEFAULT '',
        scheme TEXT NOT NULL DEFAULT '',
        prompt_tokens INTEGER NOT NULL DEFAULT 0,
        reused_tokens INTEGER NOT NULL DEFAULT 0,
        generated_tokens INTEGER NOT NULL DEFAULT 0,
        prefill_tokens_per_s REAL NOT NULL DEFAULT 0,
        tokens_per_s REAL NOT NULL DEFAULT 0,
        created REAL NOT NULL
    );
    CREATE INDEX messages_of ON messages(conversation, seq);
    CREATE TABLE samples (
        seq INTEGER PRIMARY KEY,
        conversation TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
        tokens INTEGER NOT NULL,
        used_bytes INTEGER NOT NULL,
        scheme TEXT NOT NULL
    );
    CREATE INDEX samples_of ON samples(conversation, seq);
    CREATE TABLE switches (
        seq INTEGER PRIMARY KEY,
        conversation TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
        after_message TEXT,
        from_scheme TEXT NOT NULL,
        to_scheme TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        bytes_before INTEGER NOT NULL,
        bytes_after INTEGER NOT NULL,
        method TEXT NOT NULL,
        seconds REAL NOT NULL,
        created REAL NOT NULL
    );
    CREATE INDEX switches_of ON switches(conversation, seq);
    CREATE TABLE snapshots (
        conversation TEXT PRIMARY KEY REFERENCES conversations(id) ON DELETE CASCADE,
        file TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        scheme TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        seconds REAL NOT NULL,
        saved REAL NOT NULL
    );
    """,
    # The first message that the model still reads, once the user has left out older turns.
    "ALTER TABLE conversations ADD COLUMN context_start TEXT;",
    "ALTER TABLE conversations ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;",
    # Branches. Of a message: which of the next ones was shown last (NULL: the newest); whether the model reads from it
    # on, in place of conversations.context_start, which no branch shared. Of a sample: the last message then.
    """
    ALTER TABLE messages ADD COLUMN shown TEXT;
    ALTER TABLE messages ADD COLUMN starts_context INTEGER NOT NULL DEFAULT 0;
    UPDATE messages SET starts_context = 1 WHERE id IN (SELECT context_start FROM conversations);
    ALTER TABLE samples ADD COLUMN message TEXT;
    """,
    # What the user has chosen for replies, as app.generation writes it; what stands in the composer.
    """
    ALTER TABLE conversations ADD COLUMN generation TEXT NOT NULL DEFAULT '';
    CREATE TABLE profiles (
        name TEXT PRIMARY KEY COLLATE NOCASE,
        generation TEXT NOT NULL DEFAULT '',
        is_first INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE drafts (
        conversation TEXT PRIMARY KEY,
        content TEXT NOT NULL
    );
    """,
    # A cache file for each branch, in place of one a conversation.
    """
    CREATE TABLE caches (
        file TEXT PRIMARY KEY,
        conversation TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
        tip TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        scheme TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        save_s REAL NOT NULL,
        load_s REAL NOT NULL,
        prefill_tokens_per_s REAL NOT NULL,
        used REAL NOT NULL
    );
    CREATE INDEX caches_of ON caches(conversation);
    INSERT OR IGNORE INTO caches
        SELECT file, conversation, '', fingerprint, scheme, tokens, bytes, seconds, 0, 0, saved FROM snapshots;
    DROP TABLE snapshots;
    """,
    # A draft's files apart from its text: typing mustn't write megabytes.
    "ALTER TABLE drafts ADD COLUMN files TEXT NOT NULL DEFAULT '';",
    # What stands in the open editors of earlier messages.
    """
    CREATE TABLE edits (
        message TEXT PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE,
        content TEXT NOT NULL
    );
    """,
    # How fast each model last read a prompt, in tokens a second: its cache files, which said so, come and go.
    """
    CREATE TABLE rates (
        fingerprint TEXT PRIMARY KEY,
        prefill REAL NOT NULL
    );
    INSERT OR REPLACE INTO rates
        SELECT fingerprint, prefill_tokens_per_s FROM caches WHERE prefill_tokens_per_s > 0 ORDER BY used;
    """,
)

# Primary result codes that say nothing about the file's content.
_NOT_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }
)


@dataclass(frozen=True)
class OpenedDatabase:
    """`notice` is a sentence for the user when the file couldn't be used as it was, else empty."""

    connection: sqlite3.Connection
    notice: str


def open_database(path: Path) -> OpenedDatabase:
    """Open `path`, make it or bring it up to date.

    A damaged file is set aside under another name and what can be read of it copied into a new one. Raises AppError,
    with the file untouched, when it can't be read or was written by a later version.
    """
    try:
        return OpenedDatabase(_connect(path), "")
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a damaged schema's names may be no text at all
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in _NOT_DAMAGE:
            raise unusable(path, error) from error
        log.warning("%s is damaged: %s", path, error)
    aside = _set_aside(path)
    connection = _connect(path)
    count = _salvage(aside, connection)
    return OpenedDatabase(
        connection,
        say(
            "The file with your conversations was damaged. {0} of them could be read and were copied to "
            "a new file; the old one is kept as {1}.",
            count,
            aside,
        ),
    )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """BEGIN, then COMMIT or ROLLBACK; inside another one, a part of that."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # something failed; SQLite itself may have rolled back already
            connection.execute("ROLLBACK")


def unusable(path: Path, error: Exception) -> AppError:
    """What is said where the file is sound and can't be written: it is locked, read-only, or the disk is full."""
    return AppError(
        say("The conversations in {0} can't be opened: {1}. They are untouched.", path, why(error)),
        say("Check that the folder is yours, that its disk isn't full and that no other program holds the file."),
        repr(error),
    )


def _connect(path: Path) -> sqlite3.Connection:
    # Text that isn't UTF-8 must not hide the other rows.
    connection = sqlite3.connect(path, isolation_level=None, timeout=2.0)
    try:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version < 0:
            raise sqlite3.DatabaseError(f"version {version}")
        if version > len(MIGRATIONS):
            raise AppError(
                say(
                    "The conversations in {0} were written by a later version of this program. They are untouched.",
                    path,
                ),
                say("Install that version again to read them."),
                f"database version {version}, known {len(MIGRATIONS)}",
            )
        if (found := connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(f"integrity_check: {found}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        for number in range(version, len(MIGRATIONS)):
            # Script and number in one transaction: a crash leaves the old version or the new one, nothing between.
            connection.executescript(f"BEGIN; {MIGRATIONS[number]} PRAGMA user_version = {number + 1}; COMMIT;")
        for table, layout in _layout().items():
            if _layout_of(connection, table) != layout:
                raise sqlite3.DatabaseError(f"the description of {table} is damaged")
    except BaseException:
        connection.close()
        raise
    return connection


def _set_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.stem}-damaged-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1000:03}.db")
    path.replace(aside)
    for ending in ("-wal", "-shm"):
        journal = path.with_name(path.name + ending)
        if journal.exists():
            journal.replace(aside.with_name(aside.name + ending))
    return aside


def _layout() -> dict[str, list[tuple[object, ...]]]:
    """What every table must look like, from the migrations themselves."""
    with closing(_fresh()) as fresh:
        tables = [name for (name,) in fresh.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: _layout_of(fresh, table) for table in tables}


def _layout_of(connection: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    return [
        tuple(row)
        for question in ("table_info", "foreign_key_list")
        for row in connection.execute(f"PRAGMA {question}({table})")
    ]


def _salvage(damaged: Path, connection: sqlite3.Connection) -> int:
    """Copy the rows of `damaged` that can still be read into a fresh database. Returns the count of conversations.

    Cache files name themselves, so their table is left behind.
    """
    copied = 0
    with TemporaryDirectory(dir=damaged.parent) as folder, closing(_described_anew(damaged, Path(folder))) as source:
        source.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for table in ("conversations", "messages", "samples", "switches", "profiles", "drafts", "edits"):
            columns = {row["name"]: row["type"] for row in connection.execute(f"PRAGMA table_info({table})")}
            put = f"INSERT OR IGNORE INTO {table} VALUES ({','.join('?' * len(columns))})"
            try:
                for row in source.execute(f"SELECT {','.join(columns)} FROM {table} ORDER BY rowid"):
                    values = [_fitting(value, kind) for value, kind in zip(row, columns.values(), strict=True)]
                    try:
                        added = connection.execute(put, values).rowcount
                    except sqlite3.IntegrityError as error:
                        log.warning("a row of %s is lost: %s", table, error)
                    else:
                        copied += added if table == "conversations" else 0
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                log.warning("the rest of %s can't be read: %s", table, error)
    return copied


def _described_anew(damaged: Path, folder: Path) -> sqlite3.Connection:
    """A copy of `damaged` in `folder` whose tables are described as they should be.

    One odd letter in the description makes SQLite refuse every row. What it ought to say is known; where the rows lie
    is not, and stays. A table is known by its place in sqlite_master, since migrations only append. Where the disk has
    no room for a copy it is `damaged` itself, as it is.
    """
    copy = folder / "copy.db"
    try:
        for ending in ("", "-wal"):
            if (part := damaged.with_name(damaged.name + ending)).exists():
                shutil.copyfile(part, copy.with_name(copy.name + ending))
    except OSError as error:
        log.warning("%s can't be copied: %s", damaged, error)
        return sqlite3.connect(damaged)
    with closing(_fresh()) as fresh:
        described = fresh.execute("SELECT type, name, tbl_name, sql, rowid FROM sqlite_master").fetchall()
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as mended:
            mended.execute("PRAGMA writable_schema = ON")  # errors in the description are then passed over
            mended.executemany(
                "UPDATE sqlite_master SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE rowid = ?", described
            )
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        log.warning("the description of %s can't be mended: %s", damaged, error)
    return sqlite3.connect(copy)


def _fresh() -> sqlite3.Connection:
    """An empty database of the present version, in memory."""
    connection = sqlite3.connect(":memory:")
    for script in MIGRATIONS:
        connection.executescript(script)
    return connection


def _fitting(value: object, kind: str) -> object:
    """`value` in its column's type, else the copy would be found damaged again."""
    if value is None:
        return None
    if kind == "TEXT":
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return value if isinstance(value, int | float) else 0
