"""How good something is, as a colour and a word: a dot beside what is said."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.ui.shared import theme

Tone = Literal["good", "warn", "bad", "muted"]
DOT = 8


def tone_color(tone: Tone) -> str:
    colors = theme.colors()
    return {"good": colors.good, "warn": colors.warn, "bad": colors.bad, "muted": colors.what_if}[tone]


class StatusLine(QWidget):
    """A sentence with a dot before it; hidden while there is nothing to say."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._tone: Tone = "muted"
        self.label = QLabel(self)
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row = QHBoxLayout(self)
        row.setContentsMargins(DOT + 9, 0, 0, 0)
        row.addWidget(self.label)
        theme.theme().changed.connect(self.on_theme_changed)
        self.hide()

    @property
    def text(self) -> str:
        return self.label.text()

    def show_status(self, text: str, tone: Tone) -> None:
        self._tone = tone
        self.label.setText(text)
        self.setVisible(bool(text))
        self.update()

    def on_theme_changed(self) -> None:
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tone_color(self._tone)))
            x = self.width() - DOT - 1 if self.layoutDirection() == Qt.LayoutDirection.RightToLeft else 1
            middle = self.label.geometry().top() + self.label.fontMetrics().height() / 2
            painter.drawEllipse(QRectF(x, middle - DOT / 2, DOT, DOT))
