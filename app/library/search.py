"""Full-text search over the messages: an index in a file of its own, which is made anew whenever it can't be used.

The conversations are never at risk from it: it holds nothing that isn't in the library too.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import sqlite3
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

VERSION = 3
ROWS_AT_ONCE = 500  # messages that a call of `follow` takes in: a few milliseconds
MARK, UNMARK = "\x02", "\x03"  # around a hit in a snippet; neither occurs in text
_SNIPPET_WORDS, _SNIPPET_LETTERS = 16, 48
# Letters of scripts that put no space between words (Thai to Khmer, kana, Han), and signs and emoji: in the index each
# is a word of its own, kept from its neighbours by a space without width.
ALONE = (
    "[\u00a6\u00a9\u00ae\u00b0\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\u2100-\u214f\u2190-\u2bff\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
_ALONE, _BESIDE, _GAP = re.compile(ALONE), re.compile(f"(?<={ALONE})|(?={ALONE})"), "\u200b"
_SELECT = (  # a damaged field may be of any type
    "SELECT seq, id, conversation, parent, coalesce(CAST(content AS TEXT), '') AS content, state, "
    "coalesce(CAST(created AS REAL), 0) AS created FROM messages WHERE seq > ? ORDER BY seq LIMIT ?"
)
# What stands in the way for a while, and is no damage.
_NOT_NOW = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY)
_LAYOUT = f"""
    CREATE VIRTUAL TABLE found USING fts5(
        message UNINDEXED, conversation UNINDEXED, content,
        tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc So'"
    );
    CREATE TABLE followed (seq INTEGER NOT NULL, message TEXT NOT NULL);
    INSERT INTO followed VALUES (0, '');
    PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Hit:
    """A message that matches. `snippet` is a stretch of it, each match between MARK and UNMARK."""

    conversation: str
    message: str
    snippet: str


def words(text: str) -> list[str]:
    """What of a query is looked for: its words, without what stands between and around them."""
    kept = (letter if _is_wordy(letter) else " " for letter in unicodedata.normalize("NFC", text))
    return "".join(kept).split()


def _is_wordy(letter: str) -> bool:
    return letter == "_" or unicodedata.category(letter)[0] in "LNM" or _ALONE.match(letter) is not None


def _spaced(text: str) -> str:
    return _BESIDE.sub(_GAP, text) if _ALONE.search(text) else text


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
        """Take in some of the messages that it hasn't seen, up to a reply that streams. Returns whether there may be
        more.
        """
        for _ in range(2):
            try:
                return self._follow()
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_NOW:
                    log.warning("the search index isn't written now: %s", error)
                    break
                log.warning("the search index is made anew: %s", error)
                self.forget()
        return False

    def remove(self, places: Sequence[int]) -> None:
        """Forget the messages of these `seq`, which are about to go."""
        try:
            self._remove(places)
        except sqlite3.DatabaseError as error:
            log.warning("the search index is made anew: %s", error)
            self.forget()

    def renew(self, places: Sequence[int]) -> None:
        """The messages of these `seq` say something else now; those that weren't taken in yet still aren't."""
        try:
            self._renew(places)
        except sqlite3.DatabaseError as error:
            log.warning("the search index is made anew: %s", error)
            self.forget()

    def find(self, text: str, limit: int = 200) -> list[Hit]:
        """The latest messages that hold every word of `text` (the last one may be a beginning), deleted ones left out.

        What `follow` hasn't taken in yet isn't found.
        """
        asked = words(text)
        if not asked:
            return []
        query = " ".join(f'"{_spaced(word)}"' for word in asked) + "*"
        length = _SNIPPET_LETTERS if _ALONE.search(text) else _SNIPPET_WORDS
        try:
            rows = (
                self._opened()
                .execute(
                    f"SELECT conversation, message, snippet(found, 2, '{MARK}', '{UNMARK}', '…', {length}) "
                    "FROM found WHERE found MATCH ? ORDER BY rowid DESC LIMIT ?",
                    (query, limit),
                )
                .fetchall()
            )
        except sqlite3.DatabaseError as error:
            log.warning("the search index is made anew: %s", error)
            self.forget()
            return []
        hits = (Hit(conversation, message, snippet.replace(_GAP, "")) for conversation, message, snippet in rows)
        return [hit for hit in hits if self._exists(hit)]

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
        if followed and (known is None or known["id"] != last):  # not the library that it knows
            self.forget()
            return self._follow()
        rows = self._messages.execute(_SELECT, (followed, ROWS_AT_ONCE)).fetchall()
        settled = list(itertools.takewhile(self._is_settled, rows))
        if len(settled) < len(rows) and settled and settled[-1]["id"] == rows[len(settled)]["parent"]:
            settled.pop()  # with its reply, which streams: two writes would cost twice the pages
        if settled:
            with db:
                db.executemany(
                    "INSERT INTO found (rowid, message, conversation, content) VALUES (?, ?, ?, ?)",
                    [(row["seq"], row["id"], row["conversation"], _spaced(row["content"])) for row in settled],
                )
                db.execute("UPDATE followed SET seq = ?, message = ?", (settled[-1]["seq"], settled[-1]["id"]))
        return len(settled) >= ROWS_AT_ONCE

    def _is_settled(self, row: sqlite3.Row) -> bool:
        return bool(row["state"] != "partial" or row["created"] < self._since)

    def _remove(self, places: Sequence[int]) -> None:
        db = self._opened()
        with db:
            db.executemany("DELETE FROM found WHERE rowid = ?", [(place,) for place in places])
            (followed,) = db.execute("SELECT seq FROM followed").fetchone()
            if followed in places:
                newest = db.execute("SELECT rowid, message FROM found ORDER BY rowid DESC LIMIT 1").fetchone()
                db.execute("UPDATE followed SET seq = ?, message = ?", newest or (0, ""))

    def _renew(self, places: Sequence[int]) -> None:
        db = self._opened()
        for place in places:
            if db.execute("SELECT 1 FROM found WHERE rowid = ?", (place,)).fetchone():
                (row,) = self._messages.execute(_SELECT, (place - 1, 1)).fetchall()
                with db:
                    db.execute("UPDATE found SET content = ? WHERE rowid = ?", (_spaced(row["content"]), place))

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
