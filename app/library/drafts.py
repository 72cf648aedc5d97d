"""What is typed and not sent yet: in the composer, for every conversation and the one that has no row yet, and in the
editors of earlier messages.
"""

from __future__ import annotations

import sqlite3


class Drafts:
    """A draft is a message's content: its files, as they will stand in it, and its text. The new conversation's has the
    empty id.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        known = "SELECT id FROM conversations UNION SELECT ''"
        self._db.execute(f"DELETE FROM drafts WHERE conversation NOT IN ({known})")

    def read(self, conversation_id: str) -> str:
        row = self._db.execute("SELECT * FROM drafts WHERE conversation = ?", (conversation_id,)).fetchone()
        parts = (row["files"], row["content"]) if row is not None else ()
        return "\n\n".join(part for part in parts if part and isinstance(part, str))

    def write(self, conversation_id: str, text: str) -> None:
        """The text; its files stay."""
        self._put(conversation_id, "content", text)

    def write_files(self, conversation_id: str, files: str) -> None:
        self._put(conversation_id, "files", files)

    def _put(self, conversation_id: str, column: str, value: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO drafts (conversation, content) VALUES (?, '')", (conversation_id,))
        self._db.execute(f"UPDATE drafts SET {column} = ? WHERE conversation = ?", (value, conversation_id))
        self._db.execute(
            "DELETE FROM drafts WHERE conversation = ? AND content = '' AND files = ''", (conversation_id,)
        )

    # ------------------------------------------------------------ editors

    def edits(self, conversation_id: str) -> dict[str, str]:
        """What stands in the editors of this conversation's messages, by message."""
        rows = self._db.execute(
            "SELECT e.message, e.content FROM edits e JOIN messages m ON m.id = e.message WHERE m.conversation = ?",
            (conversation_id,),
        )
        return {row["message"]: row["content"] for row in rows if isinstance(row["content"], str)}

    def write_edit(self, message_id: str, text: str) -> None:
        """An editor that says what its message says is kept by nobody."""
        self.drop_edit(message_id)
        self._db.execute(
            "INSERT INTO edits (message, content) SELECT id, ? FROM messages WHERE id = ? AND content <> ?",
            (text, message_id, text),
        )

    def drop_edit(self, message_id: str) -> None:
        self._db.execute("DELETE FROM edits WHERE message = ?", (message_id,))
