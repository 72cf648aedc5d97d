"""A card that floats inside the window beside a button, with a shadow on every platform."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.shared import reading_order, theme
from app.ui.shared.painting import SHADOW, floating_card

GAP = 6  # between the button and the card
MARGIN = 8  # to the window's edge
RADIUS = 12


class Popover(QWidget):
    """Escape, a press elsewhere and the focus leaving it close it. `wanted_height` says how high it would like to be.

    A child of the window and not a window of its own: input methods and menus work in it as anywhere.
    """

    closed = Signal()

    def __init__(self, width: int, window: QWidget) -> None:
        super().__init__(window)
        self.hide()
        self._width = width
        self._anchor: QWidget | None = None
        self.setContentsMargins(SHADOW, SHADOW, SHADOW, SHADOW)
        theme.theme().changed.connect(self.on_look_changed)

    @property
    def card_width(self) -> int:
        """At the present size of text, where the window is that wide."""
        return theme.at_scale(self._width)

    def wanted_height(self) -> int:
        return self.sizeHint().height() - 2 * SHADOW

    def open_at(self, anchor: QWidget) -> None:
        """Above the button, else below it, wherever there is more room."""
        self._anchor = anchor
        self.place()
        self.show()
        self.raise_()
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.installEventFilter(self)
        app.focusChanged.connect(self.on_focus_changed)

    def close_card(self) -> None:
        if self.isHidden():
            return
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.removeEventFilter(self)
        app.focusChanged.disconnect(self.on_focus_changed)
        self.hide()
        self.closed.emit()

    def place(self) -> None:
        """Where its button is, as high as wanted and as there is room for."""
        if self._anchor is None:
            return
        window = self._anchor.window()
        corner = self._anchor.mapTo(window, QPoint(0, 0))
        above = corner.y() - GAP - MARGIN
        below = window.height() - corner.y() - self._anchor.height() - GAP - MARGIN
        upwards = above >= min(self.wanted_height(), below)
        height = min(self.wanted_height(), above if upwards else below)
        width = min(self.card_width, window.width() - 2 * MARGIN)
        mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        x = corner.x() + self._anchor.width() - width if mirrored else corner.x()
        x = max(MARGIN, min(x, window.width() - width - MARGIN))
        y = corner.y() - GAP - height if upwards else corner.y() + self._anchor.height() + GAP
        self.setGeometry(x - SHADOW, y - SHADOW, width + 2 * SHADOW, height + 2 * SHADOW)

    def on_look_changed(self) -> None:
        if self.isVisible():
            self.place()
            self.update()

    # ------------------------------------------------------------ closing

    def on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is None or new is self or self.isAncestorOf(new) or new.window() is not self.window():
            return
        if old is not None and self.isAncestorOf(old) and not old.isVisible() and (near := self._near(old)) is not None:
            near.setFocus()  # nobody took it elsewhere: what had it was hidden
        else:
            self.close_card()

    def _near(self, hidden: QWidget) -> QWidget | None:
        place = hidden.parentWidget()
        while place is not None and place is not self.parentWidget():
            if (stop := next(reading_order.stops(place), None)) is not None:
                return stop
            place = place.parentWidget()
        return None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if self.isHidden() or not isinstance(watched, QWidget):
            return False
        inside = watched is self or self.isAncestorOf(watched)
        if isinstance(event, QKeyEvent) and inside and event.key() == Qt.Key.Key_Escape:
            if kind == QEvent.Type.ShortcutOverride:
                event.accept()  # Escape is this card's, not the window's Stop
                return True
            if kind == QEvent.Type.KeyPress:
                self.close_card()
                return True
        if kind == QEvent.Type.MouseButtonPress and not inside and watched.window() is self.window():
            self.close_card()
            anchor = self._anchor
            return anchor is not None and watched is anchor  # the press that would open it again
        if kind == QEvent.Type.Resize and watched is self.window():
            self.place()
        return False

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            card = QRectF(self.rect()).adjusted(SHADOW, SHADOW, -SHADOW, -SHADOW)
            floating_card(painter, card, RADIUS, theme.colors().panel)
