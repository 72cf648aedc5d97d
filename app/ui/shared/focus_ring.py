"""Shows where Tab has come to, on what shows it neither by a border nor by a caret: lists, texts, what only scrolls."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QPlainTextEdit, QTextBrowser, QTextEdit, QWidget

from app.ui.shared import theme

AROUND = 4  # pixels: letters begin at a text's very edge


class FocusRing(QWidget):
    """Stays until `target` loses the focus."""

    def __init__(self, target: QWidget, around: int) -> None:
        """`around` its edges, or inside them where that is 0."""
        super().__init__(target.parentWidget() if around else target)
        self._target, self._around = target, around
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        target.installEventFilter(self)
        self._place()
        self.show()

    def _place(self) -> None:
        out = self._around
        self.setGeometry(self._target.geometry().adjusted(-out, -out, out, out) if out else self._target.rect())
        self.raise_()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut:
            self._target.removeEventFilter(self)
            self.hide()
            self.deleteLater()
        elif event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        return False

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme.colors().accent), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)


def mark() -> None:
    """Tab has moved the focus."""
    target = QApplication.focusWidget()
    reads = isinstance(target, QTextBrowser)
    writes = isinstance(target, QPlainTextEdit | QTextEdit) and not reads  # has a border, and a caret
    if isinstance(target, QAbstractScrollArea) and not writes:
        FocusRing(target, AROUND if reads else 0)
