"""What the user chooses about what was said before: edit it, answer it again, show another version, leave out old
turns, move on elsewhere, take it back. Each choice is one transaction in the library, then the new reply is begun.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app import events as ev
from app.library.records import Message
from app.ui.chat.chat_items import ChatItems
from app.ui.chat.said import Said
from app.ui.composer.composer import Composer
from app.ui.shared.cards import ContextFullCard
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.writing import Writing
from app.ui.transcript.pieces import MESSAGE
from app.ui.transcript.reply_view import ReplyView
from app.ui.transcript.transcript import Transcript

NO_ROOM_S = 12.0


class Stage(Protocol):
    """What the choices ask of the chat."""

    current: str
    scheme: str

    @property
    def generating(self) -> bool: ...

    def free(self) -> bool: ...
    def stop(self) -> None: ...
    def wanted_scheme(self) -> str: ...
    def model_name(self) -> str: ...
    def state_changed(self) -> None: ...
    def new(self) -> None: ...
    def open(self, conversation_id: str) -> None: ...
    def show_branch(self) -> None: ...
    def restore_cache(self) -> None: ...
    def generate(self, reply: Message, anew: bool = False, before: Message | None = None) -> None: ...


class Choices(QObject):
    def __init__(self, stage: Stage, said: Said, writing: Writing, items: ChatItems, transcript: Transcript,
                 composer: Composer, notices: NoticeBar, parent: QObject) -> None:  # fmt: skip
        super().__init__(parent)
        self._stage, self._said, self._writing, self._items = stage, said, writing, items
        self._transcript, self._composer, self._notices = transcript, composer, notices
        self._next: tuple[str, Callable[[], None]] | None = None  # in which conversation, when its reply has stopped
        self._unanswered = ""  # the message for which there was no room

    # ------------------------------------------------------------ branches

    def on_retry(self) -> None:
        """Answer the last user message again."""
        self.on_again("")

    def on_again(self, reply_id: str) -> None:
        """Another reply in this one's place."""
        self._when_stopped(partial(self._answer, reply_id))

    def _answer(self, before: str) -> None:
        user = self._said.last_by_user(self._stage.current, before)
        if user is not None and self._stage.free():
            reply = self._writing.now(partial(self._said.answer, user, self._stage.wanted_scheme()))
            if reply is not None:
                self._stage.generate(reply)

    def on_go_on(self, reply_id: str) -> None:
        """A reply that was cut grows on from its end."""
        before = self._said.message(reply_id)
        if self._stage.generating or not before.content or not self._stage.free():
            return
        reply = self._writing.now(partial(self._said.go_on, before, self._stage.wanted_scheme()))
        if reply is not None:
            self._stage.generate(reply, before=before)

    @property
    def can_go_on(self) -> bool:
        """Whether the last reply was cut."""
        return self._cut() is not None

    def _cut(self) -> ReplyView | None:
        return next((view for view in self._replies() if view.can_go_on), None)

    def _replies(self) -> list[ReplyView]:
        return [item for item in self._transcript.items() if isinstance(item, ReplyView)]

    def on_go_on_last(self) -> None:
        if (view := self._cut()) is not None:
            view.go_on_clicked.emit()

    def on_no_room(self, reply: Message) -> None:
        """It stands there as it did, and why it doesn't go on."""
        self.put_reply(reply)
        self._notices.show_notice(
            self.tr("This reply fills the model's context, so it can't go on. Nothing was cut."), timeout_s=NO_ROOM_S
        )

    def put_reply(self, reply: Message) -> None:
        """Its piece anew, the last of the branch."""
        self._put(self._items.reply(reply, self._said.versions(reply), last=True))

    def view_of(self, reply: Message) -> ReplyView | None:
        """Where it is on screen."""
        return next((v for v in self._replies() if v.property(MESSAGE) == reply.id), None)

    def on_edit(self, message_id: str) -> None:
        editor = self._items.editor(self._said.message(message_id))
        self._put(editor)
        editor.setFocus()
        self._transcript.ensureWidgetVisible(editor)

    def on_edit_last(self) -> None:
        user = self._said.last_by_user(self._stage.current)
        if user is not None and self._transcript.show_message(user.id):
            self.on_edit(user.id)

    def on_edit_cancelled(self, message_id: str) -> None:
        self._items.editing.close(message_id)
        self._put_bubble(self._said.message(message_id))
        self._composer.edit.setFocus()

    def _put_bubble(self, message: Message) -> None:
        self._put(self._items.said(message, self._said.versions(message)))

    def _put(self, item: QWidget) -> None:
        """In the place of the piece that stands for the same message."""
        message_id = item.property(MESSAGE)
        for old in self._transcript.items():
            if old.property(MESSAGE) == message_id:
                self._transcript.replace(old, item)

    def on_edited(self, message_id: str, text: str) -> None:
        """Answer `text` in the message's place; unchanged, the message once more. The editor stays where nothing can be
        answered now.
        """
        self._when_stopped(partial(self._answer_edited, message_id, text))

    def _answer_edited(self, message_id: str, text: str) -> None:
        message = self._said.message(message_id)
        if not self._stage.free():
            return
        scheme = self._stage.wanted_scheme()
        step = self._said.answer if text == message.content else partial(self._said.edit, text=text)
        reply = self._writing.now(partial(step, message, scheme=scheme))
        if reply is not None:
            self._items.editing.close(message_id)
            self._put_bubble(message)
            self._stage.generate(reply)
            self._composer.edit.setFocus()

    def on_version(self, message_id: str) -> None:
        """Show the branch with this message."""
        self._when_stopped(partial(self._show, message_id))

    def _show(self, message_id: str) -> None:
        if self._writing.now(partial(self._said.show, message_id)) is not None:
            self._stage.show_branch()
            self._stage.restore_cache()

    def _when_stopped(self, step: Callable[[], None]) -> None:
        """At once, or when the reply that is being made here has stopped."""
        if self._stage.generating:
            self._next = self._stage.current, step
            self._stage.stop()
        else:
            step()

    def turn_ended(self, conversation_id: str) -> None:
        waiting, self._next = self._next, None
        if waiting and waiting[0] == conversation_id == self._stage.current:
            waiting[1]()

    # ------------------------------------------------------------ when the context is full

    def on_overfull(self, event: ev.ContextFull, view: ReplyView, message_id: str) -> None:
        """In the reply's place a card says what can be done."""
        self._unanswered = message_id
        self._transcript.remove(view)
        card = ContextFullCard(event.prompt_tokens, event.context_tokens, event.droppable_turns)
        card.new_conversation_chosen.connect(self.on_move_to_new)
        card.drop_chosen.connect(self.on_drop_turns)
        card.cancel_chosen.connect(self.on_take_back)
        self._transcript.append(card)
        self._stage.state_changed()

    def on_drop_turns(self, turns: int) -> None:
        if not self._stage.free():
            return
        message = self._said.message(self._unanswered)
        users = [m.message_id for m in self._said.to_read(message.conversation, message.id) if m.role == "user"]
        step = partial(self._said.answer_from, users[turns], message, self._stage.wanted_scheme())
        reply = self._writing.now(step)
        if reply is not None:
            self._stage.generate(reply, anew=True)

    def on_move_to_new(self) -> None:
        if not self._stage.free():
            return
        message = self._said.message(self._unanswered)
        step = partial(self._said.move, message, self._stage.scheme, self._stage.model_name())
        reply = self._writing.now(step)
        if reply is not None:
            self._stage.generate(reply)

    def on_take_back(self) -> None:
        message = self._said.message(self._unanswered)
        removed = self._writing.now(partial(self._said.take_back, message))
        if removed is None:
            return
        if self._said.is_empty(message.conversation):
            self._stage.new()
        else:
            self._stage.open(message.conversation)
        if removed:
            self._composer.give_back(message.content)
