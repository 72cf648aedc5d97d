"""The models' page: find one on the hub, or look after those that are installed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.hub_events import DownloadStatus
from app.settings import Settings
from app.ui.models.hub_link import Hub
from app.ui.models.installed_link import InstalledLink
from app.ui.models.installed_page import InstalledPage
from app.ui.models.model_browser import ModelBrowser
from app.ui.models.model_link import ModelLink
from app.ui.shared import theme


class ModelsPage(QWidget):
    """`load_clicked(path)`; `account_clicked`; `left` when the user is done here."""

    load_clicked = Signal(str)
    account_clicked = Signal()
    left = Signal()

    def __init__(self, hub: Hub, models: ModelLink, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelsPage")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.on_this_computer = InstalledLink(settings, self)
        self.browser = ModelBrowser(hub, models, settings, self.on_this_computer.path_of)
        self.installed = InstalledPage(self.on_this_computer, models, hub)
        self._place()
        self.done.clicked.connect(self.left)
        self.browser.left.connect(self.left)
        for side in (self.browser, self.installed):
            side.load_clicked.connect(self.load_clicked)
            side.account_clicked.connect(self.account_clicked)
        self.on_this_computer.changed.connect(self.on_listed)
        hub.download_ended.connect(self.on_download_ended)

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
        row.addSpacing(14)
        self._tabs = QButtonGroup(self)
        self.find_tab, self.installed_tab = self._tab(self.tr("Find"), head), self._tab(self.tr("Installed"), head)
        self.find_tab.setChecked(True)
        self._tabs.buttonClicked.connect(self.on_tab_clicked)
        row.addWidget(self.find_tab)
        row.addWidget(self.installed_tab)
        row.addStretch()
        self.done = QPushButton(self.tr("Back to the chat"), head)
        row.addWidget(self.done)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.browser)
        self._stack.addWidget(self.installed)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(head)
        column.addWidget(self._stack, 1)

    def _tab(self, words: str, parent: QWidget) -> QToolButton:
        tab = QToolButton(parent)
        tab.setText(words)
        tab.setCheckable(True)
        tab.setProperty("role", "tab")
        self._tabs.addButton(tab)
        return tab

    def begin(self, scheme: str, installed: bool = False) -> None:
        """The page comes on screen, at one of its two sides. `scheme` is the one in use."""
        self.browser.detail.fit.scheme = self.installed.detail.fit.scheme = scheme
        self.on_this_computer.refresh()
        (self.installed_tab if installed else self.find_tab).setChecked(True)
        self.on_tab_clicked()

    def on_tab_clicked(self) -> None:
        side = self.installed if self.installed_tab.isChecked() else self.browser
        self._stack.setCurrentWidget(side)
        side.begin()

    def on_listed(self) -> None:
        self.browser.refresh()

    def on_download_ended(self, status: DownloadStatus) -> None:
        if status.state == "done":
            self.on_this_computer.repaired(status.path)
        else:
            self.on_this_computer.refresh()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)
