"""The row of tools of a message: its versions ‹ 2/3 ›, copy, edit or answer again.

Quiet until the pointer or the focus is on the message; the keyboard reaches it at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from app.ui.shared import theme
from app.ui.shared.cards import small_label

COPIED_MS = 1500


class MessageTools(QWidget):
    """`message_id` is the message's own, `versions` all that can stand in its place, in order. `source()` is copied."""

    edit_clicked = Signal(str)
    again_clicked = Signal(str)
    version_chosen = Signal(str)

    def __init__(self, message_id: str, role: str, versions: Sequence[str], source: Callable[[], str]) -> None:
        super().__init__()
        self.message_id, self._role, self._versions, self._source = message_id, role, versions, source
        self.setAccessibleName(self.tr("Tools of this message"))
        self._buttons: list[_Tool] = []
        self._always = self._near = False
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(1)
        if role == "user":
            self.copy = self._tool("copy", self.tr("Copy"), self.tr("Copy this message"))
            self.edit = self._tool("edit", self.tr("Edit"), self.tr("Edit this message"))
            self.edit.clicked.connect(self.on_edit)
        else:
            self.copy = self._tool("copy", self.tr("Copy the whole reply as markdown"), self.tr("Copy this reply"))
            self.again = self._tool("retry", self.tr("Answer again"), self.tr("Answer again"))
            self.again.clicked.connect(self.on_again)
        self.copy.clicked.connect(self.on_copy)
        if self.has_versions:
            self._add_versions()
        self._copied = QTimer(self, singleShot=True, interval=COPIED_MS)
        self._copied.timeout.connect(self.on_theme_changed)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    def _add_versions(self) -> None:
        place = self._versions.index(self.message_id)
        words = self.tr("Version {0} of {1}").format(place + 1, len(self._versions))
        self.previous = self._tool("previous", self.tr("Previous version"), self.tr("Previous version"), quiet=False)
        self.previous.clicked.connect(self.on_previous)
        self.place = small_label(f"{place + 1}/{len(self._versions)}", self)
        self.place.setAccessibleName(words)
        self.place.setToolTip(words)
        self.place.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._row.addWidget(self.place)
        self.next = self._tool("next", self.tr("Next version"), self.tr("Next version"), quiet=False)
        self.next.clicked.connect(self.on_next)
        self.previous.setEnabled(place > 0)
        self.next.setEnabled(place < len(self._versions) - 1)

    def _tool(self, icon: str, tip: str, name: str, quiet: bool = True) -> _Tool:
        tool = _Tool(icon, quiet, self)
        tool.setToolTip(tip)
        tool.setAccessibleName(name)
        tool.installEventFilter(self)
        self._row.addWidget(tool)
        self._buttons.append(tool)
        return tool

    @property
    def has_versions(self) -> bool:
        return len(self._versions) > 1

    # ------------------------------------------------------------ when they are seen

    def watch(self, item: QWidget) -> None:
        """They are seen while the pointer is on `item`."""
        item.setAttribute(Qt.WidgetAttribute.WA_Hover)
        item.installEventFilter(self)

    def set_always(self, always: bool) -> None:
        """Seen without being asked for, as below the last reply."""
        self._always = always
        self._update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.Enter, QEvent.Type.Leave) and watched not in self._buttons:
            self._near = kind == QEvent.Type.Enter
            self._update()
        elif kind in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self._update()
        return super().eventFilter(watched, event)

    def _update(self) -> None:
        seen = self._always or self._near or any(button.hasFocus() for button in self._buttons)
        for button in self._buttons:
            button.set_seen(seen)

    def on_theme_changed(self) -> None:
        for button in self._buttons:
            button.draw(button.name)

    def fill(self, menu: QMenu) -> None:
        """The same in words."""
        if self._role == "user":
            menu.addAction(self.tr("Copy message"), self.on_copy)
            menu.addAction(self.tr("Edit"), self.on_edit)
        else:
            menu.addAction(self.tr("Copy reply"), self.on_copy)
            menu.addAction(self.tr("Answer again"), self.on_again)
        if self.has_versions:
            menu.addSeparator()
            menu.addAction(self.tr("Previous version"), self.on_previous).setEnabled(self.previous.isEnabled())
            menu.addAction(self.tr("Next version"), self.on_next).setEnabled(self.next.isEnabled())

    # ------------------------------------------------------------ what the user does

    def on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._source())
        self.copy.draw("check")
        self._copied.start()

    def on_edit(self) -> None:
        self.edit_clicked.emit(self.message_id)

    def on_again(self) -> None:
        self.again_clicked.emit(self.message_id)

    def on_previous(self) -> None:
        self._choose(-1)

    def on_next(self) -> None:
        self._choose(1)

    def _choose(self, step: int) -> None:
        self.version_chosen.emit(self._versions[self._versions.index(self.message_id) + step])


class _Tool(QToolButton):
    """Takes its place and the focus also while it isn't seen."""

    def __init__(self, name: str, quiet: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self.name, self._quiet, self._seen = name, quiet, False
        self.setProperty("role", "tool")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def draw(self, icon: str) -> None:
        self.setIcon(theme.icon(icon, theme.colors().muted))

    def set_seen(self, seen: bool) -> None:
        self._seen = seen
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._seen or not self._quiet:
            super().paintEvent(event)
