"""All messages of a conversation, those of the last one kept in memory: only rows that have changed are read again."""

from __future__ import annotations

import sqlite3

from app.library.records import Message, read_message
from app.library.touched import Touched
from app.library.tree import Tree


class Talk:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._touched = Touched(connection, "touched_messages", {"messages": "id"})
        self._conversation = ""
        self._rows: dict[str, tuple[int, Message]] = {}  # by id: place and message
        self._tree = Tree([])

    def tree(self, conversation_id: str) -> Tree:
        """A damaged message is left out and logged; it hides no other."""
        if self._db.in_transaction:
            return _tree(self._read(conversation_id))
        touched = self._touched.take()
        if touched is None or conversation_id != self._conversation:
            self._conversation, self._rows = conversation_id, self._read(conversation_id)
            self._tree = _tree(self._rows)
        elif touched:
            for identity in touched:
                self._rows.pop(str(identity), None)
            self._rows |= self._read(conversation_id, touched)
            self._tree = _tree(self._rows)
        return self._tree

    def _read(self, conversation_id: str, only: set[object] | None = None) -> dict[str, tuple[int, Message]]:
        condition = "" if only is None else f"AND id IN ({','.join('?' * len(only))})"
        rows = self._db.execute(
            f"SELECT * FROM messages WHERE conversation = ? {condition}", (conversation_id, *(only or ()))
        )
        return {made.id: (row["seq"], made) for row in rows if (made := read_message(row)) is not None}


def _tree(rows: dict[str, tuple[int, Message]]) -> Tree:
    return Tree([message for _, message in sorted(rows.values(), key=lambda entry: entry[0])])
