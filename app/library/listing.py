"""The list of all conversations, kept in memory: only rows that have changed are read again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from app.library.records import Conversation, read_conversation
from app.library.touched import Touched

_SELECT = (
    "SELECT c.*, (SELECT coalesce(sum(bytes), 0) FROM caches WHERE conversation = c.id) AS snapshot_bytes "
    "FROM conversations c"
)


class Listing:
    """Follows every change made through `connection`, whoever makes it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._touched = Touched(connection, "touched", {"conversations": "id", "caches": "conversation"})
        self._known: dict[str, Conversation] | None = None

    def one(self, conversation_id: str) -> Conversation | None:
        row = self._db.execute(f"{_SELECT} WHERE c.id = ?", (conversation_id,)).fetchone()
        return None if row is None else read_conversation(row)

    def all(self) -> list[Conversation]:
        """All that aren't deleted: the pinned ones, then the others, the latest first. A damaged row is left out."""
        if self._db.in_transaction:  # what it has done may yet be undone
            return _sorted(self._read())
        touched = self._touched.take()
        if self._known is None or touched is None:
            self._known = {made.id: made for made in _sorted(self._read())}
        elif touched:
            fresh = self._read(f"AND c.id IN ({','.join('?' * len(touched))})", touched)
            left = [made for made in self._known.values() if made.id not in touched]
            self._known = {made.id: made for made in _sorted([*fresh, *left])}
        return list(self._known.values())

    def _read(self, condition: str = "", values: Iterable[object] = ()) -> list[Conversation]:
        rows = self._db.execute(f"{_SELECT} WHERE c.deleted IS NULL {condition} ORDER BY c.rowid DESC", tuple(values))
        return [made for row in rows if (made := read_conversation(row)) is not None]


def _sorted(conversations: Iterable[Conversation]) -> list[Conversation]:
    return sorted(conversations, key=lambda conversation: (conversation.pinned, conversation.updated), reverse=True)
