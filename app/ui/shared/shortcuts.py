"""The sheet of keyboard shortcuts: what the menus hold, and the keys that belong to a place."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QBoxLayout, QFrame, QGridLayout, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.ui.shared import formats, theme
from app.ui.shared.actions import Actions
from app.ui.shared.dialog import Dialog


class Shortcuts(Dialog):
    """Two columns of groups; one where the screen is too narrow for both."""

    def __init__(self, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.pane = scroll = QScrollArea(self)
        scroll.setObjectName("plainScroll")
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setAccessibleName(self.windowTitle())
        self._body = body = QWidget(scroll)
        body.setObjectName("plainBody")
        self._columns = columns = QHBoxLayout(body)
        columns.setContentsMargins(24, 20, 24, 20)
        columns.setSpacing(40)
        groups = [(title, _keys(entries)) for title, entries in actions.layout()] + self._places()
        groups = [(title, rows) for title, rows in groups if rows]
        half = sum(len(rows) + 2 for _, rows in groups) / 2
        for side in (False, True):
            column = QVBoxLayout()
            column.setSpacing(18)
            done = 0
            for title, rows in groups:
                if (done + len(rows) / 2 >= half) == side:
                    column.addLayout(_group(title, rows, body))
                done += len(rows) + 2
            column.addStretch()
            columns.addLayout(column, 1)
        scroll.setWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)
        self.fit()

    def usual_size(self) -> QSize:
        """As large as its words, and as tall as the screen has room for."""
        self._columns.setDirection(QBoxLayout.Direction.LeftToRight)
        self._body.ensurePolished()
        if self._body.sizeHint().width() + theme.SCROLL_BAR > self.screen().availableSize().width() * 0.95:
            self._columns.setDirection(QBoxLayout.Direction.TopToBottom)
        wanted = self._body.sizeHint()
        return QSize(wanted.width() + theme.SCROLL_BAR, wanted.height())

    def _places(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Keys that mean something where the cursor is."""
        return [
            (
                self.tr("In the message"),
                [
                    (self.tr("Send"), formats.keys("Return")),
                    (self.tr("A new line"), formats.keys("Shift+Return")),
                    (self.tr("What you wrote before, while it is empty"), formats.keys("Up")),
                ],
            ),
            (
                self.tr("In the list of conversations"),
                [
                    (self.tr("Another one"), f"{formats.keys('Up')} {formats.keys('Down')}"),
                    (self.tr("Back to the message"), formats.keys("Esc")),
                    (self.tr("Delete it"), formats.keys("Del")),
                ],
            ),
            (
                self.tr("In the chart"),
                [(self.tr("Read its values"), f"{formats.keys('Left')} {formats.keys('Right')}")],
            ),
        ]


def _keys(entries: list[QAction | None]) -> list[tuple[str, str]]:
    """(what it does, its keys) of those that have any."""
    return [
        (entry.text().removesuffix("…"), "  ".join(dict.fromkeys(formats.keys(keys) for keys in entry.shortcuts()[:2])))
        for entry in entries
        if entry is not None and entry.shortcuts()
    ]


def _group(title: str, rows: list[tuple[str, str]], parent: QWidget) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(16)
    grid.setVerticalSpacing(7)
    head = QLabel(title, parent)
    head.setFont(theme.font(bold=True))
    grid.addWidget(head, 0, 0, 1, 2)
    for row, (words, keys) in enumerate(rows, 1):
        grid.addWidget(QLabel(words, parent), row, 0)
        label = QLabel(keys, parent)
        label.setProperty("role", "muted")
        grid.addWidget(label, row, 1, Qt.AlignmentFlag.AlignTrailing)
    grid.setColumnStretch(0, 1)
    return grid
