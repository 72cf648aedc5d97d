"""Undo to Select all, as the Edit menu has them: what the widget with the focus can do of that."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QTextEdit, QWidget

_WRITES = ("undo", "redo", "cut", "paste")
_NEEDS_SELECTION = ("cut", "copy")


def can(widget: QWidget | None, slot: str) -> bool:
    """Whether `slot` ("undo", "redo", "cut", "copy", "paste", "selectAll") would do something in `widget` now."""
    if widget is None or widget.metaObject().indexOfSlot(f"{slot}()") < 0:
        return False
    if not isinstance(widget, QLineEdit | QTextEdit | QPlainTextEdit):
        return True
    if slot in _WRITES and widget.isReadOnly():
        return False
    history = widget if isinstance(widget, QLineEdit) else widget.document()
    if slot == "undo":
        return history.isUndoAvailable()
    if slot == "redo":
        return history.isRedoAvailable()
    if slot in _NEEDS_SELECTION:
        return widget.hasSelectedText() if isinstance(widget, QLineEdit) else widget.textCursor().hasSelection()
    return slot != "paste" or isinstance(widget, QLineEdit) or widget.canPaste()


def do(widget: QWidget | None, slot: str) -> bool:
    """False: there was nothing to do."""
    if widget is None or not can(widget, slot):
        return False
    getattr(widget, slot)()
    return True
