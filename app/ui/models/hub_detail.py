"""One model of the hub: what it is, whether it runs and fits here, and its download."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app import hub_events as hv
from app.errors import AppError
from app.events import FitJudged, JudgeFit
from app.ui.models.download_row import DownloadPlace, short_name
from app.ui.models.hub_link import Hub
from app.ui.models.model_detail import DetailPane
from app.ui.models.model_link import ModelLink
from app.ui.shared import formats
from app.ui.shared.trouble_card import TroubleCard

LOOK_MS = 150  # the hub is asked of a model that is looked at this long, not of each that arrow keys pass


class HubDetail(DetailPane):
    """`load_clicked(path)`, `account_clicked`. `path_of(repo_id)` is where it is installed, or empty."""

    load_clicked = Signal(str)
    account_clicked = Signal()

    def __init__(self, hub: Hub, models: ModelLink, path_of: Callable[[str], str]) -> None:
        super().__init__()
        self._hub, self._models, self._path_of = hub, models, path_of
        self.model: hv.HubModel | None = None
        self.details: hv.HubDetails | None = None
        self.download = self.add_button(self.tr("Download"), primary=True)
        self.download.clicked.connect(self.on_download)
        self.load = self.add_button(self.tr("Load"), primary=True)
        self.load.clicked.connect(self.on_load)
        self.page = self.add_button(self.tr("Open its page"))
        self.page.clicked.connect(self.on_page)
        self.place = DownloadPlace(hub)
        self.place.changed.connect(self.refresh)
        self.place.account_clicked.connect(self.account_clicked)
        self.extra.addWidget(self.place)
        self.trouble: TroubleCard | None = None
        self.looking = QTimer(self, singleShot=True, interval=LOOK_MS)
        self.looking.timeout.connect(self.on_looked)
        hub.described.connect(self.on_described)
        hub.describe_failed.connect(self.on_describe_failed)
        models.fit_judged.connect(self.on_fit_judged)

    @property
    def repo_id(self) -> str:
        return self.model.repo_id if self.model else ""

    # ------------------------------------------------------------ what is shown

    def show_model(self, model: hv.HubModel) -> None:
        """Another model, or the same one known better."""
        same = model.repo_id == self.repo_id
        self.model = model
        if not same:
            self.details = None
            self._drop_trouble()
            self.place.follow(model.repo_id)
            self.show_title(short_name(model.repo_id), model.repo_id)
            self.fit.show_words(self.tr("Working out what it takes…"))
            self.looking.start()
        self.refresh()

    def on_looked(self) -> None:
        self._hub.ask(hv.Describe(self.repo_id))

    def _path(self) -> str:
        """Where it is installed; the list of those may not have heard of the newest yet."""
        status = self._hub.downloads.get(self.repo_id)
        return self._path_of(self.repo_id) or (status.path if status else "")

    def refresh(self) -> None:
        """What may have changed elsewhere: whether it is installed, and how its download stands."""
        model = self.model
        if model is None:
            return
        path, under_way = self._path(), self.place.row is not None
        self.page.setVisible(self.details is not None)
        self.load.setVisible(bool(path) and not under_way)
        self.download.setVisible(not path and not under_way)
        access = self.details.access if self.details else None
        self.download.setEnabled(model.support != "unsupported" and access is None)
        self.download.setToolTip(formats.tip(model.reason or (access.message if access else "")))
        size = self.details.download_bytes if self.details else 0
        words = self.tr("Download · {0}").format(formats.data_size(size)) if size else self.tr("Download")
        self.download.setText(words)
        self._show_support(model, bool(path))
        self.show_facts(self._all_facts(model))

    def _show_support(self, model: hv.HubModel, installed: bool) -> None:
        if model.support == "unsupported":
            self.status.show_status(self.tr("Can't run here. {0}").format(model.reason).strip(), "muted")
        elif installed:
            self.status.show_status(self.tr("Installed"), "good")
        elif model.support == "supported":
            self.status.show_status(self.tr("Supported by this program"), "good")
        else:
            self.status.show_status("", "muted")

    def _all_facts(self, model: hv.HubModel) -> list[tuple[str, str]]:
        gates = {
            "auto": self.tr("gated: its terms must be accepted on its page"),
            "manual": self.tr("gated: its authors decide who may have it"),
        }
        facts = [
            (self.tr("About"), model.note),
            (self.tr("Parameters"), formats.about(model.parameters) if model.parameters else ""),
            (self.tr("Weights"), formats.data_size(model.weights_bytes) if model.weights_bytes else ""),
            (self.tr("Quantisation"), model.quantisation),
            (self.tr("Context"), self._context(model)),
            (self.tr("Architecture"), model.model_type),
            (self.tr("Licence"), model.licence),
            (self.tr("Access"), gates.get(model.gated, "")),
        ]
        if self.details is not None:
            template, size = self.details.chat_template, formats.data_size(self.details.download_bytes)
            if template is not None:
                facts.append((self.tr("Chat"), self._chat(template)))
            words = self.tr("{0} in {1} files", "", len(self.details.files)).format(size, len(self.details.files))
            facts.append((self.tr("Download"), words))
        if model.downloads or model.likes:
            words = self.tr("{0} downloads · {1} likes")
            popular = words.format(formats.count(model.downloads), formats.count(model.likes))
            facts.append((self.tr("Popularity"), popular))
        facts.append((self.tr("Updated"), formats.day(model.updated) if model.updated else ""))
        return facts

    def _chat(self, template: bool) -> str:
        if template:
            return self.tr("has a chat template")
        return self.tr("no chat template: a base model, which continues text instead of answering")

    def _context(self, model: hv.HubModel) -> str:
        if not model.context_tokens:
            return ""
        return self.tr("{0} tokens").format(formats.count(model.context_tokens))

    def _show_trouble(self, error: AppError) -> None:
        self._drop_trouble()
        self.trouble = TroubleCard(error)
        self.trouble.account_clicked.connect(self.account_clicked)
        self.trouble.again_clicked.connect(self.on_again)
        self.extra.addWidget(self.trouble)

    def _drop_trouble(self) -> None:
        if self.trouble is not None:
            self.trouble.hide()
            self.trouble.deleteLater()
            self.trouble = None

    # ------------------------------------------------------------ what the hub and the engine say

    def on_described(self, event: hv.ModelDescribed) -> None:
        details: hv.HubDetails = event.details
        if details.model.repo_id != self.repo_id:
            return
        self.details, self.model = details, details.model
        self._drop_trouble()
        if details.access is not None:
            self._show_trouble(details.access)
        if details.model.support == "unsupported":
            self.fit.show_words("")
        elif not details.config_json:
            self.fit.show_words(self.tr("What it takes can be told when its files may be read."))
        else:
            weights = sum(file.size_bytes for file in details.files if file.name.endswith(".safetensors"))
            self._models.judge(JudgeFit(self.repo_id, details.config_json, weights))
        self.refresh()

    def on_describe_failed(self, event: hv.DescribeFailed) -> None:
        if event.repo_id == self.repo_id and self.details is None:
            self._show_trouble(event.error)
            self.fit.show_words("")

    def on_fit_judged(self, event: FitJudged) -> None:
        if event.model == self.repo_id:
            if event.fit is not None:
                self.fit.show_fit(event.fit)
            else:
                self.fit.show_words(self.tr("What it takes here can't be predicted: {0}").format(event.reason))

    # ------------------------------------------------------------ what the user does

    def on_download(self) -> None:
        self._hub.ask(hv.Download(self.repo_id))

    def on_load(self) -> None:
        self.load_clicked.emit(self._path())

    def on_page(self) -> None:
        if self.details is not None:
            QDesktopServices.openUrl(QUrl(self.details.page))

    def on_again(self) -> None:
        self._drop_trouble()
        self.on_looked()
