"""Conversations, and their messages as a parent-linked tree.

One `Library` belongs to one thread: the window's. Every call is a few small statements, committed when it returns.
"""

from __future__ import annotations

import logging
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType

from app import generation as settings
from app import paths
from app.events import TurnFinished
from app.library import titles
from app.library.caches import Caches
from app.library.database import open_database, transaction, unusable
from app.library.drafts import Drafts
from app.library.history import History
from app.library.listing import Listing
from app.library.profiles import Profiles
from app.library.records import (
    Conversation,
    Message,
    Role,
    State,
    read_message,
)
from app.library.search import Hit, SearchIndex
from app.library.streaming import Streaming
from app.library.talk import Talk

log = logging.getLogger(__name__)


class Library:
    """The conversations on disk. `notice` is a sentence for the user when the file had to be replaced, else empty.

    Raises AppError from the constructor when the file can't be opened or was written by a later version.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.data_dir() / "library.db"
        opened = open_database(self.path)
        self._db = opened.connection
        self.notice = opened.notice
        self._index = SearchIndex(self.path.with_name("search.db"), self._db)
        if self.notice:
            self._index.forget()
        try:
            self._forget_deleted()
            self.profiles, self.drafts = Profiles(self._db), Drafts(self._db)
        except sqlite3.OperationalError as error:
            self.close()
            raise unusable(self.path, error) from error
        self.history = History(self._db)
        self._listing, self._talk = Listing(self._db), Talk(self._db)
        self.caches = Caches(self._db)
        self._streaming = Streaming(self.path.with_name("streaming"))
        self._take_in_left()

    def close(self) -> None:
        self._index.close()
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Several calls as one: all of them are written, or none. What is written survives a power cut too."""
        if not self._db.in_transaction:
            self._db.execute("PRAGMA synchronous = FULL")
        try:
            with transaction(self._db):
                yield
        finally:
            if not self._db.in_transaction:
                self._db.execute("PRAGMA synchronous = NORMAL")

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
        return self._listing.all()

    def ids(self) -> list[str]:
        """Of all conversations, also of those whose rows are damaged, or deleted and not yet forgotten."""
        return [str(identity) for (identity,) in self._db.execute("SELECT id FROM conversations")]

    def conversation(self, conversation_id: str) -> Conversation:
        """Raises KeyError."""
        made = self._listing.one(conversation_id)
        if made is None:
            raise KeyError(conversation_id)
        return made

    def rename(self, conversation_id: str, title: str) -> None:
        self._db.execute("UPDATE conversations SET title = ? WHERE id = ?", (title.strip(), conversation_id))

    def pin(self, conversation_id: str, pinned: bool) -> None:
        self._db.execute("UPDATE conversations SET pinned = ? WHERE id = ?", (int(pinned), conversation_id))

    def set_scheme(self, conversation_id: str, scheme: str) -> None:
        self._db.execute("UPDATE conversations SET scheme = ? WHERE id = ?", (scheme, conversation_id))

    def generation(self, conversation_id: str) -> dict[str, settings.Value]:
        """What was chosen for this conversation's replies."""
        row = self._db.execute("SELECT generation FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
        return settings.read(row["generation"]) if row is not None and isinstance(row["generation"], str) else {}

    def set_generation(self, conversation_id: str, chosen: settings.Chosen) -> None:
        self._db.execute(
            "UPDATE conversations SET generation = ? WHERE id = ?", (settings.write(chosen), conversation_id)
        )

    def set_model(self, conversation_id: str, model: str) -> None:
        self._db.execute("UPDATE conversations SET model = ? WHERE id = ?", (model, conversation_id))

    def delete(self, conversation_id: str) -> None:
        """Take it off the list. `restore` brings it back until the program ends; the next start forgets it."""
        self._db.execute("UPDATE conversations SET deleted = ? WHERE id = ?", (time.time(), conversation_id))

    def restore(self, conversation_id: str) -> None:
        self._db.execute("UPDATE conversations SET deleted = NULL WHERE id = ?", (conversation_id,))

    # ------------------------------------------------------------ messages

    def add_user_message(self, conversation_id: str, content: str) -> Message:
        """Append behind the current leaf. The first one names an untitled conversation."""
        self._db.execute(
            "UPDATE conversations SET title = ? WHERE id = ? AND title = ''", (titles.propose(content), conversation_id)
        )
        return self._add(conversation_id, "user", content, "complete", self.conversation(conversation_id).leaf, "")

    def edit(self, message: Message, content: str) -> Message:
        """Say something else in a user message's place: a new branch; the old one stays. The first message's title
        becomes another too, unless the user chose one.
        """
        parent = self._talk.tree(message.conversation).parent(message.id)
        made = self._add(message.conversation, "user", content, "complete", parent, "")
        if parent is None:
            self._db.execute(
                "UPDATE conversations SET title = ? WHERE id = ? AND title = ?",
                (titles.propose(content), message.conversation, titles.propose(message.content)),
            )
        if message.starts_context:
            self.start_context(made.id)
        return made

    def begin_reply(self, conversation_id: str, scheme: str, parent: str | None = None) -> Message:
        """An empty assistant message, `partial` until it is finished. `parent` defaults to the leaf; give the user's
        message to answer it a second time: the earlier answer stays as a sibling.
        """
        parent = parent or self.conversation(conversation_id).leaf
        return self._add(conversation_id, "assistant", "", "partial", parent, scheme)

    def resume_reply(self, message: Message, scheme: str) -> Message:
        """Have a reply that was cut go on: `partial` again, as far as it is. Half a letter at its end isn't kept."""
        self._db.execute(
            "UPDATE messages SET content = ?, scheme = ?, state = 'partial' WHERE id = ?",
            (message.content.rstrip("\ufffd"), scheme, message.id),
        )
        self._touch(message.conversation)
        return self.message(message.id)

    def leave_reply(self, message: Message) -> None:
        """What `resume_reply` began led to nothing: the reply is as it was."""
        self._db.execute(
            "UPDATE messages SET content = ?, scheme = ?, state = ? WHERE id = ?",
            (message.content, message.scheme, message.state, message.id),
        )
        self._streaming.drop(message.id)

    def update_partial(self, message_id: str, content: str) -> None:
        """What a streaming reply says so far; only what is new is written. Raises OSError."""
        known = self._db.execute("SELECT 1 FROM messages WHERE id = ? AND state = 'partial'", (message_id,))
        if known.fetchone():
            self._streaming.put(message_id, content)

    def finish_reply(self, turn: TurnFinished, at_end: bool = False) -> None:
        """Commit a reply's whole text, state, counts and rates in one transaction.

        `at_end`: the program's end interrupted it, not the user, so it stays `partial`.
        """
        interrupted = "partial" if at_end else "interrupted"
        state = {"stop": "complete", "interrupted": interrupted, "length": "length"}[turn.reason]
        with transaction(self._db):
            self._db.execute(
                "UPDATE messages SET content = ?, state = ?, scheme = ?, prompt_tokens = ?, reused_tokens = ?, "
                "generated_tokens = ?, prefill_tokens_per_s = ?, tokens_per_s = ?, error = '' WHERE id = ?",
                (turn.text, state, turn.scheme, turn.prompt_tokens, turn.reused_tokens, turn.generated_tokens,
                 turn.prefill_tokens_per_s, turn.tokens_per_s, turn.reply_id),
            )  # fmt: skip
            self._touch(turn.conversation_id)
        self._settled(turn.reply_id)

    def fail_reply(self, message_id: str, content: str, error: str) -> None:
        """Keep what was said before the failure, and the reason."""
        self._db.execute(
            "UPDATE messages SET content = ?, state = 'failed', error = ? WHERE id = ?", (content, error, message_id)
        )
        self._settled(message_id)

    def remove_message(self, message_id: str) -> None:
        """Take back a message without children, e.g. a reply for which there was no room. Where it was shown, the
        branch before it is shown again, else the branch ends with its parent. Raises KeyError.
        """
        with transaction(self._db):
            message = self.message(message_id)
            tree = self._talk.tree(message.conversation)
            if tree.leaf(message_id) != message_id:
                raise KeyError(message_id)
            others = [other for other in tree.siblings(message_id) if other != message_id]
            self._index.remove(self._places("id", message_id))
            self._db.execute("DELETE FROM messages WHERE id = ?", (message_id,))
            self._db.execute(
                "UPDATE conversations SET leaf = ? WHERE id = ? AND leaf = ?",
                (tree.leaf(others[-1]) if others else tree.parent(message_id), message.conversation, message_id),
            )
        self._streaming.drop(message_id)

    def start_context(self, message_id: str) -> None:
        """In branches with this message the model reads from it on; what stands before it stays in the transcript."""
        self._db.execute("UPDATE messages SET starts_context = 1 WHERE id = ?", (message_id,))

    def show(self, conversation_id: str, message_id: str) -> None:
        """Show the branch with this message, to the end that it had when it was shown last. Raises KeyError."""
        tree = self._talk.tree(conversation_id)
        leaf = tree.leaf(message_id)
        branch = tree.branch(leaf)
        with transaction(self._db):
            self._db.execute("UPDATE conversations SET leaf = ? WHERE id = ?", (leaf, conversation_id))
            for parent, child in pairwise(branch):
                if len(tree.siblings(child.id)) > 1 and parent.shown != child.id:
                    self._db.execute("UPDATE messages SET shown = ? WHERE id = ?", (child.id, parent.id))

    def leaf(self, conversation_id: str) -> str | None:
        """The last message of the branch that is shown, None where there is none; a damaged link names nothing."""
        row = self._db.execute("SELECT leaf FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
        if row is None or row["leaf"] is None:
            return None
        return row["leaf"] if isinstance(row["leaf"], str) else ""

    def message(self, message_id: str) -> Message:
        """Raises KeyError."""
        row = self._db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        made = None if row is None else read_message(row)
        if made is None:
            raise KeyError(message_id)
        return self._as_far(made)

    def messages(self, conversation_id: str) -> list[Message]:
        """The branch that is shown, from its first message to the leaf; empty for a conversation that is gone.

        A damaged message is left out and logged. Where its loss breaks the chain, the branch goes on with the message
        that was written before it.
        """
        return self.branch(conversation_id)[0]

    def branch(self, conversation_id: str) -> tuple[list[Message], dict[str, tuple[str, ...]]]:
        """The branch that is shown, and for each of its messages that has others in its place all of these, the
        oldest first.
        """
        tree = self._talk.tree(conversation_id)
        branch = [self._as_far(message) for message in tree.branch(self.leaf(conversation_id))]
        places = {message.id: tree.siblings(message.id) for message in branch}
        return branch, {message: others for message, others in places.items() if len(others) > 1}

    # ------------------------------------------------------------ search

    def follow(self) -> bool:
        """Take some messages that are new into the search index. Returns whether there may be more: call it again."""
        return self._index.follow()

    def search(self, text: str, limit: int = 200) -> list[Hit]:
        """The latest messages that hold every word of `text`; what `follow` hasn't taken in isn't found."""
        return self._index.find(text, limit)

    # ------------------------------------------------------------

    def _as_far(self, message: Message) -> Message:
        """With what is in a file of its own while it streams."""
        text = self._streaming.text(message.id) if message.state == "partial" else None
        return replace(message, content=text) if text else message

    def _settled(self, message_id: str) -> None:
        """Its row says all: so does the index, where it had taken in a beginning."""
        self._streaming.drop(message_id)
        self._index.renew(self._places("id", message_id))

    def _places(self, column: str, value: str) -> list[int]:
        """What the search index knows messages by."""
        return [seq for (seq,) in self._db.execute(f"SELECT seq FROM messages WHERE {column} = ?", (value,))]

    def _forget_deleted(self) -> None:
        for (conversation_id,) in self._db.execute("SELECT id FROM conversations WHERE deleted IS NOT NULL").fetchall():
            self._index.remove(self._places("conversation", conversation_id))
        self._db.execute("DELETE FROM conversations WHERE deleted IS NOT NULL")

    def _take_in_left(self) -> None:
        """What a killed program left of replies goes into their rows."""
        left = list(self._streaming.left())
        try:
            with transaction(self._db):
                self._db.executemany(
                    "UPDATE messages SET content = ? WHERE id = ? AND state = 'partial'",
                    [(text, message_id) for message_id, text in left],
                )
        except sqlite3.OperationalError as error:  # shown from their files, and tried again at the next start
            log.warning("the rest of a reply can't be taken in: %s", error)
        else:
            for message_id, _ in left:
                self._settled(message_id)

    def _add(
        self, conversation_id: str, role: Role, content: str, state: State, parent: str | None, scheme: str
    ) -> Message:
        message_id = uuid.uuid4().hex
        with transaction(self._db):
            self._db.execute(
                "INSERT INTO messages (id, conversation, parent, role, content, state, scheme, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (message_id, conversation_id, parent, role, content, state, scheme, time.time()),
            )
            self._db.execute("UPDATE conversations SET leaf = ? WHERE id = ?", (message_id, conversation_id))
            # Where nothing else was chosen the newest is shown anyway.
            self._db.execute("UPDATE messages SET shown = ? WHERE id = ? AND shown IS NOT NULL", (message_id, parent))
            self._touch(conversation_id)
        return self.message(message_id)

    def _touch(self, conversation_id: str) -> None:
        self._db.execute("UPDATE conversations SET updated = ? WHERE id = ?", (time.time(), conversation_id))
