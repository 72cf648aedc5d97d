"""All downloads: a card of rows that the tool bar's button opens, whichever page is shown."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QVBoxLayout, QWidget

from app import hub_events as hv
from app.ui.models.download_row import DownloadRow, short_name
from app.ui.models.hub_link import Hub
from app.ui.models.model_link import ModelLink
from app.ui.shared import formats, theme
from app.ui.shared.cards import quiet_button
from app.ui.shared.notice_bar import NoticeBar
from app.ui.shared.popover import Popover

CARD_WIDTH = 400
CARD_MOST = 440  # of the rows' height; more of them scroll
MARGINS = (6, 12, 6, 8)
SPACING = 8


class DownloadsCard(Popover):
    """All downloads. Signals as DownloadRow's."""

    load_clicked = Signal(str)
    account_clicked = Signal()

    def __init__(self, hub: Hub, window: QWidget) -> None:
        super().__init__(CARD_WIDTH, window)
        self.setAccessibleName(self.tr("Downloads"))
        self._hub = hub
        self.rows: dict[str, DownloadRow] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(*MARGINS)
        column.setSpacing(SPACING)
        self._head = QWidget(self)
        head = QHBoxLayout(self._head)
        head.setContentsMargins(10, 0, 8, 0)
        title = QLabel(self.tr("Downloads"), self._head)
        title.setFont(theme.font(bold=True))
        self.clear = quiet_button(self.tr("Clear finished"), self._head)
        self.clear.clicked.connect(self.on_clear)
        head.addWidget(title)
        head.addStretch()
        head.addWidget(self.clear)
        column.addWidget(self._head)
        self._scroll = QScrollArea(self)
        self._scroll.setObjectName("popoverScroll")
        self._scroll.setAccessibleName(self.tr("Downloads"))
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its buttons have it
        body = QWidget(self._scroll)
        body.setObjectName("popoverBody")
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(10, 0, 10, 4)
        self._column.setSpacing(16)
        self._column.addStretch()
        self._scroll.setWidget(body)
        body.installEventFilter(self)
        column.addWidget(self._scroll, 1)
        hub.download_changed.connect(self.on_changed)
        hub.download_removed.connect(self.on_removed)
        for status in hub.downloads.values():
            self.on_changed(status)

    def wanted_height(self) -> int:
        """As high as the rows are, up to a limit."""
        left, top, right, bottom = MARGINS
        width = self.card_width - left - right
        rows = self._column.totalHeightForWidth(width) if self._column.hasHeightForWidth() else 0
        rows = min(rows or self._column.totalSizeHint().height(), theme.at_scale(CARD_MOST))
        return top + self._head.sizeHint().height() + SPACING + rows + bottom

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and watched is self._scroll.widget() and self.isVisible():
            self.place()
        return super().eventFilter(watched, event)

    def on_changed(self, status: hv.DownloadStatus) -> None:
        if status.repo_id not in self.rows:
            row = DownloadRow(self._hub, status, self)
            row.load_clicked.connect(self.on_load)
            row.account_clicked.connect(self.on_account)
            self._column.insertWidget(self._column.count() - 1, row)
            self.rows[status.repo_id] = row
        self._show_clear()

    def on_removed(self, repo_id: str) -> None:
        row = self.rows.pop(repo_id, None)
        if row is not None:
            row.hide()
            row.deleteLater()
        self._show_clear()
        if not self.rows:
            self.close_card()

    def _show_clear(self) -> None:
        self.clear.setVisible(any(row.status.state == "done" for row in self.rows.values()))

    def on_clear(self) -> None:
        for row in self.rows.values():
            if row.status.state == "done":
                self._hub.ask(hv.CancelDownload(row.status.repo_id))

    def on_account(self) -> None:
        self.close_card()
        self.account_clicked.emit()

    def on_load(self, path: str) -> None:
        self.close_card()
        self.load_clicked.emit(path)

    def open_at(self, anchor: QWidget) -> None:
        super().open_at(anchor)
        first = next((button for button in self.findChildren(QToolButton) if button.isVisible()), None)
        if first is not None:
            first.setFocus(Qt.FocusReason.PopupFocusReason)


class DownloadsButton(QToolButton):
    """In the tool bar while there are downloads: how far they are together. Opens `card`."""

    def __init__(self, hub: Hub, window: QWidget) -> None:
        super().__init__(window)
        self._hub = hub
        self.card = DownloadsCard(hub, window)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setFont(theme.font(theme.SMALL))
        self.clicked.connect(self.on_clicked)
        hub.download_changed.connect(self.on_changed)
        hub.download_removed.connect(self.on_changed)
        theme.theme().changed.connect(self.on_theme_changed)
        self._update()

    def on_clicked(self) -> None:
        self.card.open_at(self)

    def on_changed(self, _which: object) -> None:
        self._update()

    def on_theme_changed(self) -> None:
        self._update()

    def _update(self) -> None:
        colors, all_of_them = theme.colors(), list(self._hub.downloads.values())
        active = [status for status in all_of_them if status.active]
        failed = sum(status.state == "failed" for status in all_of_them)
        paused = sum(status.state == "paused" for status in all_of_them)
        done = sum(status.state == "done" for status in all_of_them)
        if active:
            total = sum(status.total_bytes or 0 for status in active)
            here = sum(status.done_bytes for status in active if status.total_bytes)
            text, icon, color = f"{100 * here // total} %" if total else "", "download", colors.accent
            words = self.tr("{0} downloads under way").format(len(active))
            if len(active) == 1:
                words = self.tr("Downloading {0}").format(short_name(active[0].repo_id))
        elif failed:
            text, icon, color, words = str(failed), "warning", colors.bad, self.tr("A download failed")
        elif paused:
            text, icon, color, words = str(paused), "pause", colors.muted, self.tr("A download is paused")
        else:
            text, icon, color, words = str(done), "check", colors.good, self.tr("Downloads are complete")
        self.setText(formats.isolated(text) if text else "")
        self.setIcon(theme.icon(icon, color))
        self.setToolTip(words)
        self.setAccessibleName(f"{self.tr('Downloads')}: {words} {text}")


class DownloadNews(QObject):
    """Tells what became of downloads, above the chat: one notice for those that are done, one for those that failed.
    `load_wanted(path)`.
    """

    load_wanted = Signal(str)

    def __init__(self, hub: Hub, models: ModelLink, notices: NoticeBar, parent: QObject) -> None:
        super().__init__(parent)
        self._models, self._notices = models, notices
        self._told: dict[str, tuple[str, list[hv.DownloadStatus]]] = {}  # by state: what stands there, and of which
        hub.download_ended.connect(self.on_ended)
        models.changed.connect(self.on_model_changed)

    def on_ended(self, status: hv.DownloadStatus) -> None:
        text, told = self._told.get(status.state, ("", []))
        others = [other for other in told if other.repo_id != status.repo_id and text in self._notices.texts()]
        self._notices.dismiss(text)
        words = self._words(status, len(others))
        self._told[status.state] = words, [*others, status]
        if status.state == "done":
            self._notices.show_notice(words, self.tr("Load"), partial(self.load_wanted.emit, status.path))
        else:
            self._notices.show_notice(words, trouble=status.state == "failed")

    def _words(self, status: hv.DownloadStatus, others: int) -> str:
        """Of the last that ended; the others are counted, the card lists them."""
        name = short_name(status.repo_id)
        if status.state == "done":
            if others:
                return self.tr("{0} and {1} more are downloaded and verified.", "", others).format(
                    name, formats.count(others)
                )
            return self.tr("{0} is downloaded and verified.").format(name)
        if others:
            name = self.tr("{0} and {1} more downloads failed", "", others).format(name, formats.count(others))
        return self.tr("{0}: {1}").format(name, status.error or self.tr("It failed."))

    def on_model_changed(self) -> None:
        """What is loaded needn't be offered any more."""
        text, told = self._told.get("done", ("", []))
        if self._models.model is not None and told and told[-1].path == self._models.model.path:
            self._notices.dismiss(text)
