"""All downloads: a card of rows that the tool bar's button opens, whichever page is shown."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QVBoxLayout, QWidget

from app import hub_events as hv
from app.ui.models.download_row import DownloadRow, short_name
from app.ui.models.hub_link import Hub
from app.ui.models.model_link import ModelLink
from app.ui.shared import formats, theme
from app.ui.shared.cards import quiet_button
from app.ui.shared.notice_bar import NoticeBar

CARD_WIDTH = 400
CARD_MOST = 440  # of the rows' height; more of them scroll


class DownloadsCard(QFrame):
    """All downloads, in a card that closes on a press elsewhere or Escape. Signals as DownloadRow's."""

    load_clicked = Signal(str)
    account_clicked = Signal()

    def __init__(self, hub: Hub, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self.setAccessibleName(self.tr("Downloads"))
        self._hub = hub
        self.rows: dict[str, DownloadRow] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 12, 6, 8)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.setContentsMargins(10, 0, 8, 0)
        title = QLabel(self.tr("Downloads"), self)
        title.setFont(theme.font(bold=True))
        self.clear = quiet_button(self.tr("Clear finished"), self)
        self.clear.clicked.connect(self.on_clear)
        head.addWidget(title)
        head.addStretch()
        head.addWidget(self.clear)
        column.addLayout(head)
        self._scroll = QScrollArea(self)
        self._scroll.setObjectName("popoverScroll")
        self._scroll.setAccessibleName(self.tr("Downloads"))
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget(self._scroll)
        body.setObjectName("popoverBody")
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(10, 0, 10, 4)
        self._column.setSpacing(16)
        self._column.addStretch()
        self._scroll.setWidget(body)
        body.installEventFilter(self)
        column.addWidget(self._scroll)
        hub.download_changed.connect(self.on_changed)
        hub.download_removed.connect(self.on_removed)
        for status in hub.downloads.values():
            self.on_changed(status)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._scroll.widget() and event.type() == QEvent.Type.LayoutRequest:
            self._fit()
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
            self.close()

    def _show_clear(self) -> None:
        self.clear.setVisible(any(row.status.state == "done" for row in self.rows.values()))

    def on_clear(self) -> None:
        for row in self.rows.values():
            if row.status.state == "done":
                self._hub.ask(hv.CancelDownload(row.status.repo_id))

    def on_account(self) -> None:
        self.close()
        self.account_clicked.emit()

    def on_load(self, path: str) -> None:
        self.close()
        self.load_clicked.emit(path)

    def open_below(self, button: QWidget) -> None:
        self._fit()
        window = button.window()
        corner = button.mapTo(window, QPoint(button.width(), button.height() + 4))
        x = max(8, min(corner.x() - self.width(), window.width() - self.width() - 8))
        self.move(window.mapToGlobal(QPoint(x, corner.y())))
        self.show()
        self.focusNextChild()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def _fit(self) -> None:
        """As high as the rows are, up to a limit."""
        wanted = self._column.totalHeightForWidth(CARD_WIDTH - 14)
        self._scroll.setFixedHeight(min(max(wanted, self._column.totalSizeHint().height()), CARD_MOST))
        self.setFixedWidth(CARD_WIDTH)
        self.adjustSize()

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(theme.colors().line))
            painter.setBrush(QColor(theme.colors().background))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, 10)


class DownloadsButton(QToolButton):
    """In the tool bar while there are downloads: how far they are together. Opens `card`."""

    def __init__(self, hub: Hub, parent: QWidget) -> None:
        super().__init__(parent)
        self._hub = hub
        self.card = DownloadsCard(hub, self)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setFont(theme.font(theme.SMALL))
        self.clicked.connect(self.on_clicked)
        hub.download_changed.connect(self.on_changed)
        hub.download_removed.connect(self.on_changed)
        theme.theme().changed.connect(self.on_theme_changed)
        self._update()

    def on_clicked(self) -> None:
        self.card.open_below(self)

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
            self._notices.show_notice(words)

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
