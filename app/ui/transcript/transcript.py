"""The transcript: a scrolling column that follows its end, unless the reader has scrolled up.

Only what is near the reader is made and laid out; the rest keeps its place by the height that it had, or by a guess.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QToolButton, QWidget

from app.ui.shared import theme
from app.ui.transcript.empty_state import EmptyState
from app.ui.transcript.pieces import Entry, ItemMaker

COLUMN_WIDTH = 720
SIDE_MARGIN = 32
TOP, BOTTOM, SPACING = 24, 20, 18
# What is made as a conversation is opened: so many pieces, so many letters. Earlier ones as the reader comes to them.
FIRST_PAGE, FIRST_LETTERS = 20, 30_000
NEAR = 2.0  # screens above and below that stay laid out; others are hidden, so that a resize doesn't wait for them
ROUNDS = 8  # a piece that is made may bring others near; a round is one look at which


class Transcript(QScrollArea):
    """Holds the pieces of one conversation. `show_items` replaces all, `append` adds one at the end.

    Signals: `made(entry)` when a piece has come into being, `shown` when another conversation has.
    """

    made = Signal(object)
    shown = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Transcript"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._column = _Column(self)
        self._column.changed.connect(self.arrange)
        self.setWidget(self._column)
        self._entries: list[Entry] = []
        self._following = True
        self._anchor: tuple[Entry, int] | None = None  # what the reader sees, and where it stands in the viewport
        self._busy = False
        self._covered = 0  # so much of the top lies under something else
        self._top = TOP  # where the first piece begins
        self._slack = 0  # so far a short column can be scrolled, for what came over it while it was read
        self._prefetch = QTimer(self, singleShot=True, interval=0)
        self._prefetch.timeout.connect(self.on_prefetch)
        self.verticalScrollBar().valueChanged.connect(self.on_scrolled)
        self._to_end = QToolButton(self)
        self._to_end.setToolTip(self.tr("To the newest text"))
        self._to_end.setAccessibleName(self.tr("To the newest text"))
        self._to_end.setObjectName("toEnd")
        self._to_end.setCursor(Qt.CursorShape.PointingHandCursor)
        self._to_end.clicked.connect(self.follow)
        self._to_end.hide()
        self.empty = EmptyState(self)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        QShortcut(QKeySequence(QKeySequence.StandardKey.MoveToEndOfDocument), self, self.follow,
                  context=Qt.ShortcutContext.WidgetWithChildrenShortcut)  # fmt: skip

    # ------------------------------------------------------------ content

    def show_items(self, makers: Sequence[ItemMaker]) -> None:
        """Show another conversation, at its end."""
        self._drop(self._entries)
        self._entries = [Entry(maker) for maker in makers]
        self._following, self._anchor = True, None
        self._uncover()
        self._make_last(0)
        self.arrange()
        self.shown.emit()

    def append(self, item: QWidget) -> None:
        entry = Entry(widget=item)
        self._entries.append(entry)
        self._adopt(entry)
        self.arrange()

    def remove(self, item: QWidget) -> None:
        entry = self._entry_of(item)
        self._entries.remove(entry)
        self._drop([entry])
        self.arrange()

    def replace(self, item: QWidget, other: QWidget) -> None:
        """`other` takes the place of `item`."""
        entry = self._entry_of(item)
        self._drop([entry])
        entry.widget = other
        self._adopt(entry)
        self.arrange()

    def replace_from(self, place: int, makers: Sequence[ItemMaker]) -> None:
        """Other pieces take the place of items()[place] and all behind it; the first of them stands where it stood."""
        items = self.items()
        start = self._entries.index(self._entry_of(items[place - 1])) + 1 if place else 0
        old, self._entries[start:] = self._entries[start:], [Entry(maker) for maker in makers]
        at = old[0].y - self.verticalScrollBar().value() if old else 0
        self._drop(old)
        self._make_last(start)
        if old and makers:
            self._following, self._anchor = False, (self._entries[start], at)
        self.arrange()

    def items(self) -> list[QWidget]:
        """Those that are made, in order."""
        return [entry.widget for entry in self._entries if entry.widget is not None]

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries

    def show_message(self, message_id: str) -> bool:
        """Scroll to a message. False where it isn't in this branch."""
        entry = self.entry_of_message(message_id)
        if entry is not None:
            self.bring(entry)
        return entry is not None

    def entry_of_message(self, message_id: str) -> Entry | None:
        return next((entry for entry in self._entries if entry.message == message_id), None)

    def _entry_of(self, item: QWidget) -> Entry:
        return next(entry for entry in self._entries if entry.widget is item)

    def _make_last(self, start: int) -> None:
        letters = 0
        for entry in self._entries[start:][: -FIRST_PAGE - 1 : -1]:
            if letters > FIRST_LETTERS:
                break
            letters += len(entry.source)
            self._make(entry)

    def _make(self, entry: Entry) -> None:
        if entry.widget is None:
            assert entry.maker is not None
            entry.widget = entry.maker()
            self._adopt(entry)

    def _adopt(self, entry: Entry) -> None:
        """Into the column, before the piece that is read after it."""
        assert entry.widget is not None
        entry.widget.setParent(self._column)
        behind = self._entries[self._entries.index(entry) + 1 :]
        after = next((other.widget for other in behind if other.widget is not None), None)
        if after is not None:
            entry.widget.stackUnder(after)
        entry.widget.show()
        self.made.emit(entry)

    def _drop(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if entry.widget is not None:
                entry.widget.hide()
                entry.widget.deleteLater()
            entry.widget = entry.maker = None

    # ------------------------------------------------------------ laying out

    def arrange(self) -> None:
        """Give every piece its place, and make those that the reader sees."""
        if self._busy:
            return
        self._busy = True
        try:
            if self._anchor is not None and self._anchor[0] not in self._entries:
                self._anchor = None
            for _ in range(ROUNDS):
                if not self._lay_out():
                    break
            self._place_all()
            self.verticalScrollBar().setValue(self._wanted_top())
        finally:
            self._busy = False
        bar = self.verticalScrollBar()
        self.empty.setVisible(not self._entries)
        self._to_end.setVisible(not self._following and bar.maximum() > 0)
        self._prefetch.start()

    def _lay_out(self) -> bool:
        """One round; whether another is needed."""
        self._place_all()
        left, _, width = self.sides()
        height = self.viewport().height()
        top = self._wanted_top()
        margin = int(NEAR * height)
        changed = False
        focus = QApplication.focusWidget()
        for entry in self._entries:
            seen = entry.y + entry.height > top and entry.y < top + height
            near = entry.y + entry.height > top - margin and entry.y < top + height + margin
            if seen and entry.widget is None:
                self._make(entry)
                changed = True
            widget = entry.widget
            if widget is None:
                continue
            if near or entry.width == 0 or (focus is not None and widget.isAncestorOf(focus)):
                if widget.isHidden():
                    widget.show()
                changed |= entry.fit(left, width)
            elif not widget.isHidden():
                widget.hide()
        return changed

    def set_covered(self, height: int) -> None:
        """So much of the top is covered by something else: what is there can be scrolled to below it. Nothing moves for
        that where the reader is; what is shown anew begins below it.
        """
        if height == self._covered:
            return
        self._covered = height
        change = max(TOP, height) - self._top
        if self._entries:
            change = max(change, -self.verticalScrollBar().value())  # a gap that can't be scrolled away stays for now
            self._slack = max(0, self._slack + change)
        self._top += change
        self.arrange()

    def _uncover(self) -> None:
        self._top, self._slack = max(TOP, self._covered), 0

    def _place_all(self) -> None:
        y = self._top
        for entry in self._entries:
            entry.y = y
            if entry.widget is not None and entry.widget.y() != y:
                entry.widget.move(entry.widget.x(), y)
            y += entry.height + SPACING
        total = y - SPACING + BOTTOM if self._entries else 0
        self._column.resize(self.viewport().width(), max(total, self.viewport().height() + self._slack))

    def _wanted_top(self) -> int:
        if self._following or self._anchor is None:
            return max(0, self._column.height() - self.viewport().height())
        entry, offset = self._anchor
        return min(max(0, entry.y - offset), max(0, self._column.height() - self.viewport().height()))

    def on_prefetch(self) -> None:
        """Make one more piece that is near, so that scrolling finds it made."""
        height, top = self.viewport().height(), self.verticalScrollBar().value()
        for entry in reversed(self._entries):
            if entry.widget is None and entry.y + entry.height > top - height and entry.y < top + 2 * height:
                self._make(entry)
                self.arrange()
                return

    # ------------------------------------------------------------ scrolling

    @property
    def following(self) -> bool:
        return self._following

    def follow(self) -> None:
        self._following = True
        self._uncover()
        self.arrange()

    def bring(self, entry: Entry, inside: int = 0, *, margin: int = 80) -> None:
        """Scroll until the place `inside` pixels below the top of a piece is well in sight; it is made if need be."""
        self._make(entry)
        self._following, self._anchor = False, (entry, max(margin, self._covered + 20) - inside)
        self.arrange()
        if self.verticalScrollBar().value() < self._top:  # else the first piece would lie under what covers the top
            self._anchor = (entry, entry.y)
            self.arrange()
        self._look(self.verticalScrollBar().value())

    def sees(self, entry: Entry, inside: int) -> bool:
        place = entry.y + inside - self.verticalScrollBar().value()
        return entry.widget is not None and max(60, self._covered) <= place <= self.viewport().height() - 40

    def first_seen(self) -> int:
        """The place of the piece at the viewport's top."""
        return self._at(self.verticalScrollBar().value())

    def on_scrolled(self, value: int) -> None:
        if not self._busy:
            self._look(value)
            self.arrange()

    def _look(self, value: int) -> None:
        """Take in what the reader sees now."""
        self._following = value >= self.verticalScrollBar().maximum() - 4
        self._anchor = None
        if self._entries:
            entry = self._entries[self._at(value)]
            self._anchor = (entry, entry.y - value)

    def _at(self, y: int) -> int:
        return max(0, bisect_right(self._entries, y - SPACING, key=lambda entry: entry.y) - 1)

    # ------------------------------------------------------------ geometry

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.arrange()
        size = 34
        self._to_end.setGeometry((self.width() - size) // 2, self.height() - size - 10, size, size)
        width = min(self.viewport().width() - 2 * SIDE_MARGIN, 460)
        self.empty.setGeometry((self.width() - width) // 2, int(self.height() * 0.36), width, 130)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.arrange()  # what is hidden can't be measured

    def sides(self) -> tuple[int, int, int]:
        """Left edge, right edge and width of the column's text: in the middle of the whole width, whether or not the
        scroll bar takes some of it.
        """
        side = max(SIDE_MARGIN, (self.width() - COLUMN_WIDTH) // 2)
        mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        left = side - (self.width() - self.viewport().width() if mirrored else 0)
        return left, left + self.width() - 2 * side, self.width() - 2 * side

    def on_theme_changed(self) -> None:
        c = theme.colors()
        self._to_end.setIcon(theme.icon("down"))
        self._to_end.setStyleSheet(
            f"#toEnd {{ background: {c.background}; border: 1px solid {c.line}; border-radius: 17px; }}"
            f"#toEnd:hover {{ background: {c.hover}; }}"
        )


class _Column(QWidget):
    """Tells when one of its pieces needs another height."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("transcriptColumn")

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.changed.emit()
        return super().event(event)
