"""A read-only text as high as its content: selectable, copyable, without scroll bars of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from PySide6.QtCore import QMimeData, QPointF, QRectF, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QTextBlock,
    QTextCursor,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QToolButton, QWidget

from app.ui.shared import theme
from app.ui.text import document_text, links
from app.ui.text.document_text import Property
from app.ui.text.markdown_scribe import CODE_HEADER, CODE_PADDING, INDENT

LONGEST_WORD = 10_000


def wrap_mode(text: str) -> QTextOption.WrapMode:
    """Where lines of `text` may break. Looking for a place in an endless word takes Qt 17 s at 200,000 letters."""
    endless = max(map(len, text.split()), default=0) > LONGEST_WORD
    mode = QTextOption.WrapMode
    return mode.WrapAnywhere if endless else mode.WrapAtWordBoundaryOrAnywhere


class CopyButton(QToolButton):
    """Copies what `text` returns and says so for a moment."""

    label_changed = Signal()

    def __init__(self, text: Callable[[], str], parent: QWidget) -> None:
        super().__init__(parent)
        self._text = text
        self.setProperty("role", "quiet")
        self.setFont(theme.font(theme.SMALL))
        self.setText(self.tr("Copy"))
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._reset = QTimer(self, singleShot=True, interval=1500)
        self._reset.timeout.connect(self.on_reset)
        self.clicked.connect(self.on_clicked)

    def on_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._text())
        self.setText(self.tr("Copied"))
        self._reset.start()
        self.label_changed.emit()

    def on_reset(self) -> None:
        self.setText(self.tr("Copy"))
        self.label_changed.emit()


class TextPane(QTextBrowser):
    """Paints code boxes, quote bars, list markers and the writing caret under and beside the document."""

    fits_itself = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # its message has one
        self.viewport().setAutoFillBackground(False)
        self.setAutoFillBackground(False)
        self.document().setDocumentMargin(0)
        self.anchorClicked.connect(self.on_anchor_clicked)
        self.horizontalScrollBar().valueChanged.connect(self._place_copy_buttons)
        self._copy_buttons: list[CopyButton] = []
        self._caret = False

    # ------------------------------------------------------------ size

    def fit_height(self) -> None:
        """Take the height that the text needs at the present width."""
        # A hidden widget's viewport hasn't its new size yet; without a frame or bars it is the widget's own.
        self.document().setTextWidth(self.width())
        height = math.ceil(self.document().size().height())
        if self.document().lastBlock().blockFormat().hasProperty(Property.CODE):
            height += int(CODE_PADDING)  # a document leaves out the margin below its last block
        wide = self.document().size().width() > self.width() + 2  # a border may reach beyond the edge
        if wide:  # a table or a formula that scrolls sideways
            height += self.horizontalScrollBar().sizeHint().height()
        policy = Qt.ScrollBarPolicy
        self.setHorizontalScrollBarPolicy(policy.ScrollBarAlwaysOn if wide else policy.ScrollBarAlwaysOff)
        if height != self.height():
            self.setFixedHeight(height)
        self._place_copy_buttons()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.fits_itself and event.size().width() != event.oldSize().width():
            self.fit_height()

    def sizeHint(self) -> QSize:
        return QSize(320, self.height())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Sideways it scrolls a wide table, else the transcript."""
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()) and self.horizontalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    # ------------------------------------------------------------ what the reader does

    def loadResource(self, _kind: int, _name: QUrl | str) -> None:
        """Nothing is ever fetched."""
        return None

    def on_anchor_clicked(self, address: QUrl) -> None:
        links.ask(address.toString(QUrl.ComponentFormattingOption.FullyEncoded), self)

    def createMimeDataFromSelection(self) -> QMimeData:
        """Text alone: with its HTML the theme's colours would be pasted too."""
        data = QMimeData()
        data.setText(document_text.plain_text(self.textCursor()))
        return data

    def set_caret(self, shown: bool) -> None:
        self._caret = shown
        self.viewport().update()

    @contextmanager
    def keeping_selection(self) -> Iterator[None]:
        """While the document is written: what is selected or marked stays so, also where it is written again."""
        before, marks = self.textCursor(), self.extraSelections()
        anchor, position = before.anchor(), before.position()
        spans = [(mark.cursor.anchor(), mark.cursor.position()) for mark in marks]  # type: ignore[attr-defined]
        yield
        cursor, last = self.textCursor(), self.document().characterCount() - 1
        if anchor != position and (cursor.anchor(), cursor.position()) != (anchor, position):
            cursor.setPosition(min(anchor, last))
            cursor.setPosition(min(position, last), QTextCursor.MoveMode.KeepAnchor)
            self.setTextCursor(cursor)
        for mark, (start, end) in zip(marks, spans, strict=True):
            mark.cursor.setPosition(min(start, last))  # type: ignore[attr-defined]
            mark.cursor.setPosition(min(end, last), QTextCursor.MoveMode.KeepAnchor)  # type: ignore[attr-defined]
        if marks:
            self.setExtraSelections(marks)

    # ------------------------------------------------------------ code boxes

    def _place_copy_buttons(self) -> None:
        blocks = list(document_text.code_blocks(self.document()))
        while len(self._copy_buttons) < len(blocks):
            button = CopyButton(partial(self._code_at, len(self._copy_buttons)), self.viewport())
            button.setAccessibleName(self.tr("Copy this code"))
            button.label_changed.connect(self._place_copy_buttons)
            self._copy_buttons.append(button)
        for button in self._copy_buttons[len(blocks) :]:
            button.hide()
        for button, block in zip(self._copy_buttons, blocks, strict=False):
            box = self._code_box(block)
            size = button.sizeHint()
            left = int(box.right()) - size.width() - 5 - self.horizontalScrollBar().value()
            button.setGeometry(left, int(box.top()) + 3, size.width(), size.height())
            button.show()

    def _code_at(self, index: int) -> str:
        return document_text.code_text(list(document_text.code_blocks(self.document()))[index])

    def _code_box(self, block: QTextBlock) -> QRectF:
        text = self.document().documentLayout().blockBoundingRect(block)
        left = block.blockFormat().leftMargin() - CODE_PADDING
        height = text.height() + CODE_HEADER + CODE_PADDING
        return QRectF(left, text.top() - CODE_HEADER, self.viewport().width() - left, height)

    # ------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.translate(-self.horizontalScrollBar().value(), 0)
            self._paint_below(painter, QRectF(event.rect()))
        super().paintEvent(event)

    def _paint_below(self, painter: QPainter, visible: QRectF) -> None:
        layout = self.document().documentLayout()
        first = layout.hitTest(QPointF(0, max(visible.top() - 40, 0)), Qt.HitTestAccuracy.FuzzyHit)
        block = self.document().findBlock(max(first, 0))
        if block.previous().isValid():
            block = block.previous()  # its quote's bar reaches down to the next block
        while block.isValid():
            rect = layout.blockBoundingRect(block)
            if rect.top() > visible.bottom() + 40:
                break
            style = block.blockFormat()
            if style.hasProperty(Property.CODE):
                self._paint_code(painter, block)
            if style.hasProperty(Property.RULE):
                painter.setPen(QColor(theme.colors().line))
                middle = round(rect.center().y()) + 0.5
                painter.drawLine(QPointF(style.leftMargin(), middle), QPointF(self.viewport().width(), middle))
            self._paint_quote(painter, block, rect)
            self._paint_marker(painter, block, rect)
            block = block.next()
        if self._caret:
            rect = QRectF(self.cursorRect(self._end_cursor())).translated(self.horizontalScrollBar().value(), 0)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.colors().accent))
            painter.drawRoundedRect(QRectF(rect.left() + 2, rect.top() + 1, 3, rect.height() - 2), 1.5, 1.5)

    def _paint_code(self, painter: QPainter, block: QTextBlock) -> None:
        colors, box = theme.colors(), self._code_box(block)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.code))
        painter.drawRoundedRect(box, 8, 8)
        painter.setFont(theme.font(theme.SMALL))
        painter.setPen(QColor(colors.muted))
        header = QRectF(box.left() + CODE_PADDING, box.top() + 2, box.width() - 90, CODE_HEADER - 2)
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute
        painter.drawText(header, align, str(block.blockFormat().property(Property.LANGUAGE) or ""))

    def _paint_quote(self, painter: QPainter, block: QTextBlock, rect: QRectF) -> None:
        levels = block.blockFormat().property(Property.QUOTE) or []
        if not levels:
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.colors().line))
        # A bar runs through the gap to the next block of the same quote.
        after = block.next()
        goes_on = (after.blockFormat().property(Property.QUOTE) or []) if after.isValid() else []
        below = self.document().documentLayout().blockBoundingRect(after).top() if goes_on else rect.bottom()
        for level in levels:
            bottom = below if level in goes_on else rect.bottom()
            offset = level * theme.at_scale(INDENT) + 4
            left = self.viewport().width() - offset - 3 if _right_to_left(block) else offset
            painter.drawRoundedRect(QRectF(left, rect.top(), 3, bottom - rect.top()), 1.5, 1.5)

    def _paint_marker(self, painter: QPainter, block: QTextBlock, rect: QRectF) -> None:
        marker = block.blockFormat().property(Property.MARKER)
        if not marker:
            return
        font = self.document().defaultFont()
        metrics = QFontMetricsF(font)
        width = metrics.horizontalAdvance(str(marker))
        line = block.layout().lineAt(0) if block.layout().lineCount() else None
        baseline = rect.top() + (line.y() + line.ascent() if line else metrics.ascent())
        style = block.blockFormat()
        left = style.leftMargin() - 7 - width
        if _right_to_left(block):
            left = self.viewport().width() - style.rightMargin() + 7
        painter.setFont(font)
        painter.setPen(QColor(theme.colors().muted))
        painter.drawText(QPointF(max(left, 0.0), baseline), str(marker))

    def _end_cursor(self) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        return cursor


def _right_to_left(block: QTextBlock) -> bool:
    return block.textDirection() == Qt.LayoutDirection.RightToLeft


class PlainPane(TextPane):
    """A text shown exactly as it was typed. Its owner sets width and height."""

    fits_itself = False

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.restyle()
        self.setWordWrapMode(wrap_mode(text))  # before the first layout
        self.setPlainText(text)
        block = self.textCursor().blockFormat()
        block.setLineHeight(124, block.LineHeightTypes.ProportionalHeight.value)
        cursor = self.textCursor()
        cursor.select(cursor.SelectionType.Document)
        cursor.mergeBlockFormat(block)

    def restyle(self) -> None:
        """Take the theme's font and colours."""
        self.document().setDefaultFont(theme.font(1.06))
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Text, QColor(theme.colors().text))
        self.setPalette(palette)

    def natural_width(self, limit: int) -> int:
        self.document().setTextWidth(-1)
        return min(limit, math.ceil(self.document().idealWidth()) + 1)

    def text_height(self, width: int) -> int:
        self.document().setTextWidth(width)
        return math.ceil(self.document().size().height())

    def height_of_lines(self, number: int) -> int:
        """Where the line after the first `number` begins; the whole height when there are no more."""
        layout, left = self.document().documentLayout(), number
        block = self.document().begin()
        while block.isValid():
            if left < block.layout().lineCount():
                return int(layout.blockBoundingRect(block).top() + block.layout().lineAt(left).y())
            left -= block.layout().lineCount()
            block = block.next()
        return math.ceil(self.document().size().height())
