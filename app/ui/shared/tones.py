"""How good something is, as a colour and a word: a dot beside what is said."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.ui.shared import theme

Tone = Literal["good", "warn", "bad", "muted"]
DOT = 8  # at the usual size of text


def tone_color(tone: Tone) -> str:
    colors = theme.colors()
    return {"good": colors.good, "warn": colors.warn, "bad": colors.bad, "muted": colors.what_if}[tone]


def paint_dot(painter: QPainter, left: float, middle: float, color: str) -> None:
    """`middle` is its height on the page; it grows with the text."""
    dot = theme.sized(DOT)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(color))
    painter.drawEllipse(QRectF(left, middle - dot / 2, dot, dot))


class StatusLine(QWidget):
    """A sentence with a dot before it; hidden while there is nothing to say."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._tone: Tone = "muted"
        self.label = QLabel(self)
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._row = QHBoxLayout(self)
        self._row.addWidget(self.label)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
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
        self._row.setContentsMargins(theme.sized(DOT) + 9, 0, 0, 0)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            dot, mirrored = theme.sized(DOT), self.layoutDirection() == Qt.LayoutDirection.RightToLeft
            x = self.width() - dot - 1 if mirrored else 1
            middle = self.label.geometry().top() + self.label.fontMetrics().height() / 2
            paint_dot(painter, x, middle, tone_color(self._tone))
