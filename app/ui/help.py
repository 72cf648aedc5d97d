"""What the Help menu opens."""

from __future__ import annotations

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app import paths
from app.ui.about import About
from app.ui.actions import Actions
from app.ui.model_link import ModelLink
from app.ui.shortcuts import Shortcuts


class Help(QObject):
    def __init__(self, actions: Actions, models: ModelLink, window: QWidget) -> None:
        super().__init__(window)
        self._actions, self._models, self._window = actions, models, window
        self.about: About | None = None
        self.shortcuts: Shortcuts | None = None
        actions.about.triggered.connect(self.on_about)
        actions.shortcuts.triggered.connect(self.on_shortcuts)
        actions.log_folder.triggered.connect(self.on_log_folder)

    def on_about(self) -> None:
        if self.about is None:
            self.about = About(self._window)
        self.about.begin(self._models.model)

    def on_shortcuts(self) -> None:
        if self.shortcuts is None:
            self.shortcuts = Shortcuts(self._actions, self._window)
        self.shortcuts.show()
        self.shortcuts.raise_()
        self.shortcuts.activateWindow()

    def on_log_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(paths.logs_dir())))
