"""The list of conversations: grouped by day, searched by title, renamed and deleted in place."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QMenu,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.library.records import Conversation
from app.ui import formats, theme
from app.ui.cards import small_label
from app.ui.painting import saved
from app.ui.search_field import SearchField

Index = QModelIndex | QPersistentModelIndex
ID_ROLE = Qt.ItemDataRole.UserRole
DETAIL_ROLE = Qt.ItemDataRole.UserRole + 1
SHORT_ROLE = Qt.ItemDataRole.UserRole + 2


class ConversationModel(QAbstractListModel):
    """Rows are headings (str) and conversations, in the order shown."""

    renamed = Signal(str, str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._rows: list[str | Conversation] = []

    def set_conversations(self, conversations: Sequence[Conversation], today: datetime.date) -> None:
        rows: list[str | Conversation] = []
        heading = ""
        for conversation in conversations:
            group = self._group(conversation, today)
            if group != heading:
                heading = group
                rows.append(heading)
            rows.append(conversation)
        if len(rows) == len(self._rows) and all(_key(a) == _key(b) for a, b in zip(rows, self._rows, strict=True)):
            self._rows = rows
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def _group(self, conversation: Conversation, today: datetime.date) -> str:
        days = (today - datetime.date.fromtimestamp(conversation.updated)).days
        if days <= 0:
            return self.tr("Today")
        return self.tr("Yesterday") if days == 1 else self.tr("Earlier")

    def row_of(self, conversation_id: str) -> int:
        return next((row for row, entry in enumerate(self._rows) if _key(entry) == (conversation_id,)), -1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self._rows[index.row()]
        if isinstance(entry, str):
            return entry if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole) else None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return entry.title or self.tr("New conversation")
        if role == ID_ROLE:
            return entry.id
        if role == DETAIL_ROLE:
            return self._detail(entry)
        if role == SHORT_ROLE:
            return self._detail(entry, short=True)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{entry.title}, {self._detail(entry)}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return formats.tip(f"{entry.title}\n{self._detail(entry)}")
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
        if not entry.cached_tokens:
            return entry.scheme
        words = self.tr("{0} · {2} cached") if short else self.tr("{0} · {1} tokens · {2} cached")
        return words.format(entry.scheme, formats.count(entry.cached_tokens), formats.data_size(entry.cached_bytes))


def _key(row: str | Conversation) -> object:
    return row if isinstance(row, str) else (row.id,)


class ConversationDelegate(QStyledItemDelegate):
    """A title and a quiet second line; headings in small type."""

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:
        if index.data(ID_ROLE) is None:
            return QSize(100, QFontMetrics(theme.font(theme.SMALL)).height() + (20 if index.row() else 12))
        title, detail = QFontMetrics(theme.font()), QFontMetrics(theme.font(theme.SMALL))
        return QSize(100, title.height() + detail.height() + 16)

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
            state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
            selected = bool(state & QStyle.StateFlag.State_Selected)
            if selected or state & QStyle.StateFlag.State_MouseOver:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(colors.selected if selected else colors.hover))
                painter.drawRoundedRect(QRectF(rect).adjusted(0, 1, 0, -1), 8, 8)
            area = rect.adjusted(10, 7, -10, -7)
            title_font = theme.font()
            painter.setFont(title_font)
            painter.setPen(QColor(colors.text))
            metrics = QFontMetrics(title_font)
            elide = Qt.TextElideMode.ElideRight
            title = metrics.elidedText(str(index.data()), elide, area.width())
            painter.drawText(area, align | Qt.AlignmentFlag.AlignTop, title)
            painter.setFont(small)
            painter.setPen(QColor(colors.muted))
            small_metrics = QFontMetrics(small)
            detail = str(index.data(DETAIL_ROLE))
            if small_metrics.horizontalAdvance(detail) > area.width():
                detail = small_metrics.elidedText(str(index.data(SHORT_ROLE)), elide, area.width())
            painter.drawText(area, align | Qt.AlignmentFlag.AlignBottom, detail)

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, _index: Index) -> None:
        rect: QRect = option.rect  # type: ignore[attr-defined]
        editor.setGeometry(rect.adjusted(2, 4, -2, -4))

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        super().setEditorData(editor, index)
        if isinstance(editor, QLineEdit):
            editor.selectAll()


class _List(QListView):
    delete_pressed = Signal()

    @property
    def editing(self) -> bool:
        """Whether a name is being typed."""
        return self.state() == QListView.State.EditingState

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.currentIndex().isValid():
            self.delete_pressed.emit()
            return
        super().keyPressEvent(event)


class Sidebar(QWidget):
    """Emits what the user wants with a conversation; `refresh` shows the library's list."""

    conversation_chosen = Signal(str)
    left = Signal()  # the user is done here: a click, Enter, or Escape in the empty search
    rename_requested = Signal(str, str)
    delete_requested = Signal(str)
    models_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 10, 8, 8)
        column.setSpacing(4)
        self.search = SearchField(self)
        self.search.setPlaceholderText(self.tr("Search titles"))
        self.search.setAccessibleName(self.tr("Search conversations by title"))
        self.search.textChanged.connect(self.on_search_changed)
        self.search.left.connect(self.left)
        column.addWidget(self.search)
        self.model = ConversationModel(self)
        self.model.renamed.connect(self.rename_requested)
        self.list = _List(self)
        self.list.setAccessibleName(self.tr("Conversations"))
        self.list.setModel(self.model)
        delegate = ConversationDelegate(self.list)
        delegate.closeEditor.connect(self.on_editor_closed, Qt.ConnectionType.QueuedConnection)
        self.list.setItemDelegate(delegate)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setMouseTracking(True)
        self.list.setEditTriggers(QListView.EditTrigger.EditKeyPressed)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self.on_menu_requested)
        self.list.delete_pressed.connect(self.on_delete)
        self.list.selectionModel().currentChanged.connect(self.on_current_changed)
        self.list.clicked.connect(self.left)
        self.list.activated.connect(self.left)
        self.no_match = small_label(self.tr("No conversation matches"), self)
        self.no_match.setContentsMargins(10, 6, 0, 0)
        self.no_match.hide()
        column.addWidget(self.no_match)
        column.addWidget(self.list, 1)
        self.models = QToolButton(self)
        self.models.setText(f" {self.tr('Models')}")
        self.models.setAccessibleName(self.tr("Models"))
        self.models.setIconSize(QSize(18, 18))
        self.models.setProperty("role", "place")
        self.models.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.models.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.models.setCheckable(True)
        self.models.clicked.connect(self.models_clicked)
        column.addWidget(self.models)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self._conversations: Sequence[Conversation] = ()
        self._current = ""
        self._quiet = False

    def refresh(self, conversations: Sequence[Conversation], current: str) -> None:
        self._conversations = conversations
        self._current = current
        if self.list.editing:
            return  # a new list would take the name that is being typed; on_editor_closed comes back to it
        words = self.search.text().casefold().split()
        shown = [c for c in conversations if all(word in c.title.casefold() for word in words)]
        self.no_match.setVisible(bool(words) and not shown)
        self._quiet = True
        self.model.set_conversations(shown, datetime.date.today())
        row = self.model.row_of(current)
        if row >= 0:
            self.list.setCurrentIndex(self.model.index(row))
        else:
            self.list.clearSelection()
            self.list.setCurrentIndex(QModelIndex())
        self._quiet = False

    def on_theme_changed(self) -> None:
        self.models.setIcon(theme.icon("models"))

    def on_editor_closed(self) -> None:
        self.refresh(self._conversations, self._current)

    def on_search_changed(self, _text: str) -> None:
        self.refresh(self._conversations, self._current)

    def on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        chosen = current.data(ID_ROLE) if current.isValid() else None
        if chosen and not self._quiet and chosen != self._current:
            self._current = str(chosen)
            self.conversation_chosen.emit(self._current)

    def on_menu_requested(self, position: QPoint) -> None:
        index = self.list.indexAt(position)
        if index.data(ID_ROLE) is None:
            return
        self.list.setCurrentIndex(index)
        menu = QMenu(self)
        menu.addAction(self.tr("Rename"), self.on_rename)
        menu.addAction(self.tr("Delete"), self.on_delete)
        menu.exec(self.list.viewport().mapToGlobal(position))
        menu.deleteLater()

    def on_rename(self) -> None:
        if self.list.currentIndex().isValid():
            self.list.edit(self.list.currentIndex())

    def on_delete(self) -> None:
        chosen = self.list.currentIndex().data(ID_ROLE)
        if chosen:
            self.delete_requested.emit(str(chosen))
