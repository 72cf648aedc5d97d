"""The list of conversations: pinned ones, then by day. A table of one column: it asks for the rows on screen only, so
that ten thousand open as fast as ten."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QDate,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.library.records import Conversation
from app.ui.shared import formats, theme
from app.ui.shared.painting import saved

Index = QModelIndex | QPersistentModelIndex
ID_ROLE = Qt.ItemDataRole.UserRole
DETAIL_ROLE = Qt.ItemDataRole.UserRole + 1
SHORT_ROLE = Qt.ItemDataRole.UserRole + 2
PINNED_ROLE = Qt.ItemDataRole.UserRole + 3


class ConversationModel(QAbstractListModel):
    """Rows are headings (str) and conversations, in the order shown."""

    renamed = Signal(str, str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._rows: list[str | Conversation] = []
        self._row_of: dict[str, int] = {}
        self.answering = ""  # the conversation that a reply is being written in

    def set_conversations(self, conversations: Sequence[Conversation], today: datetime.date) -> None:
        """They come in the order shown: pinned ones first, then the latest."""
        rows: list[str | Conversation] = []
        row_of: dict[str, int] = {}
        pinned, least = False, math.inf  # of the group at hand: its times are `least` or later
        for conversation in conversations:
            if conversation.pinned != pinned or (not pinned and conversation.updated < least):
                pinned = conversation.pinned
                heading, least = (self.tr("Pinned"), math.inf) if pinned else self._group(conversation.updated, today)
                rows.append(heading)
            row_of[conversation.id] = len(rows)
            rows.append(conversation)
        same = row_of == self._row_of and rows[:1] == self._rows[:1]
        if not same:
            self.beginResetModel()
        self._rows, self._row_of = rows, row_of
        if not same:
            self.endResetModel()
        elif rows:
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))

    def _group(self, updated: float, today: datetime.date) -> tuple[str, float]:
        """The heading for a time, and when its group begins."""
        midnight = datetime.datetime.combine(today, datetime.time())
        near = (
            (0, self.tr("Today")),
            (1, self.tr("Yesterday")),
            (7, self.tr("Last 7 days")),
            (30, self.tr("Last 30 days")),
        )
        for days, heading in near:
            if updated >= (start := (midnight - datetime.timedelta(days=days)).timestamp()):
                return heading, start
        first = datetime.datetime.fromtimestamp(updated).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        return formats.month(QDate(first.year, first.month, 1)), first.timestamp()

    def row_of(self, conversation_id: str) -> int:
        """-1: it isn't here."""
        return self._row_of.get(conversation_id, -1)

    def headings(self) -> list[int]:
        """The rows of the headings."""
        return [place for place, row in enumerate(self._rows) if isinstance(row, str)]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self._rows[index.row()]
        if isinstance(entry, str):
            return entry if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole) else None
        title = entry.title or self.tr("New conversation")
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return title
        if role == ID_ROLE:
            return entry.id
        if role == PINNED_ROLE:
            return entry.pinned
        if role == DETAIL_ROLE:
            return self._detail(entry)
        if role == SHORT_ROLE:
            return self._detail(entry, short=True)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join([title, *([self.tr("pinned")] if entry.pinned else []), self._detail(entry)])
        if role == Qt.ItemDataRole.ToolTipRole:
            return formats.tip(f"{title}\n{self._detail(entry)}\n{formats.moment(entry.updated)}")
        return None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        entry = self._rows[index.row()]
        if isinstance(entry, str) or not str(value).strip():
            return False
        self.renamed.emit(entry.id, str(value).strip())
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if isinstance(self._rows[index.row()], str):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def _detail(self, entry: Conversation, short: bool = False) -> str:
        if entry.id == self.answering:
            return self.tr("A reply is being written")
        scheme = self.tr("uncompressed") if entry.scheme == "none" else entry.scheme
        if not entry.cached_tokens:
            return scheme
        words = (
            self.tr("{0} · {1} tokens · {2}", "", entry.cached_tokens)
            if short
            else self.tr("{0} · {1} tokens · {2} cached", "", entry.cached_tokens)
        )
        return words.format(scheme, formats.count(entry.cached_tokens), formats.data_size(entry.cached_bytes))


class ConversationDelegate(QStyledItemDelegate):
    """A title and a quiet second line; headings in small type. `marked`: the row whose menu is open."""

    marked = QPersistentModelIndex()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors = theme.colors()
        with saved(painter):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            rect: QRect = option.rect  # type: ignore[attr-defined]  # the stubs lack it
            align = Qt.AlignmentFlag.AlignLeading
            small = theme.font(theme.SMALL)
            if index.data(ID_ROLE) is None:
                painter.setFont(theme.font(theme.SMALL, bold=True))
                painter.setPen(QColor(colors.muted))
                area = rect.adjusted(10, 0, -10, -5)
                painter.drawText(area, align | Qt.AlignmentFlag.AlignBottom, str(index.data()))
                return
            paint_row(painter, option)
            if self.marked == index:
                paint_mark(painter, option)
            area = rect.adjusted(10, 7, -10, -7)
            title_font = theme.font()
            painter.setFont(title_font)
            painter.setPen(QColor(colors.text))
            elide = Qt.TextElideMode.ElideRight
            title = formats.elided(str(index.data()), QFontMetrics(title_font), area.width())
            painter.drawText(area, align | Qt.AlignmentFlag.AlignTop, title)
            painter.setFont(small)
            painter.setPen(QColor(colors.muted))
            metrics = QFontMetrics(small)
            detail = str(index.data(DETAIL_ROLE))
            if metrics.horizontalAdvance(detail) > area.width():
                detail = metrics.elidedText(str(index.data(SHORT_ROLE)), elide, area.width())
            painter.drawText(area, align | Qt.AlignmentFlag.AlignBottom, detail)

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, _index: Index) -> None:
        rect: QRect = option.rect  # type: ignore[attr-defined]
        editor.setGeometry(rect.adjusted(2, 4, -2, -4))

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        super().setEditorData(editor, index)
        if isinstance(editor, QLineEdit):
            editor.setAccessibleName(self.tr("Name of the conversation"))
            editor.selectAll()


def paint_row(painter: QPainter, option: QStyleOptionViewItem) -> None:
    """The rounded ground of a row that is chosen, or under the mouse."""
    state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]  # the stubs lack it
    rect: QRect = option.rect  # type: ignore[attr-defined]
    selected = bool(state & QStyle.StateFlag.State_Selected)
    if selected or state & QStyle.StateFlag.State_MouseOver:
        colors = theme.colors()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.selected if selected else colors.hover))
        painter.drawRoundedRect(QRectF(rect).adjusted(0, 1, 0, -1), 8, 8)


def paint_mark(painter: QPainter, option: QStyleOptionViewItem) -> None:
    """Around the row whose menu is open."""
    rect: QRect = option.rect  # type: ignore[attr-defined]  # the stubs lack it
    painter.setPen(QColor(theme.colors().accent))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 1.5, -0.5, -1.5), 8, 8)


class ConversationList(QTableView):
    """`delete_pressed` for the current row; `left`: the user is done here (a click, Enter, Escape)."""

    delete_pressed = Signal()
    left = Signal()

    def __init__(self, model: ConversationModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Conversations"))
        self._headings: list[int] = []
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.setCornerButtonEnabled(False)
        self.horizontalHeader().hide()
        self.horizontalHeader().setStretchLastSection(True)
        self.horizontalHeader().setMinimumSectionSize(1)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(1)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setEditTriggers(QTableView.EditTrigger.EditKeyPressed)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setModel(model)
        self._delegate = ConversationDelegate(self)
        self.setItemDelegate(self._delegate)
        self._conversations = model
        model.modelReset.connect(self.on_reset)
        self.clicked.connect(self.left)
        self.activated.connect(self.left)
        self.on_fonts_changed()

    @property
    def editing(self) -> bool:
        """Whether a name is being typed."""
        return self.state() == QTableView.State.EditingState

    def on_fonts_changed(self) -> None:
        """Rows are as high as their lines."""
        small = QFontMetrics(theme.font(theme.SMALL)).height()
        self._row, self._head = QFontMetrics(theme.font()).height() + small + 16, small + 20
        header = self.verticalHeader()
        header.setDefaultSectionSize(self._row)
        self._headings = []
        self.on_reset()

    def on_reset(self) -> None:
        header, headings = self.verticalHeader(), self._conversations.headings()
        for row in self._headings:
            if row < header.count():
                header.resizeSection(row, self._row)
        for row in headings:
            header.resizeSection(row, self._head if row else self._head - 8)
        self._headings = headings

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The right button opens a row's menu, and chooses nothing."""
        if event.button() != Qt.MouseButton.RightButton:
            super().mousePressEvent(event)

    def mark(self, index: Index) -> None:
        """The row whose menu is open; an invalid index: none."""
        self._delegate.marked = QPersistentModelIndex(index)
        self.viewport().update()

    def event(self, event: QEvent) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()  # not the window's Stop
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        # A Mac's Delete key is this Backspace; without ⌘ it is pressed too easily where a text was meant.
        if event.key() == Qt.Key.Key_Delete or (event.key() == Qt.Key.Key_Backspace and control):
            if self.currentIndex().isValid():
                self.delete_pressed.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)
