"""The window's three columns: side columns are as wide as the user drags them, and fold away where the middle would
become too narrow to read."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from app.ui.shared import theme

CENTER_LEAST = 440
CENTER_SQUEEZED = 300  # beside a column that was asked for
# Least, usual and greatest width, at the usual size of text; larger text takes more.
WIDTHS = {"sidebar": (180, 244, 420), "panel": (300, 336, 520)}


class Columns(QSplitter):
    """`folded` when other columns are shown than before: see `shown`. `wanted` is what the user asked to see."""

    folded = Signal()

    def __init__(self, sidebar: QWidget, middle: QWidget, panel: QWidget, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.wanted = {"sidebar": True, "panel": True}
        self.shown: dict[str, bool] = {}
        self._allowed: Collection[str] = tuple(self.wanted)
        # The column opened last stays when there is room for one only.
        self._preferred = "panel"
        self._asked = ""  # shown although the middle becomes narrow
        self._columns = {"sidebar": sidebar, "panel": panel}
        self._widths = {name: usual for name, (_, usual, _) in WIDTHS.items()}
        for widget in (sidebar, middle, panel):
            self.addWidget(widget)
        middle.setMinimumWidth(CENTER_SQUEEZED)
        self.setStretchFactor(1, 1)
        for handle in (1, 2):
            self.handle(handle).setAccessibleName(self.tr("Width of the column"))
        self.splitterMoved.connect(self.on_dragged)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def on_theme_changed(self) -> None:
        for name, column in self._columns.items():
            column.setMinimumWidth(theme.at_scale(WIDTHS[name][0]))
            column.setMaximumWidth(theme.at_scale(WIDTHS[name][2]))
        self.fold()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fold()

    def allow(self, names: Collection[str]) -> None:
        """The page in the middle bears these columns; others wait."""
        self._allowed = names
        self.fold()

    def toggle(self, name: str, shown: bool) -> None:
        self.wanted[name] = shown
        self._asked = name if shown else ""
        if shown:
            self._preferred = name
        self.fold()

    def width_of(self, name: str) -> int:
        return self._widths[name]

    def set_width(self, name: str, width: int) -> None:
        """As it was dragged to; 0: the usual one."""
        least, usual, most = WIDTHS[name]
        self._widths[name] = min(max(width, least), most) if width else usual
        self.fold()

    def on_dragged(self) -> None:
        for name, column in self._columns.items():
            if self.shown[name]:
                self._widths[name] = round(column.width() / theme.at_scale(1000) * 1000)
        self.fold()

    def fold(self) -> None:
        """Show the side columns that are wanted, allowed and fit beside a readable middle."""
        room = self.width() - CENTER_LEAST
        widths = {name: theme.at_scale(width) for name, width in self._widths.items()}
        if widths.get(self._asked, 0) <= room:
            self._asked = ""
        shown = dict.fromkeys(widths, 0)
        for name in sorted(self._allowed, key=lambda name: name != self._preferred):
            free = room + (CENTER_LEAST - CENTER_SQUEEZED if name == self._asked else 0)
            least = theme.at_scale(WIDTHS[name][0 if name == self._asked else 1])
            if self.wanted[name] and free >= min(widths[name], least):
                shown[name] = min(widths[name], free)
                room -= shown[name]
        for name, column in self._columns.items():
            column.setVisible(bool(shown[name]))
        left, right = shown["sidebar"], shown["panel"]
        self.setSizes([left, max(self.width() - left - right, 0), right])
        self.shown = {name: bool(width) for name, width in shown.items()}
        self.folded.emit()
