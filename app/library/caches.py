"""What is known of each cache file: whom it serves, what it holds, how long it took to save and to load.

The files name themselves and say in their headers what they hold, so a lost row costs only what was measured.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing

from app.events import SnapshotLoaded, SnapshotSaved
from app.library.records import StoredCache, read_cache, read_rate
from app.library.snapshots import CacheFile

# A model's rate is measured with each save; a file without one has the model's latest.
_SELECT = """
    SELECT c.*, coalesce(nullif(c.prefill_tokens_per_s, 0), r.prefill, 0) AS rate
    FROM caches c LEFT JOIN rates r ON r.fingerprint = c.fingerprint
"""


class Caches:
    """The table of cache files; part of a Library."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def saved(self, event: SnapshotSaved) -> None:
        """Ignored for a conversation that is gone."""
        self._db.execute(
            "INSERT OR REPLACE INTO caches "
            "SELECT ?, id, ?, ?, ?, ?, ?, ?, 0, ?, ? FROM conversations WHERE id = ?",
            (event.file, event.tip, event.fingerprint, event.scheme, event.tokens, event.snapshot_bytes, event.seconds,
             event.prefill_tokens_per_s, time.time(), event.conversation_id),
        )  # fmt: skip
        if event.prefill_tokens_per_s:
            rate = event.fingerprint, event.prefill_tokens_per_s
            self._db.execute("INSERT OR REPLACE INTO rates VALUES (?, ?)", rate)

    def rate(self, fingerprint: str) -> float:
        """The tokens a second at which a model last read a prompt, 0 where that isn't known."""
        row = self._db.execute("SELECT prefill FROM rates WHERE fingerprint = ?", (fingerprint,)).fetchone()
        return read_rate(row) if row else 0.0

    def loaded(self, event: SnapshotLoaded) -> None:
        self._db.execute(
            "UPDATE caches SET load_s = ?, tokens = ?, scheme = ?, used = ? WHERE file = ?",
            (event.seconds, event.tokens, event.scheme, time.time(), event.file),
        )

    def forget(self, files: Iterable[str]) -> None:
        self._db.executemany("DELETE FROM caches WHERE file = ?", [(file,) for file in files])

    def held(self, conversation_id: str, tokens: int, size_bytes: int) -> bool:
        """So much of this conversation is cached now, 0: nothing. Returns whether that is new."""
        changed = self._db.execute(
            "UPDATE conversations SET cached_tokens = ?, cached_bytes = ? "
            "WHERE id = ? AND (cached_tokens != ? OR cached_bytes != ?)",
            (tokens, size_bytes, conversation_id, tokens, size_bytes),
        )
        return changed.rowcount > 0

    def reconcile(self, files: Sequence[CacheFile]) -> None:
        """Know of exactly these: a program that was killed may have saved one, or removed one, without a row."""
        there = {file.name for file in files}
        with closing(self._db.execute("SELECT file FROM caches")) as rows:
            known = {str(name) for (name,) in rows}
        self.forget(known - there)
        self._db.executemany(
            "INSERT OR IGNORE INTO caches "
            "SELECT ?, id, ?, '', scheme, cached_tokens, ?, 0, 0, 0, ? FROM conversations WHERE id = ?",
            [(f.name, f.tip, f.size_bytes, f.used, f.conversation) for f in files if f.name not in known],
        )

    def all(self) -> list[StoredCache]:
        """The largest first."""
        rows = self._db.execute(f"{_SELECT} ORDER BY c.bytes DESC")
        return [made for row in rows if (made := read_cache(row)) is not None]

    def of(self, conversation_id: str) -> list[StoredCache]:
        """One conversation's, what was used last first."""
        rows = self._db.execute(f"{_SELECT} WHERE c.conversation = ? ORDER BY c.used DESC", (conversation_id,))
        return [made for row in rows if (made := read_cache(row)) is not None]
