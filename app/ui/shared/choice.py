"""A field that offers a few choices, in a list that looks like the program's menus."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainterPath, QRegion
from PySide6.QtWidgets import QComboBox, QListView, QStyledItemDelegate, QWidget

ROUND = 9  # as in the style sheet


class Choice(QComboBox):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("choice")
        self.setView(QListView(self))
        self.setItemDelegate(QStyledItemDelegate(self))  # the usual one doesn't heed the style sheet's ::item
        self.view().window().setWindowFlag(Qt.WindowType.NoDropShadowWindowHint)

    def showPopup(self) -> None:
        super().showPopup()
        window, outline = self.view().window(), QPainterPath()
        outline.addRoundedRect(QRectF(window.rect()), ROUND, ROUND)
        window.setMask(QRegion(outline.toFillPolygon().toPolygon()))
