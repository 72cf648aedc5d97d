"""Which changes of scheme wait for a reply's end, which ones run, and what is said of them; each conversation's own."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject

from app.ui.memory.memory_panel import MemoryPanel


@dataclass
class _Change:
    """What was asked of the engine: the last of its `unanswered` commands wants `scheme`."""

    scheme: str
    unanswered: int = 0
    done: int = 0
    total: int = 0


class Switching(QObject):
    def __init__(self, panel: MemoryPanel, parent: QObject) -> None:
        super().__init__(parent)
        self._panel = panel
        self._waiting: dict[str, str] = {}  # conversation → scheme
        self._running: dict[str, _Change] = {}  # conversation → what the engine was asked

    def asked(self, conversation_id: str) -> str:
        """The scheme that was asked for last and isn't there yet; else empty."""
        if conversation_id in self._waiting:
            return self._waiting[conversation_id]
        change = self._running.get(conversation_id)
        return change.scheme if change else ""

    def wait(self, conversation_id: str, scheme: str) -> None:
        self._waiting[conversation_id] = scheme

    def take(self, conversation_id: str) -> str:
        """The scheme that waits for this conversation's reply, which then waits no longer; else empty."""
        return self._waiting.pop(conversation_id, "")

    def begin(self, conversation_id: str, scheme: str) -> None:
        before = self._running.get(conversation_id)
        self._running[conversation_id] = _Change(scheme, 1 + (before.unanswered if before else 0))

    def progress(self, conversation_id: str, done: int, total: int) -> None:
        change = self._running.get(conversation_id)
        if change and change.unanswered == 1:  # else it is an earlier one's, which gives way
            change.done, change.total = done, total

    def end(self, conversation_id: str) -> None:
        """The engine has answered one command of this conversation."""
        change = self._running.get(conversation_id)
        if change:
            change.unanswered -= 1
            if not change.unanswered:
                del self._running[conversation_id]

    def runs(self, conversation_id: str) -> bool:
        return conversation_id in self._running

    def running(self) -> str:
        """The conversation whose change the engine is at; empty when there is none."""
        return next(iter(self._running), "")

    def reason(self, conversation_id: str) -> str:
        """Why nothing can be sent meanwhile; empty when something can."""
        change = self._running.get(conversation_id)
        return self.tr("The cache is changing to {0}").format(change.scheme) if change else ""

    def show(self, conversation_id: str) -> None:
        """Tell the panel what concerns this conversation."""
        text, done, total = "", 0, 0
        if conversation_id in self._waiting:
            text = self.tr("{0} after this reply").format(self._waiting[conversation_id])
        elif change := self._running.get(conversation_id):
            text, done, total = self.tr("Changing to {0}…").format(change.scheme), change.done, change.total
            if total:
                text = self.tr("Rebuilding as {0}: {1} %").format(change.scheme, 100 * done // total)
        self._panel.show_pending(text, done, total)
