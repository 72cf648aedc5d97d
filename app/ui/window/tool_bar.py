"""The window's head: the columns' switches at its ends, the model in the middle, and all menus behind one button where
the platform has no menu bar of its own."""

from __future__ import annotations

import sys

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QToolBar, QToolButton, QWidget

from app.ui.shared import theme
from app.ui.shared.actions import Actions


class ToolBar(QToolBar):
    """`menu_button` is None on a Mac."""

    def __init__(self, actions: Actions, model: QWidget, downloads: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Window"))
        self.setObjectName("toolBar")
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.addAction(actions.sidebar)
        self.addAction(actions.new)
        self.addWidget(_spacer())
        self.addWidget(model)
        self.addWidget(_spacer())
        self._downloads = self.addWidget(downloads)
        self.addAction(actions.panel)
        self.menu_button: QToolButton | None = None
        if sys.platform != "darwin":
            self.menu_button = QToolButton(self)
            self.menu_button.setToolTip(self.tr("Menu"))
            self.menu_button.setAccessibleName(self.tr("Menu"))
            self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
            self.menu_button.setMenu(actions.one_menu(self.menu_button))
            self.addWidget(self.menu_button)
        for button in self.findChildren(QToolButton):
            if button.defaultAction() is not None:
                button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # Qt leaves a tool bar's buttons out of the tab order
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def show_downloads(self, shown: bool) -> None:
        self._downloads.setVisible(shown)

    def on_theme_changed(self) -> None:
        self.setIconSize(QSize(theme.sized(20), theme.sized(20)))  # a tool bar hears of the style sheet's too late
        if self.menu_button is not None:
            self.menu_button.setIcon(theme.icon("menu"))


def _spacer() -> QWidget:
    widget = QWidget()
    widget.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return widget
