"""One installed model: whether it is whole, what it takes, and what can be done with it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtWidgets import QProgressBar

from app.engine.models import InstalledModel
from app.errors import AppError
from app.events import FitJudged, JudgeFit
from app.paths import shown
from app.ui.models.download_row import DownloadPlace
from app.ui.models.hub_link import Hub
from app.ui.models.model_detail import DetailPane
from app.ui.models.model_job import ModelJob
from app.ui.models.model_link import ModelLink
from app.ui.shared import formats
from app.ui.shared.tones import Tone
from app.ui.shared.trouble_card import TroubleCard
from app.work.tasks import Task, Tasks

TONES: dict[str, Tone] = {"complete": "good", "incomplete": "warn", "damaged": "bad", "unsupported": "muted"}


class InstalledDetail(DetailPane):
    """Each signal carries the model that is shown."""

    load_clicked = Signal(object)
    import_clicked = Signal(object)
    download_clicked = Signal(object)
    check_clicked = Signal(object)
    reveal_clicked = Signal(object)
    forget_clicked = Signal(object)
    delete_clicked = Signal(object)
    account_clicked = Signal()

    def __init__(self, hub: Hub, models: ModelLink, job: ModelJob) -> None:
        super().__init__()
        self._hub, self._models, self._job = hub, models, job
        self._tasks = Tasks(self)
        self._reading: Task | None = None
        self.model: InstalledModel | None = None
        self._root: Path | None = None
        self._checked: Path | None = None  # the last that every byte of was found right
        self.load = self.add_button(self.tr("Load"), primary=True)
        self.import_ = self.add_button(self.tr("Import"), primary=True)
        self.download = self.add_button(self.tr("Download what is missing"), primary=True)
        self.cancel = self.add_button(self.tr("Cancel"))
        self.cancel.clicked.connect(job.cancel)
        self.check = self.add_link(self.tr("Check its files"))
        self.check.setToolTip(self.tr("Compares every byte with the hub's checksums"))
        finder = sys.platform == "darwin"
        self.reveal = self.add_link(self.tr("Show in Finder") if finder else self.tr("Show in its folder"))
        self._forget_words = self.tr("Take off the list")
        self.forget = self.add_link(self._forget_words)
        self.delete = self.add_link(self.tr("Delete…"))
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.bar.setAccessibleName(self.tr("Progress"))
        self.extra.addWidget(self.bar)
        self.place = DownloadPlace(hub)
        self.place.changed.connect(self.refresh)
        self.place.account_clicked.connect(self.account_clicked)
        self.extra.addWidget(self.place)
        self.trouble: TroubleCard | None = None
        for button, signal in (
            (self.load, self.load_clicked),
            (self.import_, self.import_clicked),
            (self.download, self.download_clicked),
            (self.check, self.check_clicked),
            (self.reveal, self.reveal_clicked),
            (self.forget, self.forget_clicked),
            (self.delete, self.delete_clicked),
        ):
            button.clicked.connect(partial(self._tell, signal))
        job.changed.connect(self.on_job_changed)
        job.progressed.connect(self.on_job_progressed)
        models.changed.connect(self.refresh)
        models.fit_judged.connect(self.on_fit_judged)

    def _tell(self, signal: SignalInstance) -> None:
        signal.emit(self.model)

    # ------------------------------------------------------------ what is shown

    def show_model(self, model: InstalledModel, root: Path | None) -> None:
        """Another model, or the same one looked at again. `root`: what the user added that it is in."""
        same = self.model is not None and model.path == self.model.path
        changed = self.model != model
        self.model, self._root = model, root
        if not same:
            self._drop_trouble()
            self.place.follow(model.repo_id)
            hub = model.path.parent.name == "snapshots"  # all that belongs to it lies two folders up
            self.show_title(model.name, shown(model.path.parent.parent if hub else model.path))
        if changed:
            self._ask_fit(model)
        self.refresh()

    def refresh(self) -> None:
        """What may have changed elsewhere: which model is loaded, what is being imported."""
        model = self.model
        if model is None:
            return
        loaded = self._models.model is not None and self._models.model.path == str(model.path)
        busy = self._job.path == model.path
        whole, action = model.state == "complete", model.repair_action
        self.load.setVisible(whole and model.kind != "gguf")
        self.load.setEnabled(not loaded and not self._models.loading)
        self.load.setText(self.tr("Loaded") if loaded else self.tr("Load"))
        self.import_.setVisible(action == "import" and not busy)
        self.check.setVisible(whole and model.kind == "hub" and not busy)
        for button in (self.import_, self.check):
            button.setEnabled(self._job.path is None)
        self.download.setVisible(action == "download" and self.place.row is None)
        root = self._root
        self.forget.setVisible(root is not None)
        if root is not None:
            words = self.tr("Take “{0}” off the list").format(formats.short(root.name, 20))
            self.forget.setText(words if root != model.path else self._forget_words)
            self.forget.setToolTip(formats.tip(self.tr("With all that is listed of it; the files stay where they are")))
        self.delete.setVisible(model.deletable)
        self.delete.setEnabled(not (loaded or busy))
        self.delete.setToolTip(self.tr("It is loaded: load another one first") if loaded else "")
        self.cancel.setVisible(busy)
        self.bar.setVisible(busy)
        words = " ".join(part for part in (model.reason, model.repair) if part)
        if action == "download" and self.place.row is not None:
            words = model.reason  # the repair is under way
        if not words and self._checked == model.path:
            words = self.tr("Every byte is as the hub has it")
        tone: Tone = "muted" if action == "import" else TONES[model.state]
        self.status.show_status(words or self.tr("Complete: it loads without the network"), tone)
        self.show_facts(self._all_facts(model))

    def _all_facts(self, model: InstalledModel) -> list[tuple[str, str]]:
        kinds = {
            "hub": self.tr("Downloaded from the hub: {0}").format(model.repo_id),
            "folder": self.tr("MLX folder"),
            "gguf": self.tr("GGUF file: imported before it can be loaded"),
        }
        template = self.tr("has a chat template") if model.chat_template else self.tr("no chat template")
        context = self.tr("{0} tokens").format(formats.count(model.context_tokens)) if model.context_tokens else ""
        return [
            (self.tr("Kind"), kinds[model.kind]),
            (self.tr("Size on disk"), formats.data_size(model.disk_bytes)),
            (self.tr("Weights"), formats.data_size(model.weights_bytes) if model.weights_bytes else ""),
            (self.tr("Context"), context),
            (self.tr("Chat"), template if model.state == "complete" else ""),
            (self.tr("Note"), model.note),
        ]

    def show_trouble(self, error: AppError) -> None:
        """What went wrong with the model that is shown."""
        self._drop_trouble()
        self.trouble = TroubleCard(error)
        self.trouble.again_clicked.connect(self.on_again)
        self.extra.addWidget(self.trouble)

    def on_again(self) -> None:
        self._drop_trouble()
        if self.model is not None and self.model.repair_action == "import":
            self.import_clicked.emit(self.model)

    def _drop_trouble(self) -> None:
        if self.trouble is not None:
            self.trouble.hide()
            self.trouble.deleteLater()
            self.trouble = None

    def show_checked(self, model: InstalledModel) -> None:
        """A look at every byte has ended; the list will say what is damaged."""
        self._checked = model.path if model.state == "complete" else None
        self.refresh()

    def on_job_changed(self) -> None:
        self.bar.setValue(0)
        self.refresh()

    def on_job_progressed(self, done: float) -> None:
        self.bar.setValue(round(1000 * done))

    # ------------------------------------------------------------ what it takes

    def _ask_fit(self, model: InstalledModel) -> None:
        self.fit.show_words("")
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if model.state == "complete" and model.kind != "gguf":
            self.fit.show_words(self.tr("Working out what it takes…"))
            work = partial((model.path / "config.json").read_text, encoding="utf-8")
            self._reading = self._tasks.run(work, self.on_config_read, self.on_config_unread)

    def on_config_read(self, config: str) -> None:
        self._reading = None
        if self.model is not None:
            self._models.judge(JudgeFit(str(self.model.path), config, self.model.weights_bytes))

    def on_config_unread(self, error: AppError) -> None:
        self._reading = None
        self.fit.show_words(error.message)

    def on_fit_judged(self, event: FitJudged) -> None:
        if self.model is not None and event.model == str(self.model.path):
            if event.fit is not None:
                self.fit.show_fit(event.fit)
            else:
                self.fit.show_words(self.tr("What it takes here can't be predicted: {0}").format(event.reason))
