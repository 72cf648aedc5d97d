"""The list of all conversations, kept in memory: only rows that have changed are read again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from app.library.records import Conversation, read_conversation

_SELECT = (
    "SELECT c.*, coalesce(s.bytes, 0) AS snapshot_bytes "
    "FROM conversations c LEFT JOIN snapshots s ON s.conversation = c.id"
)
_WATCH = """
    CREATE TEMP TABLE touched (id PRIMARY KEY);
    CREATE TEMP TRIGGER a AFTER INSERT ON conversations BEGIN INSERT OR IGNORE INTO touched VALUES (new.id); END;
    CREATE TEMP TRIGGER b AFTER DELETE ON conversations BEGIN INSERT OR IGNORE INTO touched VALUES (old.id); END;
    CREATE TEMP TRIGGER c AFTER UPDATE ON conversations
        BEGIN INSERT OR IGNORE INTO touched VALUES (old.id), (new.id); END;
    CREATE TEMP TRIGGER d AFTER INSERT ON snapshots BEGIN INSERT OR IGNORE INTO touched VALUES (new.conversation); END;
    CREATE TEMP TRIGGER e AFTER DELETE ON snapshots BEGIN INSERT OR IGNORE INTO touched VALUES (old.conversation); END;
"""


MOST_TOUCHED = 500  # past that all are read


class Listing:
    """Follows every change made through `connection`, whoever makes it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._db.execute("PRAGMA temp_store = MEMORY")
        self._db.executescript(_WATCH)
        self._known: dict[str, Conversation] | None = None
        self._version = 0

    def one(self, conversation_id: str) -> Conversation | None:
        row = self._db.execute(f"{_SELECT} WHERE c.id = ?", (conversation_id,)).fetchone()
        return None if row is None else read_conversation(row)

    def all(self) -> list[Conversation]:
        """All that aren't deleted: the pinned ones, then the others, the latest first. A damaged row is left out."""
        if self._db.in_transaction:  # what it has done may yet be undone
            return _sorted(self._read())
        touched = {identity for (identity,) in self._db.execute("SELECT id FROM touched")}
        self._db.execute("DELETE FROM touched")
        (version,) = self._db.execute("PRAGMA data_version").fetchone()  # another connection's changes
        if self._known is None or version != self._version or len(touched) > MOST_TOUCHED:
            self._known = {made.id: made for made in _sorted(self._read())}
        elif touched:
            fresh = self._read(f"AND c.id IN ({','.join('?' * len(touched))})", touched)
            left = [made for made in self._known.values() if made.id not in touched]
            self._known = {made.id: made for made in _sorted([*fresh, *left])}
        self._version = version
        return list(self._known.values())

    def _read(self, condition: str = "", values: Iterable[object] = ()) -> list[Conversation]:
        rows = self._db.execute(f"{_SELECT} WHERE c.deleted IS NULL {condition} ORDER BY c.rowid DESC", tuple(values))
        return [made for row in rows if (made := read_conversation(row)) is not None]


def _sorted(conversations: Iterable[Conversation]) -> list[Conversation]:
    return sorted(conversations, key=lambda conversation: (conversation.pinned, conversation.updated), reverse=True)
