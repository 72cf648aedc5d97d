"""A line to search with."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget


class SearchField(QLineEdit):
    """Escape clears it; a second one leaves it. `down_pressed`: on to what was found."""

    left = Signal()
    down_pressed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setClearButtonEnabled(True)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # not the window's Stop
            if event.type() == QEvent.Type.KeyPress:
                if self.text():
                    self.clear()
                else:
                    self.left.emit()
            return True
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Down and event.type() == QEvent.Type.KeyPress:
            self.down_pressed.emit()
        return super().event(event)
