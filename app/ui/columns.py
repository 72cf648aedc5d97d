"""The window's three columns: side columns fold away where the middle would become too narrow to read."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.ui.cards import Line

SIDEBAR_WIDTH = 244
PANEL_WIDTH = 336
CENTER_LEAST = 440
CENTER_SQUEEZED = 300  # beside a column that was asked for


class Columns(QWidget):
    """`folded` when other columns are shown than before: see `shown`. `wanted` is what the user asked to see."""

    folded = Signal()

    def __init__(self, sidebar: QWidget, middle: QWidget, panel: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self.wanted = {"sidebar": True, "panel": True}
        self.shown: dict[str, bool] = {}
        self._allowed: Collection[str] = tuple(self.wanted)
        # The column opened last stays when there is room for one only.
        self._preferred = "panel"
        self._asked = ""  # shown although the middle becomes narrow
        self._columns = {"sidebar": (sidebar, Line(self)), "panel": (panel, Line(self))}
        self._widths = {"sidebar": SIDEBAR_WIDTH, "panel": PANEL_WIDTH}
        for name, (column, _) in self._columns.items():
            column.setFixedWidth(self._widths[name])
        middle.setMinimumWidth(CENTER_SQUEEZED)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for widget in (*self._columns["sidebar"], middle, *reversed(self._columns["panel"])):
            row.addWidget(widget, 1 if widget is middle else 0)

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

    def fold(self) -> None:
        """Show the side columns that are wanted, allowed and fit beside a readable middle."""
        room = self.width() - CENTER_LEAST
        if self._widths.get(self._asked, 0) <= room:
            self._asked = ""
        shown = dict.fromkeys(self._widths, False)
        for name in sorted(self._allowed, key=lambda name: name != self._preferred):
            squeezed = room + (CENTER_LEAST - CENTER_SQUEEZED if name == self._asked else 0)
            shown[name] = self.wanted[name] and self._widths[name] <= squeezed
            room -= self._widths[name] if shown[name] else 0
        for name, (column, line) in self._columns.items():
            column.setVisible(shown[name])
            line.setVisible(shown[name])
        self.shown = shown
        self.folded.emit()
