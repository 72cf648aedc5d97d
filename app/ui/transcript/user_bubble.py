"""What the user wrote, as a piece of a transcript."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QTextEdit, QWidget

from app import attachments
from app.ui.shared import theme
from app.ui.shared.cards import quiet_button
from app.ui.text.text_pane import PlainPane
from app.ui.transcript import message_menu
from app.ui.transcript.attached import AttachedFiles
from app.ui.transcript.message_tools import MessageTools

FOLD_LINES = 12


class UserBubble(QWidget):
    """The user's words at the right, as wide as they need; a long text is folded until asked for, and so is every file
    that goes with it.
    """

    PADDING_X, PADDING_Y, BELOW = 14, 10, 7  # a line's own spacing lies below it

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = text
        words, files = attachments.split(text)
        self.setAccessibleName(self.tr("You: {0}").format((words or text)[:200]))
        self.files = AttachedFiles(files, self) if files else None
        if self.files:
            self.files.toggled.connect(self._arrange)
        self._pane = PlainPane(words, self)
        self._pane.setVisible(bool(words))
        self._pane.setAccessibleName(self.tr("Your message"))
        self.more = quiet_button(self.tr("Show all"), self)
        self.more.clicked.connect(self.on_more_clicked)
        self.more.hide()
        self._folded = True
        self.tools: MessageTools | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.theme().changed.connect(self.on_theme_changed)

    def set_tools(self, tools: MessageTools) -> None:
        """Beside the bubble where there is room, else below it; with ‹ › always below: these stay in one place."""
        self.tools = tools
        tools.setParent(self)
        tools.watch(self)
        self._arrange()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.tools is not None:
            message_menu.show(self, event, self.tools.fill)

    def source(self) -> str:
        return self.text

    @staticmethod
    def texts(source: str) -> list[str]:
        words, files = attachments.split(source)
        return [*(file.text.rstrip("\n") for file in files), words]

    def panes(self) -> list[QTextEdit | QPlainTextEdit | None]:
        return [*(self.files.opened if self.files else ()), self._pane]

    def reveal(self, number: int) -> QTextEdit | QPlainTextEdit:
        if self.files and number < len(self.files.buttons):
            return self.files.reveal(number)
        if self._folded and not self.more.isHidden():
            self.on_more_clicked()
        return self._pane

    def on_theme_changed(self) -> None:
        self._pane.restyle()
        self._arrange()

    def on_more_clicked(self) -> None:
        self._folded = not self._folded
        self.more.setText(self.tr("Show all") if self._folded else self.tr("Show less"))
        self._arrange()

    def resizeEvent(self, _event: QResizeEvent) -> None:
        self._arrange()

    def _arrange(self) -> None:
        limit = int(self.width() * 0.8) - 2 * self.PADDING_X
        words = not self._pane.isHidden()
        width = max(self._pane.natural_width(limit) if words else 0, 12)
        top = self.PADDING_Y
        if self.files:
            width = max(width, self.files.natural_width(limit))
            files_height = self.files.sizeHint().height()
            self.files.setGeometry(self._bubble_left(width), top, width, files_height)
            top += files_height + (8 if words else 3 - self.BELOW)
        left = self._bubble_left(width)
        full = self._pane.text_height(width) if words else 0
        folded = self._pane.height_of_lines(FOLD_LINES)
        long = full > folded * 1.3
        height = folded if long and self._folded else full
        self._pane.setGeometry(left, top, width, height)
        total = top + height + self.BELOW
        self.more.setVisible(long)
        if long:
            size = self.more.sizeHint()
            self.more.setGeometry(left - 5, top + height + 4, size.width(), size.height())
            total += size.height() + 2
        self.box = QRectF(left - self.PADDING_X, 0, width + 2 * self.PADDING_X, total)
        if self.tools is not None:
            total = self._place_tools(self.tools, total)
        if total != self.height():
            self.setFixedHeight(total)
        self.update()

    def _place_tools(self, tools: MessageTools, height: int) -> int:
        """Returns the height with them."""
        size, gap = tools.sizeHint(), 6
        rtl = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        beside = int(self.box.right()) + gap if rtl else int(self.box.left()) - gap - size.width()
        if not tools.has_versions and beside >= 0 and beside + size.width() <= self.width():
            tools.setGeometry(beside, height - size.height() - 4, size.width(), size.height())
            return height
        tools.setGeometry(0 if rtl else self.width() - size.width(), height + 2, size.width(), size.height())
        return height + 2 + size.height()

    def _bubble_left(self, width: int) -> int:
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            return self.PADDING_X
        return self.width() - width - self.PADDING_X

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.colors().bubble))
            painter.drawRoundedRect(self.box, 13, 13)
