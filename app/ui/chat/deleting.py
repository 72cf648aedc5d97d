"""Deleting a conversation: at once off the list, to be undone until another is deleted or the program ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.library.conversations import Library
from app.ui.shared import formats
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.writing import Writing

NOTICE_S = 8.0


class Deleting(QObject):
    """`restored(id)` after an undo; `changed` with `title`, of what an undo brings back (empty: there is nothing).

    `discard(id)` is called for a cache that nobody will ask for again. What is still deleted when the program ends is
    forgotten by the next start.
    """

    restored = Signal(str)
    changed = Signal()

    def __init__(
        self, library: Library, writing: Writing, notices: NoticeBar, discard: Callable[[str], None], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._library, self._writing, self._notices, self._discard = library, writing, notices, discard
        self._deleted = self.title = self._words = ""

    def delete(self, conversation_id: str) -> bool:
        """False: it can't be written, so nothing has changed."""
        title = self._library.conversation(conversation_id).title
        if not self._writing.done(partial(self._library.delete, conversation_id)):
            return False
        if self._deleted:
            self._discard(self._deleted)
        self._deleted, self.title = conversation_id, title
        self._notices.dismiss(self._words)
        self._words = self.tr("“{0}” was deleted.").format(formats.short(self.title))
        undo = partial(self.undo_of, conversation_id)
        self._notices.show_notice(self._words, self.tr("Undo"), undo, NOTICE_S)
        self.changed.emit()
        return True

    def undo_of(self, conversation_id: str) -> None:
        """Undo, unless that is done or another was deleted since."""
        if conversation_id == self._deleted:
            self.undo()

    def undo(self) -> None:
        if self._deleted and self._writing.done(partial(self._library.restore, self._deleted)):
            conversation_id, self._deleted, self.title = self._deleted, "", ""
            self._notices.dismiss(self._words)
            self.restored.emit(conversation_id)
            self.changed.emit()
