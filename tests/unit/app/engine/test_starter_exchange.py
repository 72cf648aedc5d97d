"""A conversation goes to another machine with its cache: the starter model goes on there without reading it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.engine import Engine
from app.events import (
    AdoptCache,
    CacheAdopted,
    CachePacked,
    Event,
    Generate,
    LoadModel,
    OpenConversation,
    PackCache,
    SnapshotLoaded,
    SnapshotSaved,
    TurnFinished,
)
from app.library import exchange
from app.library.archive import CachePart
from app.library.conversations import Library
from app.library.records import Message
from app.library.snapshots import SnapshotStore
from tests.engine_kit import GREEDY, drive, one

QUESTION = "Name three rivers of Europe, and say in one sentence of each where it flows. " * 3


class Machine:
    """A data folder and an engine of its own."""

    def __init__(self, folder: Path, model: Path) -> None:
        folder.mkdir()
        self.store = SnapshotStore(folder)
        self.library = Library(folder / "library.db")
        self.engine = Engine(folder)
        drive(self.engine, LoadModel(str(model)))

    def reply(self, conversation: str, parent: Message) -> TurnFinished:
        made = self.library.begin_reply(conversation, "turbo4", parent.id)
        messages = tuple(m.as_chat() for m in self.library.messages(conversation)[:-1])
        turn = one(TurnFinished, drive(self.engine, Generate(conversation, made.id, messages, "turbo4", GREEDY)))
        self.library.finish_reply(turn)
        return turn

    def ask(self, conversation: str, text: str) -> TurnFinished:
        return self.reply(conversation, self.library.add_user_message(conversation, text))

    def open(self, conversation: str) -> list[Event]:
        messages = tuple(m.as_chat() for m in self.library.messages(conversation))
        return drive(self.engine, OpenConversation(conversation, messages, "turbo4", GREEDY))


@pytest.mark.slow
def test_the_other_machine_goes_on_without_prefill(starter_model_path: Path, tmp_path: Path) -> None:
    one_machine, other = Machine(tmp_path / "one", starter_model_path), Machine(tmp_path / "other", starter_model_path)
    here = one_machine.library.create("turbo4", "SmolLM2", "Rivers").id
    first = one_machine.ask(here, QUESTION)
    (packed,) = one(CachePacked, drive(one_machine.engine, PackCache(here))).files
    part = CachePart(Path(packed.path), packed.tip, packed.fingerprint, packed.scheme, packed.tokens)
    exchange.export(one_machine.library.path, here, tmp_path / "rivers.turbochat", (part,))

    came = exchange.bring_in(
        other.library.path, tmp_path / "rivers.turbochat", other.store.incoming, lambda fingerprint: True, 1 << 32
    )
    (cache,) = came.caches
    adopted = drive(other.engine, AdoptCache(came.conversation, cache.message, str(cache.path)))
    assert one(CacheAdopted, adopted).reason == ""
    assert one(SnapshotSaved, adopted).tip == other.library.messages(came.conversation)[-1].id
    held = first.prompt_tokens + first.generated_tokens
    assert one(SnapshotLoaded, other.open(came.conversation)).tokens == held
    theirs = other.ask(came.conversation, "And the longest?")
    assert theirs.reused_tokens == held
    mine = one_machine.ask(here, "And the longest?")
    assert (theirs.text, theirs.prompt_tokens) == (mine.text, mine.prompt_tokens)
    question = other.library.messages(came.conversation)[2]
    again = other.reply(came.conversation, question)
    assert again.reused_tokens == again.prompt_tokens - 1, "all but the last"
    other.library.close()
    one_machine.library.close()
