"""Full-text search over the messages: an index in a file of its own, which is made anew whenever it can't be used.

The conversations are never at risk from it: it holds nothing that isn't in the library too.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

VERSION = 1
ROWS_AT_ONCE = 500  # messages that a call of `follow` takes in: a few milliseconds
MARK, UNMARK = "\x02", "\x03"  # around a hit in a snippet; neither occurs in text
_SNIPPET_WORDS = 16
_SELECT = "SELECT seq, id, conversation, content, state, created FROM messages"
_LAYOUT = f"""
    CREATE VIRTUAL TABLE found USING fts5(
        message UNINDEXED, conversation UNINDEXED, content, tokenize = 'unicode61 remove_diacritics 2'
    );
    CREATE TABLE followed (seq INTEGER NOT NULL, message TEXT NOT NULL);
    INSERT INTO followed VALUES (0, '');
    CREATE TABLE waiting (seq INTEGER PRIMARY KEY);
    PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Hit:
    """A message that matches. `snippet` is a stretch of it, each match between MARK and UNMARK."""

    conversation: str
    message: str
    snippet: str


class SearchIndex:
    """Belongs to the thread that made it. `messages`: the library's connection, which is only read."""

    def __init__(self, path: Path, messages: sqlite3.Connection) -> None:
        self._path, self._messages = path, messages
        self._since = time.time()  # a reply that is partial and older was cut off: it won't change
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def forget(self) -> None:
        """Make it anew at the next call, e.g. because the library's file was replaced."""
        self.close()
        for ending in ("", "-wal", "-shm", "-journal"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)

    def follow(self) -> bool:
        """Take in some of the messages that it hasn't seen. Returns whether there may be more."""
        try:
            return self._follow()
        except sqlite3.DatabaseError as error:
            log.warning("the search index is made anew: %s", error)
            self.forget()
            return self._follow()

    def find(self, text: str, limit: int = 200) -> list[Hit]:
        """The latest messages that hold every word of `text` (the last one may be a beginning), deleted ones left out.

        What `follow` hasn't taken in yet isn't found.
        """
        words = re.findall(r"\w+", text)
        if not words:
            return []
        query = " ".join(f'"{word}"' for word in words) + "*"
        try:
            rows = (
                self._opened()
                .execute(
                    f"SELECT conversation, message, snippet(found, 2, '{MARK}', '{UNMARK}', '…', {_SNIPPET_WORDS}) "
                    "FROM found WHERE found MATCH ? ORDER BY rowid DESC LIMIT ?",
                    (query, limit),
                )
                .fetchall()
            )
        except sqlite3.DatabaseError as error:
            log.warning("the search index is made anew: %s", error)
            self.forget()
            return []
        return [hit for row in rows if self._exists(hit := Hit(*row))]

    def _exists(self, hit: Hit) -> bool:
        row = self._messages.execute(
            "SELECT 1 FROM messages m JOIN conversations c ON c.id = m.conversation "
            "WHERE m.id = ? AND c.id = ? AND c.deleted IS NULL",
            (hit.message, hit.conversation),
        )
        return row.fetchone() is not None

    def _follow(self) -> bool:
        db = self._opened()
        followed, last = db.execute("SELECT seq, message FROM followed").fetchone()
        known = self._messages.execute("SELECT id FROM messages WHERE seq = ?", (followed,)).fetchone()
        if followed and (known is None or known["id"] != last):  # removed, or not the library that it knows
            self.forget()
            return self._follow()
        rows = self._messages.execute(
            f"{_SELECT} WHERE seq > ? ORDER BY seq LIMIT ?", (followed, ROWS_AT_ONCE)
        ).fetchall()
        waiting = [seq for (seq,) in db.execute("SELECT seq FROM waiting LIMIT ?", (ROWS_AT_ONCE,))]
        rows += self._messages.execute(f"{_SELECT} WHERE seq IN ({','.join('?' * len(waiting))})", waiting).fetchall()
        streaming = {row["seq"] for row in rows if row["state"] == "partial" and row["created"] >= self._since}
        settled = [(row["id"], row["conversation"], row["content"]) for row in rows if row["seq"] not in streaming]
        with db:
            db.executemany("INSERT INTO found (message, conversation, content) VALUES (?, ?, ?)", settled)
            db.executemany("DELETE FROM waiting WHERE seq = ?", [(seq,) for seq in waiting if seq not in streaming])
            db.executemany("INSERT OR IGNORE INTO waiting VALUES (?)", [(seq,) for seq in streaming])
            if rows:
                newest = max((row["seq"], row["id"]) for row in rows)
                db.execute("UPDATE followed SET seq = ?, message = ? WHERE seq < ?", (*newest, newest[0]))
        return len(rows) - len(waiting) >= ROWS_AT_ONCE

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                self._db = self._connect()
            except sqlite3.DatabaseError as error:
                log.warning("the search index is made anew: %s", error)
                self.forget()
                self._db = self._connect()
        return self._db

    def _connect(self) -> sqlite3.Connection:
        with contextlib.ExitStack() as undo:
            db = sqlite3.connect(self._path, timeout=2.0)
            undo.callback(db.close)
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = OFF")  # it can be made anew
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            if version == 0:
                db.executescript(_LAYOUT)
            elif version != VERSION:
                raise sqlite3.DatabaseError(f"version {version}")
            undo.pop_all()
        return db
