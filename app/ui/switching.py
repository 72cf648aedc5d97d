"""Which change of scheme waits for a reply's end, which one runs, and what is said of it."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.ui.memory_panel import MemoryPanel


class Switching(QObject):
    def __init__(self, panel: MemoryPanel, parent: QObject) -> None:
        super().__init__(parent)
        self._panel = panel
        self._waiting: dict[str, str] = {}  # conversation → scheme
        self._running: tuple[str, str] | None = None  # conversation, scheme
        self._done = self._total = 0

    def wait(self, conversation_id: str, scheme: str) -> None:
        self._waiting[conversation_id] = scheme

    def is_waiting(self, conversation_id: str) -> bool:
        return conversation_id in self._waiting

    def take(self, conversation_id: str) -> str:
        """The scheme that waits for this conversation's reply, which then waits no longer; else empty."""
        return self._waiting.pop(conversation_id, "")

    def begin(self, conversation_id: str, scheme: str) -> None:
        self._running, self._done, self._total = (conversation_id, scheme), 0, 0

    def progress(self, done: int, total: int) -> None:
        self._done, self._total = done, total

    def end(self) -> None:
        self._running = None

    def runs(self, conversation_id: str) -> bool:
        return self._running is not None and self._running[0] == conversation_id

    def reason(self, conversation_id: str) -> str:
        """Why nothing can be sent meanwhile; empty when something can."""
        if self._running is None or self._running[0] != conversation_id:
            return ""
        return self.tr("The cache is changing to {0}").format(self._running[1])

    def show(self, conversation_id: str) -> None:
        """Tell the panel what concerns this conversation."""
        text, done, total = "", 0, 0
        if conversation_id in self._waiting:
            text = self.tr("{0} after this reply").format(self._waiting[conversation_id])
        elif self._running is not None and self._running[0] == conversation_id:
            text, done, total = self.tr("Changing to {0}…").format(self._running[1]), self._done, self._total
            if total:
                text = self.tr("Rebuilding as {0}: {1} %").format(self._running[1], 100 * done // total)
        self._panel.show_pending(text, done, total)
