"""A list of models, of the hub or of this computer: name, facts, and a verdict with a coloured dot; and the pane that
puts it beside the details of what is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.ui.shared import formats, theme
from app.ui.shared.cards import Line, quiet_button
from app.ui.shared.painting import saved
from app.ui.shared.tones import DOT, Tone, paint_dot, tone_color

Index = QModelIndex | QPersistentModelIndex
ENTRY_ROLE = Qt.ItemDataRole.UserRole
LIST_WIDTH = 360
NARROW = 720  # below it list and details take turns
LEAST = 600  # the same for larger text
SIDE, TOP, GAP = 12, 9, 3


@dataclass(frozen=True)
class Entry:
    """One model in a list. `facts` and `more` are quiet lines below the title; `badge` is the verdict in a word."""

    key: str
    title: str
    facts: str
    more: str = ""
    badge: str = ""
    tone: Tone = "muted"


class _Entries(QAbstractListModel):
    """Rows are headings (str) and entries, in the order shown."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: list[str | Entry] = []

    def set_rows(self, rows: Sequence[str | Entry]) -> None:
        if [_key(row) for row in rows] == [_key(row) for row in self.rows]:
            self.rows = list(rows)
            if rows:
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows = list(rows)
        self.endResetModel()

    def set_row(self, entry: Entry) -> None:
        """The same model known anew."""
        at = self.row_of(entry.key)
        if at >= 0 and self.rows[at] != entry:
            self.rows[at] = entry
            self.dataChanged.emit(self.index(at), self.index(at))

    def row_of(self, key: str) -> int:
        return next((n for n, row in enumerate(self.rows) if isinstance(row, Entry) and row.key == key), -1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.rows[index.row()]
        if isinstance(row, str):
            return row if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole) else None
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == ENTRY_ROLE:
            return row
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (row.title, row.badge, row.facts, row.more) if part)
        if role == Qt.ItemDataRole.ToolTipRole:
            return formats.tip("\n".join(part for part in (row.key, row.facts, row.more) if part))
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if isinstance(self.rows[index.row()], str):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


def _key(row: str | Entry) -> object:
    return row if isinstance(row, str) else (row.key,)


class _Delegate(QStyledItemDelegate):
    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        small = QFontMetrics(theme.font(theme.SMALL)).height()
        entry = index.data(ENTRY_ROLE)
        if not isinstance(entry, Entry):
            return QSize(100, small + (22 if index.row() else 12))
        lines = bool(entry.facts) + bool(entry.more)
        return QSize(100, QFontMetrics(theme.font(bold=True)).height() + lines * (small + GAP) + 2 * TOP)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors = theme.colors()
        entry = index.data(ENTRY_ROLE)
        rect: QRect = option.rect  # type: ignore[attr-defined]  # the stubs lack it
        state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
        with saved(painter):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if not isinstance(entry, Entry):
                painter.setFont(theme.font(theme.SMALL, bold=True))
                painter.setPen(QColor(colors.muted))
                lead = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignBottom
                painter.drawText(rect.adjusted(SIDE, 0, -SIDE, -5), lead, str(index.data()))
                return
            selected = bool(state & QStyle.StateFlag.State_Selected)
            if selected or state & QStyle.StateFlag.State_MouseOver:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(colors.selected if selected else colors.hover))
                painter.drawRoundedRect(QRectF(rect).adjusted(0, 1, 0, -1), 8, 8)
            self._paint_lines(painter, rect.adjusted(SIDE, TOP, -SIDE, -TOP), entry)

    def _paint_lines(self, painter: QPainter, area: QRect, entry: Entry) -> None:
        colors, lead = theme.colors(), Qt.AlignmentFlag.AlignLeading
        small, bold = theme.font(theme.SMALL), theme.font(bold=True)
        metrics, small_metrics = QFontMetrics(bold), QFontMetrics(small)
        taken = 0
        if entry.badge:
            taken = small_metrics.horizontalAdvance(entry.badge) + theme.sized(DOT) + 12
            self._paint_badge(painter, QRect(area.x(), area.y(), area.width(), metrics.height()), entry)
        painter.setFont(bold)
        painter.setPen(QColor(colors.text))
        title = metrics.elidedText(entry.title, Qt.TextElideMode.ElideMiddle, area.width() - taken)
        painter.drawText(area, lead | Qt.AlignmentFlag.AlignTop, title)
        painter.setFont(small)
        painter.setPen(QColor(colors.muted))
        y = area.y() + metrics.height() + GAP
        for line in (line for line in (entry.facts, entry.more) if line):
            text = formats.isolated(small_metrics.elidedText(line, Qt.TextElideMode.ElideRight, area.width()))
            painter.drawText(QRect(area.x(), y, area.width(), small_metrics.height()), lead, text)
            y += small_metrics.height() + GAP

    def _paint_badge(self, painter: QPainter, line: QRect, entry: Entry) -> None:
        """A dot and a word at the line's end."""
        small = theme.font(theme.SMALL)
        width = QFontMetrics(small).horizontalAdvance(entry.badge)
        mirrored = painter.layoutDirection() == Qt.LayoutDirection.RightToLeft
        painter.setFont(small)
        painter.setPen(QColor(theme.colors().muted))
        trail = Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(line, trail, formats.isolated(entry.badge))
        x = line.left() + width + 6 if mirrored else line.right() - width - theme.sized(DOT) - 5
        paint_dot(painter, x, line.center().y() + 1, tone_color(entry.tone))


class ModelList(QListView):
    """`chosen(key)` when another entry is current, `opened(key)` on a click or Enter, `delete_pressed(key)`,
    `end_reached` when the last entry comes into view.
    """

    chosen = Signal(str)
    opened = Signal(str)
    delete_pressed = Signal(str)
    end_reached = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries = _Entries(self)
        self.setModel(self._entries)
        self.setItemDelegate(_Delegate(self))
        self.setObjectName("modelList")
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setUniformItemSizes(False)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._quiet = False
        self.selectionModel().currentChanged.connect(self.on_current_changed)
        self.clicked.connect(self.on_opened)
        self.activated.connect(self.on_opened)
        self.verticalScrollBar().valueChanged.connect(self.on_scrolled)
        theme.theme().changed.connect(self.on_theme_changed)

    @property
    def current(self) -> str:
        entry = self.currentIndex().data(ENTRY_ROLE)
        return entry.key if isinstance(entry, Entry) else ""

    def entries(self) -> list[Entry]:
        return [row for row in self._entries.rows if isinstance(row, Entry)]

    def set_rows(self, rows: Sequence[str | Entry]) -> None:
        """Show these; what was chosen stays so where it still is there."""
        before = self.current
        self._quiet = True
        self._entries.set_rows(rows)
        self.choose(before)
        self._quiet = False
        if before and not self.current:
            self.chosen.emit("")

    def set_entry(self, entry: Entry) -> None:
        """One that is shown already, as it is now."""
        self._entries.set_row(entry)

    def choose(self, key: str) -> None:
        row = self._entries.row_of(key) if key else -1
        self.setCurrentIndex(self._entries.index(row) if row >= 0 else QModelIndex())

    def on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        entry = current.data(ENTRY_ROLE) if current.isValid() else None
        if isinstance(entry, Entry) and not self._quiet:
            self.chosen.emit(entry.key)

    def on_opened(self, index: QModelIndex) -> None:
        entry = index.data(ENTRY_ROLE)
        if isinstance(entry, Entry):
            self.opened.emit(entry.key)

    def on_scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        if bar.maximum() and value >= bar.maximum() - 40:
            self.end_reached.emit()

    def on_theme_changed(self) -> None:
        self.scheduleDelayedItemsLayout()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.current:
            self.delete_pressed.emit(self.current)
            return
        super().keyPressEvent(event)


class ListAndDetail(QWidget):
    """A list beside the details; in a narrow window one of the two at a time, with a way back."""

    def __init__(self, left: QWidget, models: ModelList, detail: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self._left, self._models = left, models
        self._right = QWidget(self)
        self._line = Line(self)
        self.back = quiet_button(self.tr("‹ Back to the list"), self._right)
        self.back.clicked.connect(self.on_back)
        column = QVBoxLayout(self._right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.back, 0, Qt.AlignmentFlag.AlignLeading)
        column.addWidget(detail, 1)
        row.addWidget(left)
        row.addWidget(self._line)
        row.addWidget(self._right, 1)
        self._narrow = self._on_detail = False
        models.opened.connect(self.on_opened)
        theme.theme().changed.connect(self._arrange)
        self._arrange()

    @property
    def narrow(self) -> bool:
        return self._narrow

    def on_opened(self, _key: str) -> None:
        self._on_detail = True
        self._arrange()

    def on_back(self) -> None:
        self._on_detail = False
        self._arrange()
        self._models.setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        self._narrow = self.width() < max(NARROW, theme.at_scale(LEAST))
        self._left.setVisible(not (self._narrow and self._on_detail))
        self._right.setVisible(not self._narrow or self._on_detail)
        self._line.setVisible(not self._narrow)
        self.back.setVisible(self._narrow)
        if self._narrow:
            self._left.setMinimumWidth(0)
            self._left.setMaximumWidth(16_777_215)
        else:
            self._left.setFixedWidth(min(theme.at_scale(LIST_WIDTH), int(self.width() * 0.46)))
