"""A conversation out of the library and into it: as Markdown, as JSON, and with its caches (app.library.archive).

Works beside the window's Library, on connections of its own, so that it can run in another thread.
"""

from __future__ import annotations

import datetime
import itertools
import os
import re
import sqlite3
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from app import generation, thinking
from app.errors import AppError
from app.library import archive, document
from app.library.archive import CachePart
from app.library.document import Document
from app.library.records import Message, read_conversation, read_message, read_point, read_switch
from app.library.snapshots import FOREIGN
from app.library.streaming import Streaming
from app.library.tree import Tree
from app.paths import sweep, write_atomic
from app.words import say, why

BUSY_S = 10.0
MARKDOWN, JSON = ".md", ".json"


@dataclass(frozen=True)
class Imported:
    """The new conversation, and its caches with the new messages' ids, for the engine to look at."""

    conversation: str
    title: str
    caches: tuple[CachePart, ...]
    left_out: str = ""  # why a cache in the file isn't among them


# ---------------------------------------------------------------- out


def gather(library: Path, conversation_id: str) -> Document:
    """All of a conversation, as the database file `library` has it. Raises AppError where it is gone."""
    with closing(_connect(library)) as db:
        asked = "SELECT *, 0 AS snapshot_bytes FROM conversations WHERE id = ?"
        row = db.execute(asked, (conversation_id,)).fetchone()
        conversation = None if row is None else read_conversation(row)
        if conversation is None:
            raise AppError(say("The conversation is gone, so nothing was exported."))
        of = "WHERE conversation = ? ORDER BY seq"
        rows = {
            name: db.execute(f"SELECT * FROM {name} {of}", (conversation_id,)).fetchall()
            for name in ("messages", "switches", "samples")
        }
    said = dict(Streaming(library.with_name("streaming")).left())
    messages = [made for row_ in rows["messages"] if (made := read_message(row_)) is not None]
    tree = Tree(messages)
    return Document(
        title=conversation.title,
        scheme=conversation.scheme,
        model=conversation.model,
        created=conversation.created,
        settings=generation.read(str(row["generation"] or "")),
        shown=next((m.id for m in reversed(tree.branch(conversation.leaf))), None),
        messages=[
            replace(m, parent=tree.parent(m.id), content=(said.get(m.id) if m.state == "partial" else "") or m.content)
            for m in messages
        ],
        switches=[switch for row_ in rows["switches"] if (switch := read_switch(row_)) is not None and switch.method],
        samples=[point for row_ in rows["samples"] if (point := read_point(row_)) is not None],
    )


def export(library: Path, conversation_id: str, target: Path, caches: tuple[CachePart, ...] = (),
           cancelled: Callable[[], bool] = lambda: False) -> int:  # fmt: skip
    """Write the conversation to `target`, whose ending says how; returns its bytes. Raises AppError, Interrupted."""
    gathered = gather(library, conversation_id)
    sweep(target.parent)
    try:
        if target.suffix == archive.ENDING:
            return archive.write(target, gathered, caches, cancelled)
        content = document.write(gathered) if target.suffix == JSON else markdown(gathered).encode("utf-8", "replace")
        write_atomic(target, content)
        return len(content)
    except OSError as error:
        raise AppError(
            say("“{0}” can't be exported to {1}: {2}. Nothing was written.", gathered.title, target, why(error)),
            say("Choose another place, or make room there."),
            repr(error),
        ) from error


def markdown(exported: Document) -> str:
    """The branch that is shown, for people to read. Thoughts are folded where the reader can fold."""
    branch = Tree(exported.messages).branch(exported.shown)
    day = datetime.datetime.fromtimestamp(exported.created).date().isoformat()
    head = " · ".join(part for part in (exported.model, exported.scheme, day) if part)
    parts = [f"# {exported.title or say('Conversation')}", f"*{head}*"]
    for message in branch:
        name = {"user": say("You"), "system": say("System")}.get(message.role, exported.model or say("Model"))
        parts.append(f"## {name}")
        parts += _said(message)
    return "\n\n".join(parts) + "\n"


def _said(message: Message) -> list[str]:
    if message.role != "assistant":
        return [message.content]
    fold = f"<details>\n<summary>{say('Thoughts')}</summary>\n\n{{0}}\n\n</details>"
    parts = [
        fold.format(part.text.strip()) if part.thinking else part.text.strip()
        for part in thinking.split(message.content)
    ]
    ends = {"length": say("cut at the limit of tokens"), "complete": "", "failed": message.error or say("failed")}
    end = ends.get(message.state, say("stopped"))
    return [*parts, *([f"*({end})*"] if end else [])]


# ---------------------------------------------------------------- in


def bring_in(library: Path, source: Path, place: Callable[[], Path], wanted: Callable[[str], bool], most_bytes: int,
             cancelled: Callable[[], bool] = lambda: False) -> Imported:  # fmt: skip
    """Read a `.turbochat` or a `.json` file into a new conversation; see archive.read for the caches.

    Every message gets a new id: nothing that is there is touched. Raises AppError with nothing left behind, Interrupted
    too.
    """
    caches: tuple[CachePart, ...] = ()
    left_out = ""
    if source.exists() and not source.is_file():  # a pipe would be waited for
        raise AppError(say("{0} is no file. Nothing was imported.", source.name))
    try:
        if source.suffix.lower() == archive.ENDING:
            opened = archive.read(source, place, wanted, most_bytes, cancelled)
            found, caches, left_out = opened.document, tuple(opened.caches), opened.left_out
        else:
            if os.stat(source).st_size > archive.MOST_TEXT_BYTES:
                raise AppError(say("The file is too large for a conversation. Nothing was imported."))
            found = document.read(source.read_bytes())
        conversation, title, ids = _insert(library, found, FOREIGN if caches else "")
    except (OSError, sqlite3.Error) as error:
        _remove(caches)
        raise AppError(
            say("{0} can't be imported: {1}. Nothing was imported.", source.name, why(error)),
            say("Check that the file is there, and that the disk isn't full."),
            repr(error),
        ) from error
    except AppError as error:  # of several files, which one
        _remove(caches)
        raise AppError(f"“{source.name}”: {error.message}", error.hint, error.detail) from error
    except BaseException:
        _remove(caches)
        raise
    moved = tuple(replace(cache, message=ids.get(cache.message, "")) for cache in caches)
    return Imported(conversation, title, moved, left_out)


def _remove(caches: tuple[CachePart, ...]) -> None:
    for cache in caches:
        cache.path.unlink(missing_ok=True)


def _insert(library: Path, found: Document, beginning: str) -> tuple[str, str, dict[str | None, str]]:
    """One transaction. Returns the conversation's id, with this `beginning`; its title; its messages' new ids."""
    conversation, now = beginning + uuid.uuid4().hex, time.time()
    ids: dict[str | None, str] = {message.id: uuid.uuid4().hex for message in found.messages}
    with closing(_connect(library)) as db:
        db.execute("BEGIN IMMEDIATE")
        title = _free_title(db, found.title)
        db.execute(
            "INSERT INTO conversations (id, title, scheme, model, leaf, generation, created, updated) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (conversation, title, found.scheme, found.model, ids.get(found.shown),
             generation.write(found.settings), found.created or now, now),
        )  # fmt: skip
        db.executemany(
            "INSERT INTO messages (id, conversation, parent, role, content, state, error, scheme, prompt_tokens, "
            "reused_tokens, generated_tokens, prefill_tokens_per_s, tokens_per_s, created, shown, starts_context) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (ids[m.id], conversation, ids.get(m.parent), m.role, m.content, m.state, m.error, m.scheme,
                 m.prompt_tokens, m.reused_tokens, m.generated_tokens, m.prefill_tokens_per_s, m.tokens_per_s,
                 m.created or now, ids.get(m.shown), int(m.starts_context))
                for m in found.messages
            ],
        )  # fmt: skip
        db.executemany(
            "INSERT INTO switches (conversation, after_message, from_scheme, to_scheme, tokens, bytes_before, "
            "bytes_after, method, seconds, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (conversation, ids.get(s.after_message), s.from_scheme, s.to_scheme, s.tokens, s.bytes_before,
                 s.bytes_after, s.method, s.seconds, s.created)
                for s in found.switches
            ],
        )  # fmt: skip
        db.executemany(
            "INSERT INTO samples (conversation, tokens, used_bytes, scheme, message) VALUES (?, ?, ?, ?, ?)",
            [(conversation, p.tokens, p.used_bytes, p.scheme, ids.get(p.message)) for p in found.samples],
        )
        db.execute("COMMIT")
    return conversation, title, ids


def _free_title(db: sqlite3.Connection, title: str) -> str:
    """The title, with a number where another conversation in the list has it."""
    taken = {row["title"] for row in db.execute("SELECT title FROM conversations WHERE deleted IS NULL")}
    if not title or title not in taken:
        return title
    name = re.sub(r" \(\d+\)$", "", title)
    return next(free for n in itertools.count(2) if (free := f"{name} ({n})") not in taken)


def _connect(library: Path) -> sqlite3.Connection:
    """Closed in the middle of a transaction, it leaves nothing of that."""
    connection = sqlite3.connect(library, isolation_level=None, timeout=BUSY_S)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection
