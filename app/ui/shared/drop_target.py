"""Model folders, GGUF files, conversations and texts dropped onto the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.library.archive import ENDING
from app.ui.shared import theme

MARGIN = 14


class DropTarget(QWidget):
    """Covers `window` while something is dragged over it that could be a model or a conversation: `dropped(Path)` for
    each; or, while `takes_texts` says so, files that could go with a message: `texts_dropped(paths)`.
    """

    dropped = Signal(object)
    texts_dropped = Signal(list)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._window = window
        self._words = ""
        self.takes_texts: Callable[[], bool] = lambda: False
        window.setAcceptDrops(True)
        window.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self._window:
            if isinstance(event, QDropEvent) and kind in (
                QEvent.Type.DragEnter,
                QEvent.Type.DragMove,
                QEvent.Type.Drop,
            ):
                found = taken_from(event.mimeData())
                texts = files_in(event.mimeData()) if not found and self.takes_texts() else []
                if found or texts:
                    event.acceptProposedAction()
                    if kind == QEvent.Type.DragEnter:
                        self._cover(self._what_for(found))
                    elif kind == QEvent.Type.Drop:
                        self.hide()
                        for path in found:
                            self.dropped.emit(path)
                        if texts:
                            self.texts_dropped.emit(texts)
                    return True
            elif kind == QEvent.Type.DragLeave:
                self.hide()
        return False

    def _what_for(self, found: list[Path]) -> str:
        if not found:
            return self.tr("Drop it to attach it")
        chats = all(path.suffix.lower() == ENDING for path in found)
        return self.tr("Drop it to import the conversation") if chats else self.tr("Drop it to add the model")

    def _cover(self, words: str) -> None:
        self._words = words
        self.setGeometry(self._window.rect())
        self.show()
        self.raise_()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colors = theme.colors()
        veil = QColor(colors.background)
        veil.setAlphaF(0.86)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.fillRect(self.rect(), veil)
            painter.setPen(QPen(QColor(colors.accent), 2, Qt.PenStyle.DashLine))
            inner = QRectF(self.rect()).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
            painter.drawRoundedRect(inner, 14, 14)
            painter.setPen(QColor(colors.text))
            painter.setFont(theme.font(1.3, bold=True))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._words)


def taken_from(dragged: QMimeData) -> list[Path]:
    """What the window takes of what is dragged: folders, GGUF files and conversations."""
    paths = [Path(url.toLocalFile()) for url in dragged.urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix.lower() in (".gguf", ENDING) or path.is_dir()]


def files_in(dragged: QMimeData) -> list[Path]:
    """The files among what is dragged or pasted; whether one is a text shows when it is read."""
    return [Path(url.toLocalFile()) for url in dragged.urls() if url.isLocalFile()]
