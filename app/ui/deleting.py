"""Deleting a conversation: at once off the list, for some seconds to be undone, then its cache goes too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from app.library.conversations import Library
from app.ui.notice_bar import NoticeBar

UNDO_S = 8.0


class Deleting(QObject):
    """`restored(id)` after an undo. `discard(id)` is called for each cache that nobody will ask for again."""

    restored = Signal(str)

    def __init__(
        self, library: Library, notices: NoticeBar, discard: Callable[[str], None], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._library, self._notices, self._discard = library, notices, discard
        self._deleted: list[str] = []
        self._timer = QTimer(self, singleShot=True, interval=int(UNDO_S * 1000))
        self._timer.timeout.connect(self.on_timeout)

    def delete(self, conversation_id: str) -> None:
        title = self._library.conversation(conversation_id).title
        self._library.delete(conversation_id)
        self._deleted.append(conversation_id)
        self._timer.start()
        self._notices.show_notice(
            self.tr("“{0}” was deleted.").format(title), self.tr("Undo"), partial(self.restore, conversation_id), UNDO_S
        )

    def restore(self, conversation_id: str) -> None:
        self._library.restore(conversation_id)
        if conversation_id in self._deleted:
            self._deleted.remove(conversation_id)
        self.restored.emit(conversation_id)

    def on_timeout(self) -> None:
        for conversation_id in self._deleted:
            self._discard(conversation_id)
        self._deleted.clear()
