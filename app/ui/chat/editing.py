"""What stands in the open editors of earlier messages is kept as drafts are, also when the program is killed."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer

from app.library.conversations import Library
from app.library.records import Message
from app.ui.chat.drafting import DELAY_MS, LATEST_MS
from app.ui.shared.writing import Writing


class Editing(QObject):
    """`texts`: by message. Written when typing pauses or goes on for long, and at `flush`; what says the same as its
    message isn't kept.
    """

    def __init__(self, library: Library, writing: Writing, parent: QObject) -> None:
        super().__init__(parent)
        self._library, self._writing = library, writing
        self._texts: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        self._timer = QTimer(self, singleShot=True, interval=DELAY_MS)
        self._latest = QTimer(self, singleShot=True, interval=LATEST_MS)
        for timer in (self._timer, self._latest):
            timer.timeout.connect(self.flush)

    def show(self, conversation_id: str) -> None:
        """This conversation's come from the disk; one that is open already stays as it is."""
        self._texts = {**self._library.drafts.edits(conversation_id), **self._texts}

    def is_open(self, message_id: str) -> bool:
        return message_id in self._texts

    def open(self, message: Message) -> str:
        """What its editor begins with: what was typed in it before, else the message."""
        return self._texts.setdefault(message.id, message.content)

    def on_changed(self, message_id: str, text: str) -> None:
        self._texts[message_id] = self._waiting[message_id] = text
        self._timer.start()
        if not self._latest.isActive():
            self._latest.start()

    def close(self, message_id: str) -> None:
        if self._texts.pop(message_id, None) is not None:
            self._waiting.pop(message_id, None)
            self._writing.put(("edit", message_id), partial(self._library.drafts.drop_edit, message_id))

    def flush(self) -> None:
        self._timer.stop()
        self._latest.stop()
        waiting, self._waiting = self._waiting, {}
        for message_id, text in waiting.items():
            self._writing.put(("edit", message_id), partial(self._library.drafts.write_edit, message_id, text))
