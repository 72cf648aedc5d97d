"""One download in the window: what it does, how far it is, and what can be done about it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app import hub_events as hv
from app.errors import AppError, HubError
from app.ui.models.hub_link import Hub
from app.ui.shared import formats, theme
from app.ui.shared.cards import quiet_button, small_label

FILES_SHOWN = 12  # those that aren't whole come first


def short_name(repo_id: str) -> str:
    """The repository without its owner."""
    return repo_id.rsplit("/", 1)[-1]


class DownloadRow(QWidget):
    """One download: what it does, how far it is, and what can be done about it. Follows the hub by itself.

    `load_clicked(path)` when it is done; `account_clicked` where that mends a failure.
    """

    load_clicked = Signal(str)
    account_clicked = Signal()

    def __init__(self, hub: Hub, status: hv.DownloadStatus, parent: QWidget | None = None, title: str = "") -> None:
        """`title` instead of the model's name, where that stands above already."""
        super().__init__(parent)
        self._hub, self.status = hub, status
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        top = QHBoxLayout()
        top.setSpacing(2)
        self.title = QLabel(title or short_name(status.repo_id), self)
        self.title.setFont(theme.font(bold=True))
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.title.setToolTip(formats.tip(status.repo_id))
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        top.addWidget(self.title, 1)
        self.load = self._button(self.tr("Load"), "")
        self.load.clicked.connect(self.on_load)
        self.go_on = self._button(self.tr("Resume"), "play")
        self.go_on.clicked.connect(self.on_go_on)
        self.pause = self._button(self.tr("Pause"), "pause")
        self.pause.clicked.connect(self.on_pause)
        self.cancel = self._button(self.tr("Cancel and delete what was fetched"), "close")
        self.cancel.clicked.connect(self.on_cancel)
        for button in (self.load, self.go_on, self.pause, self.cancel):
            top.addWidget(button)
        column.addLayout(top)
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        column.addWidget(self.bar)
        line = QHBoxLayout()
        line.setSpacing(6)
        self.words = small_label("", self)
        self.words.setWordWrap(True)
        policy = self.words.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Ignored)  # a long path may not push the buttons out of the card
        self.words.setSizePolicy(policy)
        line.addWidget(self.words, 1)
        self.files_button = quiet_button("", self)
        self.files_button.setCheckable(True)
        self.files_button.toggled.connect(self.on_files_toggled)
        line.addWidget(self.files_button, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(line)
        self.files = small_label("", self)
        self.files.hide()
        column.addWidget(self.files)
        self._mend = QHBoxLayout()
        self.page = quiet_button(self.tr("Open the page"), self)
        self.page.clicked.connect(self.on_page)
        self.account = quiet_button(self.tr("Account…"), self)
        self.account.clicked.connect(self.account_clicked)
        for button in (self.page, self.account):
            self._mend.addWidget(button)
        self._mend.addStretch()
        column.addLayout(self._mend)
        hub.download_changed.connect(self.on_download_changed)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self.show_status(status)

    def _button(self, words: str, icon: str) -> QToolButton:
        button = quiet_button("" if icon else words, self)
        button.setProperty("icon_name", icon)
        button.setToolTip(words)
        return button

    # ------------------------------------------------------------ what is shown

    def on_download_changed(self, status: hv.DownloadStatus) -> None:
        if status.repo_id == self.status.repo_id:
            self.show_status(status)

    def show_status(self, status: hv.DownloadStatus) -> None:
        self.status = status
        failed, state = status.state == "failed", status.state
        shown = {
            self.load: state == "done" and bool(status.path),
            self.pause: status.active and state != "verifying",
            self.go_on: state in ("paused", "failed"),
        }
        for button in sorted(
            shown, key=lambda one: not shown[one]
        ):  # a focus on one that goes finds the one that comes
            button.setVisible(shown[button])
        self.go_on.setToolTip(self.tr("Try again") if failed else self.tr("Resume"))
        self.cancel.setToolTip(
            self.tr("Remove from list") if state == "done" else self.tr("Cancel and delete what was fetched")
        )
        for button in (self.load, self.go_on, self.pause, self.cancel):
            button.setAccessibleName(f"{button.toolTip()}: {self.title.text()}")
        self.bar.setVisible(state != "done")
        busy = state == "running" and not status.total_bytes
        self.bar.setRange(0, 0 if busy else 1000)
        self.bar.setValue(round(1000 * share(status)))
        words = self.describe(status)
        self.bar.setAccessibleName(self.tr("Download of {0}: {1}").format(self.title.text(), words))
        self.words.setText(words)
        role = "bad" if failed else "muted"
        if self.words.property("role") != role:
            self.words.setProperty("role", role)
            self.words.style().polish(self.words)
        self.words.setToolTip(formats.tip(status.error.detail) if status.error else "")
        self._show_files(status)
        self._show_mend(status.error)

    def _show_files(self, status: hv.DownloadStatus) -> None:
        whole = sum(file.verified or file.done_bytes >= file.total_bytes for file in status.files)
        self.files_button.setVisible(bool(status.files) and status.state != "done")
        self.files_button.setText(self.tr("{0} of {1} files").format(whole, len(status.files)))
        if self.files_button.isChecked():
            first = sorted(status.files, key=lambda file: file.verified)[:FILES_SHOWN]
            lines = [
                f"{'✓ ' if file.verified else ''}{file.name} · {self._of_total(file.done_bytes, file.total_bytes)}"
                for file in first
            ]
            if more := len(status.files) - len(first):
                lines.append(self.tr("and {0} more").format(formats.count(more)))
            self.files.setText("\n".join(lines))
        self.files.setVisible(self.files_button.isVisibleTo(self) and self.files_button.isChecked())

    def _show_mend(self, error: AppError | None) -> None:
        known = error if isinstance(error, HubError) else None
        self.page.setVisible(known is not None and bool(known.page))
        self.page.setToolTip(known.page if known else "")
        self.account.setVisible(known is not None and known.kind in ("no_token", "bad_token", "denied"))

    def describe(self, status: hv.DownloadStatus) -> str:
        """What it is doing, in a line."""
        total = status.total_bytes
        amount = self._of_total(status.done_bytes, total) if total else ""
        match status.state:
            case "failed":
                return str(status.error) if status.error else self.tr("It failed.")
            case "done":
                return self.tr("{0} · complete and verified").format(formats.data_size(total or status.done_bytes))
            case "queued":
                words = [self.tr("Waiting for its turn"), amount]
            case "paused":
                words = [self.tr("Paused"), amount]
            case "verifying":
                words = [self.tr("Checking what was fetched"), amount]
            case "running":
                words = [amount or self.tr("Asking the hub what there is"), self._pace(status) if total else ""]
        return " · ".join(word for word in (*words, status.note) if word)

    def _pace(self, status: hv.DownloadStatus) -> str:
        if not status.speed_bytes_per_s:
            return self.tr("nothing is coming in")
        speed = formats.speed(status.speed_bytes_per_s)
        if status.eta_s is None:
            return speed
        return f"{speed} · " + self.tr("{0} left").format(formats.duration(status.eta_s))

    def _of_total(self, done: int, total: int) -> str:
        """ "1.20 of 2.30 GB": both in the total's unit, with its decimals."""
        divisor, unit = formats.bytes_unit(total * 1.0005)
        size = formats.data_size(total)
        decimals = len(size.removesuffix(f" {unit}").partition(formats.locale().decimalPoint())[2])
        return self.tr("{0} of {1}").format(formats.decimal(done / divisor, decimals), size)

    # ------------------------------------------------------------ what the user does

    def on_files_toggled(self) -> None:
        self._show_files(self.status)

    def on_load(self) -> None:
        self.load_clicked.emit(self.status.path)

    def on_go_on(self) -> None:
        self._hub.ask(hv.Download(self.status.repo_id))

    def on_pause(self) -> None:
        self._hub.ask(hv.PauseDownload(self.status.repo_id))

    def on_cancel(self) -> None:
        self._hub.ask(hv.CancelDownload(self.status.repo_id))

    def on_page(self) -> None:
        QDesktopServices.openUrl(QUrl(self.page.toolTip()))

    def on_theme_changed(self) -> None:
        for button in (self.go_on, self.pause, self.cancel):
            button.setIcon(theme.icon(button.property("icon_name"), theme.colors().muted))


def share(status: hv.DownloadStatus) -> float:
    """How much of it is here, from 0 to 1."""
    return min(1.0, status.done_bytes / status.total_bytes) if status.total_bytes else 0.0


class DownloadPlace(QWidget):
    """Shows the row of one model's download while it is under way or failed; takes no room otherwise.

    `changed` when a row comes or goes, `account_clicked` as the row's.
    """

    changed = Signal()
    account_clicked = Signal()

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub, self._repo_id = hub, ""
        self.row: DownloadRow | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        hub.download_changed.connect(self.on_download_changed)
        hub.download_removed.connect(self.on_download_removed)
        self.hide()

    def follow(self, repo_id: str) -> None:
        """Of this model from now on; of none where it is empty."""
        self._repo_id = repo_id
        self._update()

    def on_download_changed(self, status: hv.DownloadStatus) -> None:
        if status.repo_id == self._repo_id and (self.row is None or status.state == "done"):
            self._update()
            self.changed.emit()

    def on_download_removed(self, repo_id: str) -> None:
        if repo_id == self._repo_id:
            self._update()
            self.changed.emit()

    def _update(self) -> None:
        status = self._hub.downloads.get(self._repo_id)
        wanted = status if status is not None and status.state != "done" else None
        if self.row is not None and (wanted is None or self.row.status.repo_id != wanted.repo_id):
            self.row.hide()
            self.row.deleteLater()
            self.row = None
        if wanted is not None and self.row is None:
            self.row = DownloadRow(self._hub, wanted, self, title=self.tr("Download"))
            self.row.account_clicked.connect(self.account_clicked)
            self._column.addWidget(self.row)
        self.setVisible(self.row is not None)
