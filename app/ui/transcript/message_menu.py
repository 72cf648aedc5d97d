"""The context menu of a message: what its text offers, and what can be done with the message."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu, QPlainTextEdit, QTextBrowser, QWidget


def show(item: QWidget, event: QContextMenuEvent, fill: Callable[[QMenu], None]) -> None:
    """Open it for the text of `item` under the pointer, or, by the menu key, for the one with the focus."""
    by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
    menu = _of_text(item, QApplication.focusWidget() if by_key else item.childAt(event.pos()), event)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    fill(menu)
    menu.popup(event.globalPos())
    event.accept()


def _of_text(item: QWidget, at: QWidget | None, event: QContextMenuEvent) -> QMenu:
    while at is not None and at is not item:
        if isinstance(at, QTextBrowser):
            menu = at.createStandardContextMenu(at.viewport().mapFromGlobal(event.globalPos()))
        elif isinstance(at, QPlainTextEdit):
            menu = at.createStandardContextMenu()
        else:
            at = at.parentWidget()
            continue
        for action in menu.actions():
            action.setText(action.text().replace("&", ""))  # one underlined letter among entries that have none
            if action.objectName() == "link-copy":  # Qt's: only where there is a link
                action.setVisible(action.isEnabled())
        menu.addSeparator()
        return menu
    return QMenu(item)
