"""The models on this computer, as the window knows them: listed, added, imported and deleted in the background."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import paths
from app.engine import models
from app.engine.models import InstalledModel
from app.errors import AppError
from app.settings import Settings
from app.work.tasks import Task, Tasks

log = logging.getLogger(__name__)

ADDED = "models/added"  # the setting: folders and GGUF files of the user's own


class InstalledLink(QObject):
    """`models` as they were last listed; `changed` after every listing. `failed(AppError)` of a change asked for."""

    changed = Signal()
    failed = Signal(object)

    def __init__(self, settings: Settings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        self._tasks = Tasks(self)
        self._listing: Task | None = None
        self._again = False
        self.listed = False
        self._damaged: dict[Path, InstalledModel] = {}  # what only a look at every byte has found
        self.models: tuple[InstalledModel, ...] = ()

    def refresh(self) -> None:
        """Look again. A call during a look brings another one after it."""
        if self._listing is not None:
            self._again = True
            return
        self._listing = self._tasks.run(partial(_list, self.added()), self.on_listed, self.on_not_listed)

    def on_listed(self, found: tuple[InstalledModel, ...]) -> None:
        self._listing, self.listed = None, True
        self.models = tuple(self._damaged.get(m.path, m) if m.state == "complete" else m for m in found)
        self.changed.emit()
        self._look_again()

    def on_not_listed(self, error: AppError) -> None:
        self._listing = None
        self.failed.emit(error)
        self._look_again()

    def _look_again(self) -> None:
        if self._again:
            self._again = False
            self.refresh()

    def judged(self, model: InstalledModel) -> None:
        """One that was looked at byte by byte, as it is."""
        self._damaged.pop(model.path, None)
        if model.state == "damaged":
            self._damaged[model.path] = model
        self.refresh()

    def repaired(self, path: str) -> None:
        """A download has made it whole."""
        self._damaged.pop(Path(path), None)
        self.refresh()

    @property
    def settled(self) -> bool:
        """Whether `models` is the newest that was asked for."""
        return self._listing is None and not self._again

    def path_of(self, repo_id: str) -> str:
        """Where a model of the hub is installed whole; empty where it isn't."""
        return next((str(m.path) for m in self.models if m.repo_id == repo_id and m.state == "complete"), "")

    # ------------------------------------------------------------ the user's own folders and files

    def added(self) -> list[str]:
        none: list[str] = []
        return self._settings.get(ADDED, none, valid=lambda found: all(type(path) is str for path in found))

    def add(self, path: Path) -> None:
        found = self.added()
        if str(path) not in found:
            self._settings.set(ADDED, [*found, str(path)])
        self.refresh()

    def root_of(self, path: Path) -> Path | None:
        """What the user added that this is, or is in; None for what the program finds by itself."""
        return next((root for known in self.added() if path.is_relative_to(root := Path(known))), None)

    def forget(self, path: Path) -> None:
        """Take what was added off the list; its files stay."""
        self._settings.set(ADDED, [known for known in self.added() if known != str(path)])
        self.refresh()

    def delete(self, model: InstalledModel) -> None:
        """Delete its files."""
        self._tasks.run(partial(models.delete, model), self.on_deleted, self.on_delete_failed)

    def on_deleted(self, _nothing: object) -> None:
        self.refresh()

    def on_delete_failed(self, error: AppError) -> None:
        self.failed.emit(error)
        self.refresh()


def _list(added: list[str]) -> tuple[InstalledModel, ...]:
    return tuple(models.installed(paths.models_dir(), added=[Path(path) for path in added]))
