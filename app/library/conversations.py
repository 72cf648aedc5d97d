"""Conversations, their messages as a parent-linked tree, and the history that the memory chart draws.

One `Library` belongs to one thread: the window's. Every call is a few small statements, committed when it returns.
"""

from __future__ import annotations

import sqlite3
import textwrap
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType

from app import paths
from app.events import MemorySample, SchemeSwitched, SnapshotSaved, TurnFinished
from app.library.database import open_database
from app.library.records import (
    ChartPoint,
    Conversation,
    Message,
    Role,
    State,
    Switch,
    read_conversation,
    read_message,
    read_point,
    read_switch,
)
from app.library.search import Hit, SearchIndex

# Past this many samples of a conversation, one stays for each scheme and stretch of tokens: half as many.
MAX_SAMPLES = 2000
_TITLE_LETTERS = 120  # whoever shows it cuts it to the room there is


class Library:
    """The conversations on disk. `notice` is a sentence for the user when the file had to be replaced, else empty.

    Raises AppError from the constructor when the file can't be opened or was written by a later version.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.data_dir() / "library.db"
        opened = open_database(self.path)
        self._db = opened.connection
        self.notice = opened.notice
        self._db.execute("DELETE FROM conversations WHERE deleted IS NOT NULL")
        self._index = SearchIndex(self.path.with_name("search.db"), self._db)
        if self.notice:
            self._index.forget()

    def close(self) -> None:
        self._index.close()
        self._db.close()

    def transaction(self) -> AbstractContextManager[None]:
        """Several calls as one: all of them are written, or none."""
        return _transaction(self._db)

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------ conversations

    def create(self, scheme: str, model: str = "", title: str = "") -> Conversation:
        conversation_id, now = uuid.uuid4().hex, time.time()
        self._db.execute(
            "INSERT INTO conversations (id, title, scheme, model, created, updated) VALUES (?, ?, ?, ?, ?, ?)",
            (conversation_id, title, scheme, model, now, now),
        )
        return self.conversation(conversation_id)

    def conversations(self) -> list[Conversation]:
        """All that aren't deleted: the pinned ones, then the others, the latest first.

        A damaged row is left out and logged; it hides no other.
        """
        rows = self._db.execute(_SELECT_CONVERSATIONS + " WHERE c.deleted IS NULL ORDER BY c.rowid DESC")
        made = [made for row in rows if (made := read_conversation(row)) is not None]
        return sorted(made, key=lambda conversation: (conversation.pinned, conversation.updated), reverse=True)

    def conversation(self, conversation_id: str) -> Conversation:
        """Raises KeyError."""
        row = self._db.execute(_SELECT_CONVERSATIONS + " WHERE c.id = ?", (conversation_id,)).fetchone()
        made = None if row is None else read_conversation(row)
        if made is None:
            raise KeyError(conversation_id)
        return made

    def rename(self, conversation_id: str, title: str) -> None:
        self._db.execute("UPDATE conversations SET title = ? WHERE id = ?", (title.strip(), conversation_id))

    def pin(self, conversation_id: str, pinned: bool) -> None:
        self._db.execute("UPDATE conversations SET pinned = ? WHERE id = ?", (int(pinned), conversation_id))

    def set_scheme(self, conversation_id: str, scheme: str) -> None:
        self._db.execute("UPDATE conversations SET scheme = ? WHERE id = ?", (scheme, conversation_id))

    def set_model(self, conversation_id: str, model: str) -> None:
        self._db.execute("UPDATE conversations SET model = ? WHERE id = ?", (model, conversation_id))

    def set_context_start(self, conversation_id: str, message_id: str | None) -> None:
        """The model reads from this message on; what stands before it stays in the transcript."""
        self._db.execute("UPDATE conversations SET context_start = ? WHERE id = ?", (message_id, conversation_id))

    def delete(self, conversation_id: str) -> None:
        """Take it off the list. `restore` brings it back until the program ends; the next start forgets it."""
        self._db.execute("UPDATE conversations SET deleted = ? WHERE id = ?", (time.time(), conversation_id))

    def restore(self, conversation_id: str) -> None:
        self._db.execute("UPDATE conversations SET deleted = NULL WHERE id = ?", (conversation_id,))

    # ------------------------------------------------------------ messages

    def add_user_message(self, conversation_id: str, content: str) -> Message:
        """Append behind the current leaf. The first one names an untitled conversation."""
        title = textwrap.shorten(content, _TITLE_LETTERS, placeholder="") or content.strip()[:_TITLE_LETTERS]
        self._db.execute("UPDATE conversations SET title = ? WHERE id = ? AND title = ''", (title, conversation_id))
        return self._add(conversation_id, "user", content, "complete", self.conversation(conversation_id).leaf, "")

    def begin_reply(self, conversation_id: str, scheme: str, parent: str | None = None) -> Message:
        """An empty assistant message, `partial` until it is finished. `parent` defaults to the leaf; give the user's
        message to answer it a second time: the earlier answer stays as a sibling.
        """
        parent = parent or self.conversation(conversation_id).leaf
        return self._add(conversation_id, "assistant", "", "partial", parent, scheme)

    def update_partial(self, message_id: str, content: str) -> None:
        """What a streaming reply says so far. Call at most every second or two: each call writes the whole text."""
        self._db.execute("UPDATE messages SET content = ? WHERE id = ? AND state = 'partial'", (content, message_id))

    def finish_reply(self, turn: TurnFinished) -> None:
        """Commit a reply's whole text, state, counts and rates in one transaction."""
        state = "complete" if turn.reason == "stop" else turn.reason
        with _transaction(self._db):
            self._db.execute(
                "UPDATE messages SET content = ?, state = ?, scheme = ?, prompt_tokens = ?, reused_tokens = ?, "
                "generated_tokens = ?, prefill_tokens_per_s = ?, tokens_per_s = ?, error = '' WHERE id = ?",
                (turn.text, state, turn.scheme, turn.prompt_tokens, turn.reused_tokens, turn.generated_tokens,
                 turn.prefill_tokens_per_s, turn.tokens_per_s, turn.reply_id),
            )  # fmt: skip
            self._touch(turn.conversation_id)

    def fail_reply(self, message_id: str, content: str, error: str) -> None:
        """Keep what was said before the failure, and the reason."""
        self._db.execute(
            "UPDATE messages SET content = ?, state = 'failed', error = ? WHERE id = ?", (content, error, message_id)
        )

    def remove_message(self, message_id: str) -> None:
        """Take back a message without children, e.g. a reply for which there was no room. Its parent becomes the leaf.

        Raises KeyError.
        """
        with _transaction(self._db):
            row = self._db.execute("SELECT conversation, parent FROM messages WHERE id = ?", (message_id,)).fetchone()
            children = self._db.execute("SELECT count(*) FROM messages WHERE parent = ?", (message_id,)).fetchone()[0]
            if row is None or children:
                raise KeyError(message_id)
            self._db.execute("DELETE FROM messages WHERE id = ?", (message_id,))
            self._db.execute(
                "UPDATE conversations SET leaf = ? WHERE id = ? AND leaf = ?",
                (row["parent"], row["conversation"], message_id),
            )

    def set_leaf(self, conversation_id: str, message_id: str | None) -> None:
        """Show another branch: the transcript then ends with this message."""
        self._db.execute("UPDATE conversations SET leaf = ? WHERE id = ?", (message_id, conversation_id))

    def messages(self, conversation_id: str) -> list[Message]:
        """The current branch from its first message to the leaf.

        A damaged message is left out and logged. Where its loss breaks the chain, the branch goes on with the message
        that was written before it.
        """
        rows = self._db.execute("SELECT * FROM messages WHERE conversation = ? ORDER BY seq", (conversation_id,))
        known = {made.id: (made, place) for place, row in enumerate(rows) if (made := read_message(row)) is not None}
        ordered = list(known.values())
        at = known.get(self.conversation(conversation_id).leaf or "")
        if at is None and ordered and self.conversation(conversation_id).leaf is not None:
            at = ordered[-1]
        branch: list[Message] = []
        while at is not None:
            message, place = at
            branch.append(message)
            at = known.get(message.parent or "")
            if at is None and message.parent is not None:
                at = next((entry for entry in reversed(ordered) if entry[1] < place), None)
            elif at is not None and at[1] >= place:
                break  # a damaged parent link must not go in circles
        return branch[::-1]

    # ------------------------------------------------------------ search

    def follow(self) -> bool:
        """Take some messages that are new into the search index. Returns whether there may be more: call it again."""
        return self._index.follow()

    def search(self, text: str, limit: int = 200) -> list[Hit]:
        """The latest messages that hold every word of `text`; what `follow` hasn't taken in isn't found."""
        return self._index.find(text, limit)

    # ------------------------------------------------------------ the chart's history

    def record_samples(self, samples: Sequence[MemorySample]) -> None:
        """Store measured points in one transaction. Collect a few: the engine sends up to four a second."""
        if not samples:
            return
        with _transaction(self._db):
            self._db.executemany(
                "INSERT INTO samples (conversation, tokens, used_bytes, scheme) "
                "SELECT id, ?, ?, ? FROM conversations WHERE id = ?",
                [(s.tokens, s.used_bytes, s.scheme, s.conversation_id) for s in samples],
            )
            for conversation_id in {s.conversation_id for s in samples}:
                last = next(s for s in reversed(samples) if s.conversation_id == conversation_id)
                self._db.execute(
                    "UPDATE conversations SET cached_tokens = ?, cached_bytes = ? WHERE id = ?",
                    (last.tokens, last.used_bytes, conversation_id),
                )
                self._thin(conversation_id)

    def record_switch(self, switch: SchemeSwitched, after_message: str | None) -> None:
        """Store a switch's marker and make its scheme the conversation's."""
        with _transaction(self._db):
            self._db.execute(
                "INSERT INTO switches (conversation, after_message, from_scheme, to_scheme, tokens, bytes_before, "
                "bytes_after, method, seconds, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (switch.conversation_id, after_message, switch.from_scheme, switch.to_scheme, switch.tokens,
                 switch.bytes_before, switch.bytes_after, switch.method, switch.seconds, time.time()),
            )  # fmt: skip
            self._db.execute(
                "UPDATE conversations SET scheme = ?, cached_bytes = ? WHERE id = ?",
                (switch.to_scheme, switch.bytes_after, switch.conversation_id),
            )

    def samples(self, conversation_id: str) -> list[ChartPoint]:
        rows = self._db.execute("SELECT * FROM samples WHERE conversation = ? ORDER BY seq", (conversation_id,))
        return [made for row in rows if (made := read_point(row)) is not None]

    def switches(self, conversation_id: str) -> list[Switch]:
        rows = self._db.execute("SELECT * FROM switches WHERE conversation = ? ORDER BY seq", (conversation_id,))
        return [made for row in rows if (made := read_switch(row)) is not None]

    # ------------------------------------------------------------ cache files

    def record_snapshot(self, saved: SnapshotSaved, file: str, fingerprint: str) -> None:
        """Remember which file holds a conversation's cache. Ignored for a conversation that is gone."""
        self._db.execute(
            "INSERT OR REPLACE INTO snapshots (conversation, file, fingerprint, scheme, tokens, bytes, seconds, saved) "
            "SELECT id, ?, ?, scheme, ?, ?, ?, ? FROM conversations WHERE id = ?",
            (file, fingerprint, saved.tokens, saved.snapshot_bytes, saved.seconds, time.time(), saved.conversation_id),
        )

    def forget_snapshots(self, conversation_ids: Iterable[str]) -> None:
        self._db.executemany(
            "DELETE FROM snapshots WHERE conversation = ?", [(conversation_id,) for conversation_id in conversation_ids]
        )

    # ------------------------------------------------------------

    def _add(
        self, conversation_id: str, role: Role, content: str, state: State, parent: str | None, scheme: str
    ) -> Message:
        message_id = uuid.uuid4().hex
        with _transaction(self._db):
            self._db.execute(
                "INSERT INTO messages (id, conversation, parent, role, content, state, scheme, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (message_id, conversation_id, parent, role, content, state, scheme, time.time()),
            )
            self._db.execute("UPDATE conversations SET leaf = ? WHERE id = ?", (message_id, conversation_id))
            self._touch(conversation_id)
        row = self._db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        made = read_message(row)
        assert made is not None
        return made

    def _touch(self, conversation_id: str) -> None:
        self._db.execute("UPDATE conversations SET updated = ? WHERE id = ?", (time.time(), conversation_id))

    def _thin(self, conversation_id: str) -> None:
        of = "FROM samples WHERE conversation = ?"
        (count,) = self._db.execute(f"SELECT count(*) {of}", (conversation_id,)).fetchone()
        if count <= MAX_SAMPLES:
            return
        tokens, schemes = self._db.execute(
            f"SELECT max(tokens), count(DISTINCT scheme) {of}", (conversation_id,)
        ).fetchone()
        width = 2 * schemes * tokens // MAX_SAMPLES + 1
        self._db.execute(
            f"DELETE {of} AND seq NOT IN (SELECT max(seq) {of} GROUP BY scheme, tokens / ?)",
            (conversation_id, conversation_id, width),
        )


_SELECT_CONVERSATIONS = (
    "SELECT c.*, coalesce(s.bytes, 0) AS snapshot_bytes "
    "FROM conversations c LEFT JOIN snapshots s ON s.conversation = c.id"
)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
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
