"""The list that the scheme dropdown opens: a floating card inside the window, with a shadow on every platform."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QObject, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QFrame, QListView, QStyledItemDelegate, QVBoxLayout, QWidget
from shiboken6 import isValid

from app.ui.shared import theme
from app.ui.shared.painting import SHADOW, floating_card

PADDING = 6
GAP = 5  # between the button and the card
RADIUS = 10
MOUSE = Qt.FocusReason.MouseFocusReason


class SchemeList(QWidget):
    """`chosen(row)`, then `closed`. Keys: arrows, Enter, Escape; a press anywhere else closes it."""

    chosen = Signal(int)
    closed = Signal()

    def __init__(self, model: QAbstractItemModel, delegate: QStyledItemDelegate, anchor: QWidget) -> None:
        super().__init__(anchor)
        self.hide()
        self._anchor = anchor
        self._before: QWidget | None = None  # what had the focus, and gets it back
        self.view = QListView(self)
        self.view.setModel(model)
        self.view.setItemDelegate(delegate)
        self.view.setFrameShape(QFrame.Shape.NoFrame)
        self.view.setMouseTracking(True)
        self.view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setAccessibleName(self.tr("KV cache schemes"))
        self.view.entered.connect(self.view.setCurrentIndex)
        self.view.clicked.connect(self.on_clicked)
        self.view.installEventFilter(self)
        column = QVBoxLayout(self)
        around = SHADOW + PADDING
        column.setContentsMargins(around, around, around, around)
        column.addWidget(self.view)
        theme.theme().changed.connect(self.on_theme_changed)

    def on_theme_changed(self) -> None:
        self.update()

    # ------------------------------------------------------------ opening and closing

    def open(self, row: int) -> None:
        """Below the button; above it where there is more room and too little below. Without the button, which a narrow
        window has no room for, in the window's upper corner.
        """
        window = self._anchor.window()
        self.setParent(window)
        rows = sum(self.view.sizeHintForRow(at) for at in range(self.view.model().rowCount()))
        wanted = rows + 2 * PADDING
        button = QRect(self._anchor.mapTo(window, QPoint(0, 0)), self._anchor.size())
        if not self._anchor.isVisible():
            button = QRect(GAP, window.height() // 8, window.width() - 2 * GAP, 0)
        below = window.height() - (button.top() + button.height() + GAP) - SHADOW
        above = button.top() - GAP - SHADOW
        upwards = wanted > below and above > below
        height = min(wanted, above if upwards else below)
        y = button.top() - GAP - height if upwards else button.top() + button.height() + GAP
        width = min(self.view.sizeHintForColumn(0) + 2 * PADDING, window.width() - 2 * GAP)
        if self._anchor.isVisible():
            width = max(self._anchor.width(), width)
        mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        x = button.left() if mirrored else button.left() + button.width() - width  # into the window
        self.setGeometry(x - SHADOW, y - SHADOW, width + 2 * SHADOW, height + 2 * SHADOW)
        self.show()
        self.raise_()
        self.view.setCurrentIndex(self.view.model().index(row, 0))
        self._before = QApplication.focusWidget()
        self.view.setFocus(Qt.FocusReason.PopupFocusReason)
        app = QApplication.instance()
        assert app is not None
        app.installEventFilter(self)

    def close_list(self) -> None:
        if self.isHidden():
            return
        app = QApplication.instance()
        assert app is not None
        app.removeEventFilter(self)
        held = self.view.hasFocus()
        self.hide()
        before, self._before = self._before, None
        if held and before is not None and isValid(before):
            before.setFocus(Qt.FocusReason.PopupFocusReason)
        self.closed.emit()

    def on_clicked(self, index: QModelIndex) -> None:
        self.close_list()
        self.chosen.emit(index.row())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self.view:
            if kind == QEvent.Type.ShortcutOverride:
                event.accept()  # Escape is this list's, not the window's Stop
                return True
            if kind == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
                return self._key(Qt.Key(event.key()))
            if isinstance(event, QFocusEvent) and event.lostFocus() and event.reason() != MOUSE:
                self.close_list()  # of a press hears the filter below, after the focus has gone
        elif not self.isHidden():
            if kind == QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
                if watched is not self and not self.isAncestorOf(watched):
                    self.close_list()
                    return watched is self._anchor  # the press that would open it again
            elif kind in (QEvent.Type.Resize, QEvent.Type.WindowDeactivate) and watched is self.window():
                self.close_list()
        return False

    def _key(self, key: Qt.Key) -> bool:
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.on_clicked(self.view.currentIndex())
        elif key in (Qt.Key.Key_Escape, Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self.close_list()
        else:
            return False
        return True

    def paintEvent(self, _event: QPaintEvent) -> None:
        card = QRectF(self.rect()).adjusted(SHADOW, SHADOW, -SHADOW, -SHADOW)
        with QPainter(self) as painter:
            floating_card(painter, card, RADIUS, theme.colors().background)
