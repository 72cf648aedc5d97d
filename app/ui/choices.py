"""What the user chooses about what was said before: answer it again, leave out old turns, move on elsewhere, take it
back. Each choice is one transaction in the library, then the new reply is begun.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from PySide6.QtCore import QObject

from app import events as ev
from app.library.records import Message
from app.ui.cards import ContextFullCard
from app.ui.composer import Composer
from app.ui.messages import ReplyView
from app.ui.said import Said
from app.ui.transcript import Transcript
from app.ui.writing import Writing


class Stage(Protocol):
    """What the choices ask of the chat."""

    current: str
    scheme: str

    @property
    def generating(self) -> bool: ...

    def free(self) -> bool: ...
    def wanted_scheme(self) -> str: ...
    def model_name(self) -> str: ...
    def state_changed(self) -> None: ...
    def new(self) -> None: ...
    def open(self, conversation_id: str) -> None: ...
    def show_said(self, text: str, reply: Message) -> None: ...
    def generate(self, reply: Message) -> None: ...


class Choices(QObject):
    def __init__(
        self, stage: Stage, said: Said, writing: Writing, transcript: Transcript, composer: Composer, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._stage, self._said, self._writing = stage, said, writing
        self._transcript, self._composer = transcript, composer

    def on_retry(self) -> None:
        """Answer the last user message again; what was said before stays in the library as another branch."""
        views = [item for item in self._transcript.items() if isinstance(item, ReplyView)]
        reply = self._answered(self._said.answer)
        if reply is not None:
            if views:
                self._transcript.remove(views[-1])
            self._stage.generate(reply)

    # ------------------------------------------------------------ when the context is full

    def on_overfull(self, event: ev.ContextFull, view: ReplyView) -> None:
        """In the reply's place a card says what can be done."""
        self._transcript.remove(view)
        card = ContextFullCard(event.prompt_tokens, event.context_tokens, event.droppable_turns)
        card.new_conversation_chosen.connect(self.on_move_to_new)
        card.drop_chosen.connect(self.on_drop_turns)
        card.cancel_chosen.connect(self.on_take_back)
        self._transcript.append(card)
        self._stage.state_changed()

    def on_drop_turns(self, turns: int) -> None:
        users = [m.message_id for m in self._said.to_read(self._stage.current) if m.role == "user"]
        reply = self._answered(lambda user, scheme: self._said.answer_from(users[turns], user, scheme))
        if reply is not None:
            self._stage.open(self._stage.current)
            self._transcript.remove(self._transcript.items()[-1])  # as it was stored; the new one takes its place
            self._stage.generate(reply)

    def on_move_to_new(self) -> None:
        message = self._said.last_by_user(self._stage.current)
        if message is None or not self._stage.free():
            return
        step = partial(self._said.move, message, self._stage.scheme, self._stage.model_name())
        reply = self._writing.now(step)
        if reply is not None:
            self._stage.new()
            self._stage.show_said(message.content, reply)

    def on_take_back(self) -> None:
        message = self._said.last_by_user(self._stage.current)
        left = self._writing.now(partial(self._said.take_back, message)) if message else None
        if message is not None and left is not None:
            self._composer.give_back(message.content)
            if left:
                self._stage.open(message.conversation)
            else:
                self._stage.new()

    def _answered(self, step: Callable[[Message, str], Message]) -> Message | None:
        """The place of a new reply to the last user message, by `step`; None where nothing can be answered now."""
        user = self._said.last_by_user(self._stage.current)
        if user is None or self._stage.generating or not self._stage.free():
            return None
        return self._writing.now(partial(step, user, self._stage.wanted_scheme()))
