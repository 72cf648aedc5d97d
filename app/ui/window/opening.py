"""Files that the system asks the program to open: a double click in the Finder, a drop onto the Dock's icon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class Opening(QObject):
    """`opened(Path)` for each. A Mac sends the first before there is a window: they wait until somebody listens."""

    opened = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._early: list[Path] | None = []

    def listen(self, take: Callable[[Path], None]) -> None:
        self.opened.connect(take)
        early, self._early = self._early or [], None
        for path in early:
            self.opened.emit(path)

    def hear(self, event: QEvent) -> bool:
        """Whether it was one of these."""
        if not isinstance(event, QFileOpenEvent) or not event.file():
            return False
        if self._early is None:
            self.opened.emit(Path(event.file()))
        else:
            self._early.append(Path(event.file()))
        return True


class Application(QApplication):
    """Such an event is the application's own. A filter would see those of every widget, which costs time."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.opening = Opening()  # the first events come while Qt sets itself up
        super().__init__(list(arguments))

    def event(self, event: QEvent) -> bool:
        return self.opening.hear(event) or super().event(event)
