"""Discarding a conversation's cache: at once out of sight, to be undone until the notice goes."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from PySide6.QtCore import QObject, Signal

from app import events as ev
from app.settings import Settings
from app.ui.chat.chat import Chat
from app.ui.shared import formats
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.turn import EngineLink

WAITING = "caches_to_discard"  # setting: a program that ends meanwhile leaves it to the next start
NOTICE_S = 12.0


class Discarding(QObject):
    """`changed` with `words`, which say what an undo brings back (empty: there is nothing)."""

    changed = Signal()

    def __init__(self, engine: EngineLink, chat: Chat, settings: Settings, notices: NoticeBar, parent: QObject) -> None:
        super().__init__(parent)
        self._engine, self._chat, self._settings, self._notices = engine, chat, settings, notices
        self.waiting: tuple[str, ...] = ()
        self.words = ""
        none: list[str] = []
        for left in settings.get(WAITING, none):
            engine.submit(ev.DiscardCache(left))
        self._remember()
        chat.discard_wanted.connect(self.on_wanted)
        chat.cache_wanted.connect(self.on_cache_wanted)

    def on_wanted(self, conversation_id: str) -> None:
        self.discard({conversation_id: self._chat.title(conversation_id)})

    def discard(self, titles: dict[str, str]) -> None:
        """Of these conversations, whose titles serve the notice."""
        self.carry_out()
        self.waiting = tuple(titles)
        self._remember()
        for conversation_id in self.waiting:
            self._chat.hide_cache(conversation_id)
        title = formats.short(next(iter(titles.values())))
        self.words = (
            self.tr("The cache of “{0}” was discarded. Its text is kept.").format(title)
            if len(titles) == 1
            else self.tr("%n cache(s) were discarded. The text is kept.", "", len(titles))
        )
        undo = partial(self.undo_of, self.waiting)
        notice = self._notices.show_notice(self.words, self.tr("Undo"), undo, NOTICE_S)
        if notice is not None:
            notice.dismissed.connect(partial(self._carry_out_of, self.waiting))
        self.changed.emit()

    def undo_of(self, conversations: Collection[str]) -> None:
        """Undo, unless that is done, or too late."""
        if conversations == self.waiting:
            self.undo()

    def undo(self) -> None:
        for conversation_id in self._take():
            self._chat.bring_back_cache(conversation_id)

    def on_cache_wanted(self, conversation_id: str) -> None:
        """The engine is about to use it."""
        if conversation_id in self.waiting:
            self.carry_out()

    def carry_out(self) -> None:
        """Now there is no way back."""
        for conversation_id in self._take():
            self._chat.discard_cache(conversation_id)

    def _carry_out_of(self, conversations: Collection[str]) -> None:
        if conversations == self.waiting:
            self.carry_out()

    def _take(self) -> tuple[str, ...]:
        taken, words = self.waiting, self.words
        self.waiting, self.words = (), ""
        if taken:
            self._remember()
            self._notices.dismiss(words)
            self.changed.emit()
        return taken

    def _remember(self) -> None:
        if self.waiting or WAITING in self._settings:
            self._settings.set(WAITING, list(self.waiting))
