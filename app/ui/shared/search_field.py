"""A line to search with."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from app.ui.shared import theme


class SearchField(QLineEdit):
    """Escape clears it; a second one leaves it. `down_pressed`: on to what was found."""

    left = Signal()
    down_pressed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._clear = self.addAction(QIcon(), QLineEdit.ActionPosition.TrailingPosition)
        self._clear.setToolTip(self.tr("Clear"))
        self._clear.triggered.connect(self.clear)
        self.textChanged.connect(self.on_text)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self.on_text("")

    def on_text(self, text: str) -> None:
        self._clear.setVisible(bool(text))

    def on_theme_changed(self) -> None:
        self._clear.setIcon(theme.icon("close", theme.colors().muted))

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
