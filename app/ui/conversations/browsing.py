"""Between the list of conversations and the chat: which one is on screen, and what the user does with one."""

from __future__ import annotations

import logging

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.library.conversations import Library
from app.ui.chat.chat import Chat
from app.ui.conversations.search_results import Result
from app.ui.conversations.sidebar import Sidebar
from app.ui.shared import edit_commands, formats
from app.ui.shared.actions import Actions

log = logging.getLogger(__name__)

FOLLOW_MS = 20  # between two steps of the search index; each takes a few milliseconds


class Browsing(QObject):
    """`opening`: the chat comes on screen, whatever is there; `chat_wanted`: with the focus in the message.
    `list_wanted`: the list comes on screen. `titled(title)` of the conversation in the chat.
    """

    opening = Signal()
    chat_wanted = Signal()
    list_wanted = Signal()
    titled = Signal(str)

    def __init__(self, library: Library, chat: Chat, sidebar: Sidebar, actions: Actions, parent: QObject) -> None:
        super().__init__(parent)
        self._library, self._chat, self._sidebar, self._actions = library, chat, sidebar, actions
        self._shown, self._pinned, self._others = True, False, False
        self._follow_timer = QTimer(self, singleShot=True, interval=FOLLOW_MS)
        self._follow_timer.timeout.connect(self.on_follow)
        a = actions
        a.new.triggered.connect(self.on_new)
        a.rename.triggered.connect(self.on_rename)
        a.pin.triggered.connect(self.on_pin)
        a.delete.triggered.connect(self.on_delete)
        a.undo.triggered.connect(self.on_undo)
        a.edit_opening.connect(self.on_deleting_changed)
        a.next.triggered.connect(self.on_next)
        a.previous.triggered.connect(self.on_previous)
        chat.deleting.changed.connect(self.on_deleting_changed)
        chat.list_changed.connect(self.on_list_changed)
        sidebar.conversation_chosen.connect(self.on_conversation_chosen)
        sidebar.hit_chosen.connect(self.on_hit_chosen)
        sidebar.rename_requested.connect(chat.rename)
        sidebar.pin_requested.connect(chat.pin)
        sidebar.delete_requested.connect(self.on_delete_requested)
        sidebar.searched.connect(self.on_searched)
        self.on_deleting_changed()

    # ------------------------------------------------------------ the list

    def on_list_changed(self) -> None:
        conversations = self._library.conversations()
        self._sidebar.model.answering = self._chat.answering.conversation
        self._sidebar.refresh(conversations, self._chat.current)
        current = next((c for c in conversations if c.id == self._chat.current), None)
        self._pinned = current is not None and current.pinned
        self._others = len(conversations) > (current is not None)
        self._actions.pin.setText(self.tr("Unpin") if self._pinned else self.tr("Pin to the top"))
        self._allow()
        self._follow_timer.start()
        self.titled.emit(current.title if current else "")

    def set_shown(self, shown: bool) -> None:
        """Whether the chat is on screen: nothing is done to a conversation that isn't."""
        self._shown = shown
        self._allow()

    def _allow(self) -> None:
        a = self._actions
        for action in (a.rename, a.delete, a.pin, a.export_markdown, a.export_json, a.export_chat):
            action.setEnabled(self._shown and bool(self._chat.current))
        for action in (a.next, a.previous):
            action.setEnabled(self._others)

    def on_deleting_changed(self) -> None:
        """What Undo means: what was typed, where the cursor is; else the deletion."""
        typed = edit_commands.can(QApplication.focusWidget(), "undo")
        title, action = "" if typed else self._chat.deleting.title, self._actions.undo
        action.setEnabled(typed or bool(title))
        action.setText(self.tr("Undo deleting “{0}”").format(formats.short(title, 24)) if title else self.tr("Undo"))

    def on_undo(self) -> None:
        if not edit_commands.do(QApplication.focusWidget(), "undo"):
            self._chat.deleting.undo()

    # ------------------------------------------------------------ which one

    def on_new(self) -> None:
        self._chat.new()
        self.chat_wanted.emit()

    def on_conversation_chosen(self, conversation_id: str) -> None:
        self.opening.emit()
        if conversation_id != self._chat.current:
            self._chat.open(conversation_id)

    def on_next(self) -> None:
        self._step(1)

    def on_previous(self) -> None:
        self._step(-1)

    def _step(self, step: int) -> None:
        ids = [c.id for c in self._library.conversations()]
        if ids:
            place = ids.index(self._chat.current) + step if self._chat.current in ids else 0
            self._chat.open(ids[place % len(ids)])
            self.chat_wanted.emit()

    # ------------------------------------------------------------ what is done with one

    def on_rename(self) -> None:
        self.list_wanted.emit()
        self._sidebar.on_rename()

    def on_pin(self) -> None:
        self._sidebar.on_open()
        if self._chat.current:
            self._chat.pin(self._chat.current, not self._pinned)

    def on_delete(self) -> None:
        if self._sidebar.list.editing:  # it would go with the name that is being typed
            return
        self._sidebar.on_open()  # what is marked in the list is meant
        if self._chat.current:
            self.on_delete_requested(self._chat.current)

    def on_delete_requested(self, conversation_id: str) -> None:
        shown = conversation_id == self._chat.current
        ids = [conversation.id for conversation in self._library.conversations()]
        place = ids.index(conversation_id) if conversation_id in ids else 0
        deleted = self._chat.delete(conversation_id)
        ids = [one for one in ids if one != conversation_id]
        if deleted and shown and ids:  # its neighbour takes its place, as in every list
            self._chat.open(ids[min(place, len(ids) - 1)])
        self.chat_wanted.emit()

    # ------------------------------------------------------------ search

    def on_searched(self, text: str) -> None:
        self._sidebar.show_hits(self._library.search(text))

    def on_hit_chosen(self, result: Result) -> None:
        self.opening.emit()
        self._chat.open_at(result.conversation, result.message)

    def stop(self) -> None:
        """The library is about to be closed."""
        self._follow_timer.stop()

    def on_follow(self) -> None:
        """Take what is new into the search index, a little at a time; what is being searched for may be in it."""
        more = self._library.follow()
        if more:
            self._follow_timer.start()
        else:
            self._sidebar.search_again()
