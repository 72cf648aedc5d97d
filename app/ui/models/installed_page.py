"""The models on this computer: which are whole, what is wrong with the others, and what to do about it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QPushButton, QVBoxLayout, QWidget

from app import hub_events as hv
from app import paths
from app.engine.gguf.importing import folder_name, import_gguf
from app.engine.models import InstalledModel, verify
from app.errors import AppError
from app.ui.models.hub_link import Hub
from app.ui.models.installed_detail import TONES, InstalledDetail
from app.ui.models.installed_link import InstalledLink
from app.ui.models.model_job import ModelJob
from app.ui.models.model_link import ModelLink
from app.ui.models.model_list import Entry, ListAndDetail, ModelList
from app.ui.shared import formats
from app.ui.shared.cards import EvenButtons, small_label
from app.ui.shared.question import Question


class InstalledPage(QWidget):
    """`load_clicked(path)`, `account_clicked`."""

    load_clicked = Signal(str)
    account_clicked = Signal()

    def __init__(self, installed: InstalledLink, models: ModelLink, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._installed, self._models, self._hub = installed, models, hub
        self._wanted = ""  # what to choose when the list knows it
        self._leaving: dict[str, InstalledModel] = {}  # by repository: deleted as soon as its download has ended
        self._added: Path | None = None  # what has just been added, until the list shows what is in it
        self.job = ModelJob(self)
        self.list = ModelList(self.tr("Installed models"), self)
        self.detail = InstalledDetail(hub, models, self.job)
        self._place()
        self.list.chosen.connect(self.on_chosen)
        self.list.delete_pressed.connect(self.on_delete_pressed)
        self.detail.load_clicked.connect(self.on_load)
        self.detail.import_clicked.connect(self.on_import)
        self.detail.download_clicked.connect(self.on_download)
        self.detail.reveal_clicked.connect(self.on_reveal)
        self.detail.forget_clicked.connect(self.on_forget)
        self.detail.delete_clicked.connect(self.on_delete)
        self.detail.account_clicked.connect(self.account_clicked)
        self.detail.check_clicked.connect(self.on_check)
        self.job.finished.connect(self.on_job_finished)
        self.job.failed.connect(self.on_job_failed)
        installed.changed.connect(self.on_listed)
        installed.failed.connect(self.on_failed)
        models.changed.connect(self._show_rows)
        hub.download_removed.connect(self.on_download_removed)

    def _place(self) -> None:
        side = QWidget(self)
        side.setObjectName("modelSide")
        column = QVBoxLayout(side)
        column.setContentsMargins(10, 10, 10, 10)
        column.setSpacing(6)
        self.add_folder = QPushButton(self.tr("Add a folder…"), side)
        self.add_folder.clicked.connect(self.on_add_folder)
        self.add_file = QPushButton(self.tr("Add a GGUF file…"), side)
        self.add_file.clicked.connect(self.on_add_file)
        column.addWidget(EvenButtons([self.add_folder, self.add_file], side))
        self.note = small_label("", side, role="bad")
        self.note.setWordWrap(True)
        self.note.setContentsMargins(12, 4, 12, 4)
        self.note.hide()
        column.addWidget(self.note)
        self.nothing = small_label("", side)
        self.nothing.setWordWrap(True)
        self.nothing.setContentsMargins(12, 6, 12, 0)
        column.addWidget(self.nothing)
        column.addWidget(self.list, 1)
        self.total = small_label("", side)
        self.total.setContentsMargins(12, 0, 12, 0)
        column.addWidget(self.total)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        self.panes = ListAndDetail(side, self.list, self.detail, self)
        whole.addWidget(self.panes)

    # ------------------------------------------------------------ what is shown

    def begin(self) -> None:
        """The page is shown."""
        self.note.hide()
        self._show_rows()
        self.list.setFocus()

    def choose(self, path: Path) -> None:
        """Show this one as soon as it is listed."""
        self._wanted = str(path)
        self._show_rows()

    def on_listed(self) -> None:
        if self._added is not None and self._installed.settled:
            added, self._added = self._added, None
            self._judge_added(added)
        self._show_rows()

    def _judge_added(self, added: Path) -> None:
        """Choose what came with it; what holds no model is taken off again."""
        inside = [model for model in self._installed.models if model.path.is_relative_to(added)]
        if inside:
            self._wanted = str(inside[0].path)
        else:
            words = self.tr("“{0}” holds no model: a model's folder has a config.json, a GGUF file ends in .gguf.")
            self.note.setText(words.format(added.name))
            self._installed.forget(added)
        self.note.setVisible(not inside)

    def _show_rows(self) -> None:
        groups = {
            "hub": self.tr("From the hub"),
            "folder": self.tr("MLX folders"),
            "gguf": self.tr("GGUF files"),
        }
        found = self._installed.models
        rows: list[str | Entry] = []
        for kind, words in groups.items():
            if entries := [self.entry(model) for model in found if model.kind == kind]:
                rows += [words, *entries]
        self.list.set_rows(rows)
        if self._wanted and self._model(self._wanted) is not None:
            self.list.choose(self._wanted)
            self._wanted = ""
        if not self.list.current and rows:
            self.list.choose(next(row.key for row in rows if isinstance(row, Entry)))
        words = self.tr("Nothing is installed yet. Find a model, or drop a folder or a GGUF file onto this window.")
        self.nothing.setText(words if self._installed.listed else self.tr("Looking for models…"))
        self.nothing.setVisible(not rows)
        size = formats.data_size(sum(model.disk_bytes for model in found))
        words = self.tr("{0} models, {1} on disk", "", len(found))
        self.total.setText(words.format(len(found), size) if found else "")
        self._show_detail()

    def entry(self, model: InstalledModel) -> Entry:
        states = {
            "complete": self.tr("ready"),
            "incomplete": self.tr("incomplete"),
            "damaged": self.tr("damaged"),
            "unsupported": self.tr("can't run"),
        }
        badge = states[model.state]
        tone = TONES[model.state]
        if model.repair_action == "import":
            badge, tone = self.tr("to import"), "muted"
        if self._models.model is not None and self._models.model.path == str(model.path):
            badge = self.tr("loaded")
        context = self.tr("{0} context").format(formats.tokens(model.context_tokens)) if model.context_tokens else ""
        template = self.tr("no chat template") if model.state == "complete" and not model.chat_template else ""
        facts = " · ".join(part for part in (formats.data_size(model.disk_bytes), context, template) if part)
        return Entry(str(model.path), model.name, facts, model.repo_id, badge, tone)

    def _model(self, key: str) -> InstalledModel | None:
        return next((model for model in self._installed.models if str(model.path) == key), None)

    def on_chosen(self, _key: str) -> None:
        self._show_detail()

    def _show_detail(self) -> None:
        model = self._model(self.list.current)
        if model is not None:
            self.detail.show_model(model, self._installed.root_of(model.path))
        else:
            self.detail.model = None
            self.detail.clear(self.tr("Models that you download or add are listed here."))

    # ------------------------------------------------------------ adding

    def on_add_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Choose a folder with an MLX model"))
        if folder:
            self.add(Path(folder))

    def on_add_file(self) -> None:
        kinds = self.tr("GGUF files (*.gguf)")
        file, _ = QFileDialog.getOpenFileName(self, self.tr("Choose a GGUF file"), "", kinds)
        if file:
            self.add(Path(file))

    def add(self, path: Path) -> None:
        self.note.hide()
        self._added = path
        self._installed.add(path)

    # ------------------------------------------------------------ what the user does with one

    def on_load(self, model: InstalledModel) -> None:
        self.load_clicked.emit(str(model.path))

    def on_import(self, model: InstalledModel) -> None:
        folder = paths.models_dir() / folder_name(model.path)
        self.job.start(model.path, lambda report: import_gguf(model.path, folder, progress=report))

    def on_check(self, model: InstalledModel) -> None:
        self.job.start(model.path, partial(verify, model))

    def on_job_finished(self, path: Path, result: Path | InstalledModel) -> None:
        if isinstance(result, InstalledModel):
            self._installed.judged(result)
            self.detail.show_checked(result)
        else:  # the folder that a GGUF file has become; the file isn't needed any more
            self.choose(result)
            self._installed.forget(path)

    def on_job_failed(self, path: Path, error: AppError) -> None:
        self.choose(path)
        self.detail.show_trouble(error)

    def on_download(self, model: InstalledModel) -> None:
        self._hub.ask(hv.Download(model.repo_id))

    def on_reveal(self, model: InstalledModel) -> None:
        folder = model.path if model.path.is_dir() else model.path.parent
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))

    def on_forget(self, model: InstalledModel) -> None:
        root = self._installed.root_of(model.path)
        if root is not None:
            self._installed.forget(root)

    def on_delete_pressed(self, key: str) -> None:
        model = self._model(key)
        loaded = self._models.model is not None and self._models.model.path == key
        if model is not None and model.deletable and not loaded:
            self.on_delete(model)

    def on_delete(self, model: InstalledModel) -> None:
        size = formats.data_size(model.disk_bytes)
        words = self.tr("This frees {0}. Conversations stay, and go on with any other model.").format(size)
        box = Question(self, self.tr("Delete {0}?").format(model.name), words)
        box.add_button(self.tr("Delete"))
        if box.exec():
            if model.repo_id in self._hub.downloads:  # it must let go of the files first
                self._leaving[model.repo_id] = model
                self._hub.ask(hv.CancelDownload(model.repo_id))
            else:
                self._installed.delete(model)

    def on_download_removed(self, repo_id: str) -> None:
        if (model := self._leaving.pop(repo_id, None)) is not None:
            self._installed.delete(model)

    def on_failed(self, error: AppError) -> None:
        self.detail.show_trouble(error)
