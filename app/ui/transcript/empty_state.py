"""What a conversation without messages shows."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.ui.shared import theme


class EmptyState(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setSpacing(8)
        column.setContentsMargins(0, 0, 0, 0)
        self.title = QLabel(self.tr("What would you like to talk about?"), self)
        self.title.setFont(theme.font(1.5, bold=True))
        self.detail = QLabel(self)
        self.detail.setProperty("role", "muted")
        for label in (self.title, self.detail):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            column.addWidget(label)

    def set_scheme(self, scheme: str) -> None:
        self.detail.setText(
            self.tr("The cache of this conversation stays uncompressed.")
            if scheme == "none"
            else self.tr("The cache of this conversation will be compressed with {0}.").format(scheme)
        )

    def sizeHint(self) -> QSize:
        return QSize(420, 120)
