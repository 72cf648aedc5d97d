"""What stands in the composer and isn't sent yet, of every conversation and of the one that has no row yet."""

from __future__ import annotations

import sqlite3


class Drafts:
    """A draft is a message's content, files and all. The new conversation's has the empty id."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._db.execute(
            "DELETE FROM drafts WHERE conversation != '' AND conversation NOT IN (SELECT id FROM conversations)"
        )

    def read(self, conversation_id: str) -> str:
        row = self._db.execute("SELECT content FROM drafts WHERE conversation = ?", (conversation_id,)).fetchone()
        return row["content"] if row is not None and isinstance(row["content"], str) else ""

    def write(self, conversation_id: str, content: str) -> None:
        if content:
            self._db.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?)", (conversation_id, content))
        else:
            self._db.execute("DELETE FROM drafts WHERE conversation = ?", (conversation_id,))
