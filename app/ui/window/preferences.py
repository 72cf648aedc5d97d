"""Preferences: pages behind a list. Each setting takes effect at once, so there is nothing to confirm."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.settings import Settings
from app.ui.models.hub_link import Hub
from app.ui.shared import theme
from app.ui.shared.dialog import Dialog
from app.ui.window.appearance import Appearance
from app.ui.window.preference_pages import GeneralPage, ModelsPage

LIST_WIDTH = 190


class Preferences(Dialog):
    """`add_page` puts another page at the end; `begin(name)` shows one of them."""

    def __init__(self, settings: Settings, appearance: Appearance, hub: Hub, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Preferences"))
        self.setMinimumSize(560, 360)
        self.fit()
        self.list = QListWidget(self)
        self.list.setObjectName("preferenceList")
        self.list.setAccessibleName(self.tr("Pages"))
        self._stack = QStackedWidget(self)
        self.list.currentRowChanged.connect(self._stack.setCurrentIndex)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.list)
        row.addWidget(self._stack, 1)
        self._names: list[str] = []
        self._icons: list[str] = []
        self.general = GeneralPage(settings, appearance, self)
        self.models = ModelsPage(settings, hub, self)
        self.add_page("general", self.tr("General"), "settings", self.general)
        self.add_page("models", self.tr("Models"), "models", self.models)
        self.list.setCurrentRow(0)
        theme.theme().changed.connect(self.on_theme_changed)

    def usual_size(self) -> QSize:
        return QSize(theme.at_scale(920), theme.at_scale(540))

    def add_page(self, name: str, title: str, icon: str, page: QWidget) -> None:
        """`title` stands in the list and above the page, `icon` is one of resources/icons."""
        scroll = QScrollArea(self)
        scroll.setObjectName("plainScroll")
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its controls have it
        body = QWidget(scroll)
        body.setObjectName("plainBody")
        column = QVBoxLayout(body)
        column.setContentsMargins(28, 22, 28, 22)
        column.setSpacing(16)
        head = QLabel(title, body)
        head.setFont(theme.font(1.3, bold=True))
        column.addWidget(head)
        column.addWidget(page)
        column.addStretch(1)
        scroll.setWidget(body)
        self._stack.addWidget(scroll)
        self._names.append(name)
        self._icons.append(icon)
        self.list.addItem(QListWidgetItem(theme.icon(icon), title))
        self._fit_list()

    def begin(self, name: str) -> None:
        self.list.setCurrentRow(self._names.index(name))
        self.models.account.begin()
        self.bring_up()
        self.list.setFocus()

    def _fit_list(self) -> None:
        self.list.setFixedWidth(max(LIST_WIDTH, self.list.sizeHintForColumn(0) + 40))

    def on_text_size(self) -> None:
        self._fit_list()
        super().on_text_size()

    def on_theme_changed(self) -> None:
        for row, icon in enumerate(self._icons):
            self.list.item(row).setIcon(theme.icon(icon))
