"""Which model is loaded next, and what the window says of it: in the tool bar, in a notice, on the welcome page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.engine.model_folder import display_name
from app.errors import AppError
from app.events import LoadModel
from app.settings import Settings
from app.ui.chat.chat import Chat
from app.ui.models.model_button import ModelButton
from app.ui.models.model_link import ModelLink
from app.ui.models.models_page import ModelsPage
from app.ui.shared.actions import Actions
from app.ui.shared.notice_bar import NoticeBar
from app.ui.window.starter_install import StarterInstall
from app.ui.window.welcome import Welcome

MISSING_S = 20.0


class Loading(QObject):
    """`begun`: the user has chosen a model; `changed`: there is another one, or none."""

    begun = Signal()
    changed = Signal()

    def __init__(self, models: ModelLink, page: ModelsPage, chat: Chat, welcome: Welcome, notices: NoticeBar,
                 installing: StarterInstall, starter_installed: Callable[[], Path | None], settings: Settings,
                 actions: Actions, window: QWidget) -> None:  # fmt: skip
        super().__init__(window)
        self._models, self._page, self._chat, self._window = models, page, chat, window
        self._welcome, self._notices, self._installing = welcome, notices, installing
        self._starter_installed, self._settings, self._actions = starter_installed, settings, actions
        self.button = ModelButton(settings, starter_installed, self._fill, window)
        self.button.chosen.connect(self.load)
        self.button.cancel_clicked.connect(models.cancel)
        actions.open_folder.triggered.connect(self.on_open_folder)
        actions.unload.triggered.connect(models.unload)
        models.changed.connect(self.on_changed)
        models.progressed.connect(self.button.show_progress)
        models.failed.connect(self.on_failed)
        page.load_clicked.connect(self.load)
        welcome.folder_clicked.connect(self.on_open_folder)
        installing.finished.connect(self.load)
        chat.model_missing.connect(self.on_missing)
        self._missing = self.tr("No model is loaded")
        self.on_changed()

    def load(self, path: str) -> None:
        self._models.load(LoadModel(path, self._chat.scheme))
        self.begun.emit()

    def load_usual(self) -> bool:
        """The one used last, else the starter; false where there is neither."""
        if usual := self._usual():
            self._models.load(LoadModel(usual, self._chat.scheme))
        return bool(usual)

    def _usual(self) -> str:
        chosen: str = self._settings.get("model", "")
        if not chosen or not Path(chosen).is_dir():
            starter = self._starter_installed()
            chosen = str(starter) if starter else ""
        return chosen

    def on_missing(self) -> None:
        """The user wants something that needs a model: says so for a while, with the way to one."""
        self._notices.dismiss(self._missing)
        if usual := self._usual():
            words = self.tr("Load {0}").format(display_name(Path(usual)))
            self._notices.show_notice(self._missing, words, partial(self.load, usual), MISSING_S)
        else:
            self._notices.show_notice(self._missing, self.tr("Choose a model"), self._actions.models.trigger, MISSING_S)

    def _fill(self, menu: QMenu) -> None:
        if self._starter_installed() is None and not self._installing.job.running:
            menu.addAction(self.tr("Install the starter model"), self._installing.start)
        for action in (self._actions.models, self._actions.open_folder, self._actions.unload):
            menu.addAction(action)

    def on_open_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self._window, self.tr("Choose a folder with an MLX model"))
        if folder:
            self._page.installed.add(Path(folder))
            self.load(folder)

    def on_changed(self) -> None:
        if self._models.loading:
            self.button.show_loading(self._models.loading)
        elif self._models.model is None:
            self.button.show_none()
        else:
            self.button.show_model(self._models.model, self._models.asleep)
        if self._models.loading or self._models.model is not None:
            self._notices.dismiss(self._missing)
        self._actions.unload.setEnabled(self._models.model is not None and not self._models.asleep)
        self.changed.emit()

    def on_failed(self, error: AppError) -> None:
        """With another model on its way back, or a conversation to read, a notice says why; else the welcome page."""
        if self._models.loading:
            words = self.tr("{0} {1} is loaded again.").format(error, self._models.loading)
            self._notices.show_notice(words, trouble=True)
        elif self._chat.current:
            self._notices.show_notice(str(error), trouble=True)
        self._welcome.show_error(error)
