"""The transcript: a scrolling column that follows its end, unless the reader has scrolled up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QFrame, QScrollArea, QToolButton, QVBoxLayout, QWidget

from app.ui import theme
from app.ui.messages import EmptyState

COLUMN_WIDTH = 720
SIDE_MARGIN = 32
SPACING = 18
# A long conversation is built from its end; earlier pieces are built when the reader scrolls towards them.
FIRST_PAGE = 40
PAGE = 30

ItemMaker = Callable[[], QWidget]


class Transcript(QScrollArea):
    """Holds the widgets of one conversation. `show_items` replaces all, `append` adds one at the end."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Transcript"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._column = QWidget(self)
        self._column.setObjectName("transcriptColumn")
        self._layout = QVBoxLayout(self._column)
        self._layout.setSpacing(SPACING)
        self._layout.addStretch(1)
        self.setWidget(self._column)
        self._items: list[QWidget] = []
        self._earlier: list[ItemMaker] = []
        self._following = True
        self._anchor: tuple[QWidget, int] | None = None  # what the reader sees, and where it stands in the viewport
        self._moving = False
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self.on_scrolled)
        bar.rangeChanged.connect(self.on_range_changed)
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
        """Show another conversation: its newest pieces now, the earlier ones as the reader comes to them."""
        for item in self._items:
            item.hide()
            item.deleteLater()
        self._items.clear()
        self._earlier = list(makers)
        self._following = True
        self._build_earlier(FIRST_PAGE)
        self._update_empty()

    def append(self, item: QWidget) -> None:
        self._items.append(item)
        self._layout.insertWidget(self._layout.count() - 1, item)
        self._update_empty()

    def remove(self, item: QWidget) -> None:
        self._items.remove(item)
        item.hide()
        item.deleteLater()
        self._update_empty()

    def replace(self, item: QWidget, other: QWidget) -> None:
        """`other` takes the place of `item`."""
        place = self._items.index(item)
        self._items[place] = other
        self._layout.replaceWidget(item, other)
        item.hide()
        item.deleteLater()
        if not self._following:
            self._anchor = self._find_anchor(self.verticalScrollBar().value())

    def replace_from(self, place: int, makers: Sequence[ItemMaker]) -> None:
        """Other pieces take the place of items()[place] and all behind it; the first of them stands where it stood."""
        old, self._items[place:] = self._items[place:], []
        at = old[0].y() - self.verticalScrollBar().value() if old else 0
        for item in old:
            self._layout.removeWidget(item)
            item.hide()
            item.deleteLater()
        for maker in makers:
            self.append(maker())
        if old and makers:
            self._following, self._anchor = False, (self._items[place], at)
        self._update_empty()

    def reveal(self, wanted: Callable[[QWidget], bool]) -> QWidget | None:
        """Bring the piece that is `wanted` to the top of the view, building earlier ones until it is found."""
        while (item := next(filter(wanted, self._items), None)) is None and self._earlier:
            self._build_earlier(PAGE)
        if item is not None:
            self._following, self._anchor = False, (item, SPACING)
            self._layout.activate()
            self._move_to(item.y() - SPACING)
        return item

    def items(self) -> list[QWidget]:
        return list(self._items)

    def _build_earlier(self, number: int) -> None:
        makers, self._earlier = self._earlier[-number:], self._earlier[:-number]
        made = [maker() for maker in makers]
        for position, item in enumerate(made):
            self._layout.insertWidget(position, item)
        self._items[:0] = made

    def _update_empty(self) -> None:
        self.empty.setVisible(not self._items)
        self._layout.setContentsMargins(*self._margins())

    # ------------------------------------------------------------ scrolling

    @property
    def following(self) -> bool:
        return self._following

    def follow(self) -> None:
        self._following = True
        self._move_to(self.verticalScrollBar().maximum())
        self._to_end.hide()

    def on_scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        if self._moving:
            return
        self._following = value >= bar.maximum() - 4
        self._anchor = self._find_anchor(value)
        self._to_end.setVisible(not self._following)
        if self._earlier and value < self.viewport().height():
            self._build_earlier(PAGE)

    def on_range_changed(self, _minimum: int, maximum: int) -> None:
        if self._following:
            self._move_to(maximum)
        elif self._anchor is not None and self._anchor[0] in self._items:
            # Text was added above: what the reader sees stays where it is. The range changes before the column is laid
            # out anew, so that is done first.
            self._layout.setGeometry(QRect(QPoint(0, 0), self._column.size()))
            item, offset = self._anchor
            self._move_to(item.y() - offset)
        self._to_end.setVisible(not self._following and maximum > 0)

    def _find_anchor(self, value: int) -> tuple[QWidget, int] | None:
        visible = next((item for item in self._items if item.geometry().bottom() > value), None)
        return (visible, visible.y() - value) if visible is not None else None

    def _move_to(self, value: int) -> None:
        self._moving = True
        self.verticalScrollBar().setValue(value)
        self._moving = False

    # ------------------------------------------------------------ geometry

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._layout.setContentsMargins(*self._margins())
        size = 34
        self._to_end.setGeometry((self.width() - size) // 2, self.height() - size - 10, size, size)
        width = min(self.viewport().width() - 2 * SIDE_MARGIN, 460)
        self.empty.setGeometry((self.width() - width) // 2, int(self.height() * 0.36), width, 130)

    def _margins(self) -> tuple[int, int, int, int]:
        """The column stands in the middle of the whole width, whether or not the scroll bar takes some of it."""
        side = max(SIDE_MARGIN, (self.width() - COLUMN_WIDTH) // 2)
        bar = self.width() - self.viewport().width()
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            return side - bar, 24, side, 20
        return side, 24, side - bar, 20

    def on_theme_changed(self) -> None:
        c = theme.colors()
        self._to_end.setIcon(theme.icon("down"))
        self._to_end.setStyleSheet(
            f"#toEnd {{ background: {c.background}; border: 1px solid {c.line}; border-radius: 17px; }}"
            f"#toEnd:hover {{ background: {c.hover}; }}"
        )
