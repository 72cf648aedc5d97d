"""The models' page: find one on the hub, or look after those that are installed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.settings import Settings
from app.ui import theme
from app.ui.hub_link import Hub
from app.ui.model_browser import ModelBrowser
from app.ui.model_link import ModelLink


class ModelsPage(QWidget):
    """`load_clicked(path)`; `account_clicked`; `left` when the user is done here."""

    load_clicked = Signal(str)
    account_clicked = Signal()
    left = Signal()

    def __init__(self, hub: Hub, models: ModelLink, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelsPage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.browser = ModelBrowser(hub, models, settings, lambda repo_id: "")
        self._place()
        self.done.clicked.connect(self.left)
        self.browser.left.connect(self.left)
        self.browser.account_clicked.connect(self.account_clicked)
        self.browser.load_clicked.connect(self.load_clicked)

    def _place(self) -> None:
        head = QWidget(self)
        head.setObjectName("modelsHead")
        head.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(head)
        row.setContentsMargins(20, 8, 12, 8)
        row.setSpacing(4)
        title = QLabel(self.tr("Models"), head)
        title.setFont(theme.font(1.15, bold=True))
        row.addWidget(title)
        row.addStretch()
        self.done = QPushButton(self.tr("Back to the chat"), head)
        row.addWidget(self.done)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(head)
        column.addWidget(self.browser, 1)

    def begin(self, scheme: str) -> None:
        """The page comes on screen. `scheme` is the one in use."""
        self.browser.detail.fit.scheme = scheme
        self.browser.begin()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)
