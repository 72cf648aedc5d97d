"""A real engine process to be killed: library and engine as the window drives them, without the window.

    python -m tests.faults.engine_child MODEL HOME reply|save

Prints a line for each thing that has reached the disk, so that the parent knows when to strike.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from pathlib import Path

import turboquant  # noqa: F401  (before mlx)
from app.engine.engine import Engine
from app.events import (
    Generate,
    GenerationParams,
    LoadModel,
    SaveSnapshots,
    SnapshotSaved,
    SnapshotsRemoved,
    TokenBatch,
    TurnFinished,
)
from app.library.conversations import Library

QUESTION = "Tell me of the sixth day. " * 30
PARTIAL_EVERY_S = 0.05


def main(model: str, home: Path, what: str) -> None:
    library, engine = Library(home / "library.db"), Engine(home)
    for _ in engine.run(LoadModel(model), threading.Event()):
        pass
    conversation = library.create("turbo4", "tiny")
    library.add_user_message(conversation.id, QUESTION)
    reply = library.begin_reply(conversation.id, "turbo4")
    messages = tuple(m.as_chat() for m in library.messages(conversation.id)[:-1])
    params = GenerationParams(temperature=0.0, max_tokens=3000 if what == "reply" else 200)
    text, written = "", time.monotonic()
    for event in engine.run(Generate(conversation.id, reply.id, messages, "turbo4", params), threading.Event()):
        if isinstance(event, TokenBatch):
            text += event.text
            if time.monotonic() - written > PARTIAL_EVERY_S:
                written = time.monotonic()
                library.update_partial(reply.id, text)
                if what == "reply":
                    print(len(text), flush=True)
        elif isinstance(event, TurnFinished):
            library.finish_reply(event)
    session = engine.sessions.held[conversation.id]
    for save in itertools.count():
        if what != "save":
            break
        session.dirty, session.tip = True, reply.id + str(save)  # as after another reply: a file of another name
        for event in engine.run(SaveSnapshots(), threading.Event()):
            if isinstance(event, SnapshotSaved):
                library.caches.saved(event)
                print(event.snapshot_bytes, flush=True)
            else:
                assert isinstance(event, SnapshotsRemoved), event
                library.caches.forget(event.files)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
