"""The box that a message is typed into: plain text that grows, pasted and dropped files, keys that mean something."""

from __future__ import annotations

import math
import re
import unicodedata

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QFocusEvent, QGuiApplication, QInputMethodEvent, QKeyEvent, QKeySequence, QTextCursor
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.ui.shared import theme
from app.ui.shared.drop_target import files_in, taken_from
from app.ui.text.text_pane import wrap_mode

MAX_LINES = 9
LONG_PASTE = 10_000  # letters: the box stays quick and easy to read; such a text is rather a file


class MessageEdit(QTextEdit):
    """Plain text that grows with its content. An Enter that ends a composition of an input method never sends.

    Where `takes_files`, files that are dropped or pasted go to `files_given(paths)` and a long text to
    `long_text_pasted(text)`. `stepped(step)`: up or down was pressed where that could mean earlier messages.
    """

    submitted = Signal()
    focus_changed = Signal()
    files_given = Signal(list)
    long_text_pasted = Signal(str)
    stepped = Signal(int)

    takes_files = False
    steps = False  # set while up and down could mean earlier messages

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(theme.font(1.06))
        self.document().setDocumentMargin(2)
        self.viewport().setAutoFillBackground(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._composing = False
        self.document().documentLayout().documentSizeChanged.connect(self.on_document_size_changed)
        self.on_document_size_changed()

    @property
    def composing(self) -> bool:
        """Whether an input method is still putting letters together."""
        return self._composing

    def on_document_size_changed(self) -> None:
        first = self.document().firstBlock().layout()
        line = math.ceil(first.lineAt(0).height()) if first.lineCount() else self.fontMetrics().lineSpacing()
        needed = math.ceil(self.document().size().height())
        limit = MAX_LINES * line + 4
        self.setFixedHeight(max(line + 4, min(needed, limit)))
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policy.ScrollBarAsNeeded if needed > limit else policy.ScrollBarAlwaysOff)

    # ------------------------------------------------------------ keys

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def replace(self, text: str) -> None:
        """In place of all, letters that an input method is still putting together among it; it can't be undone."""
        if self._composing:
            QGuiApplication.inputMethod().reset()
            self._composing = False
        self.wrap_for(text)
        self.setPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)

    def event(self, event: QEvent) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and event.matches(QKeySequence.StandardKey.Undo)
            and not self.document().isUndoAvailable()
        ):
            event.ignore()  # nothing to undo here: the window's own Undo hears it
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not modifiers & Qt.KeyboardModifier.ShiftModifier:
            event.accept()
            if not self._composing and not event.isAutoRepeat():
                self.submitted.emit()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and not modifiers and self.steps and not self._composing:
            event.accept()
            self.stepped.emit(-1 if key == Qt.Key.Key_Up else 1)
        else:
            super().keyPressEvent(event)

    # ------------------------------------------------------------ what is pasted and dropped

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        if taken_from(source):
            return False  # the window takes it
        return self.takes_files if files_in(source) else super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        files = files_in(source)
        if files:  # which Qt would write out as addresses
            if self.takes_files:
                self.files_given.emit(files)
        elif source.hasText():
            if self.takes_files and len(source.text()) > LONG_PASTE:
                self.long_text_pasted.emit(source.text())
            else:
                self.insert(source.text())

    def insert(self, text: str) -> None:
        """At the cursor, in place of what is selected."""
        self.wrap_for(self.toPlainText() + text)
        self.insertPlainText(text)

    def wrap_for(self, text: str) -> None:
        """Call it before `text` comes in: the layout happens at once."""
        if self.wordWrapMode() != (mode := wrap_mode(text)):
            self.setWordWrapMode(mode)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit()


def trimmed(text: str) -> str:
    """Without blank edges; the first of several lines keeps its indentation, as code needs it."""
    text = re.sub(r"\A\s*\n", "", text.rstrip())
    return text if "\n" in text else text.lstrip()


def says_something(text: str) -> bool:
    """Whether any of it can be seen; spaces of no width and marks of direction can't."""
    return any(unicodedata.category(letter) not in ("Cc", "Cf", "Zs", "Zl", "Zp") for letter in text)
