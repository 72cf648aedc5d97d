"""What stands in the composer is kept for its conversation, also when the program ends."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer

from app.library.conversations import Library
from app.ui.composer.composer import Composer
from app.ui.shared.writing import Writing

DELAY_MS = 1500
LATEST_MS = 10_000  # also where typing doesn't pause


class Drafting(QObject):
    """Writes when typing pauses or goes on for long, when another conversation is shown, and at `flush`."""

    def __init__(self, library: Library, writing: Writing, composer: Composer, parent: QObject) -> None:
        super().__init__(parent)
        self._library, self._writing, self._composer = library, writing, composer
        self._shown: str | None = None
        self._text = ""  # as it is written
        self._files: list[str] = []
        self._timer = QTimer(self, singleShot=True, interval=DELAY_MS)
        self._latest = QTimer(self, singleShot=True, interval=LATEST_MS)
        for timer in (self._timer, self._latest):
            timer.timeout.connect(self.flush)
        composer.edited.connect(self.on_edited)

    def on_edited(self) -> None:
        self._timer.start()
        if not self._latest.isActive():
            self._latest.start()

    def show(self, conversation_id: str) -> None:
        """Put this conversation's draft into the composer; what stood there stays with its own."""
        if conversation_id == self._shown:
            return
        self.flush()
        self._shown = conversation_id
        self._composer.set_content(self._library.drafts.read(conversation_id))
        self._text, self._files = self._composer.text, self._composer.files.blocks
        self._wait_no_more()

    def _wait_no_more(self) -> None:
        self._timer.stop()
        self._latest.stop()

    def flush(self) -> None:
        self._wait_no_more()
        if self._shown is None:
            return
        text, files = self._composer.text, self._composer.files.blocks
        if text != self._text:
            self._text = text
            self._writing.put(("draft", self._shown), partial(self._library.drafts.write, self._shown, text))
        if files != self._files:
            self._files = files
            write = partial(self._library.drafts.write_files, self._shown, "\n\n".join(files))
            self._writing.put(("draft's files", self._shown), write)
