"""Where the user writes: Enter sends, Shift+Enter breaks the line, and the button stops what is being written."""

from __future__ import annotations

import math
import unicodedata

from PySide6.QtCore import QEvent, QMimeData, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QInputMethodEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QTextEdit, QVBoxLayout, QWidget

from app.ui import formats, theme
from app.ui.cards import small_label
from app.ui.drop_target import models_in
from app.ui.text_pane import wrap_mode

MAX_LINES = 9


class MessageEdit(QTextEdit):
    """Plain text that grows with its content. An Enter that ends a composition of an input method never sends."""

    submitted = Signal()
    focus_changed = Signal()

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

    def on_document_size_changed(self) -> None:
        line = self.fontMetrics().lineSpacing()
        needed = math.ceil(self.document().size().height())
        limit = MAX_LINES * line + 4
        self.setFixedHeight(max(line + 4, min(needed, limit)))
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policy.ScrollBarAsNeeded if needed > limit else policy.ScrollBarAlwaysOff)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

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
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            event.accept()
            if not self._composing and not event.isAutoRepeat():
                self.submitted.emit()
            return
        super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return not models_in(source) and super().canInsertFromMimeData(source)  # the window takes a dropped model

    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasText():
            self.wrap_for(self.toPlainText() + source.text())
            self.insertPlainText(source.text())

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


def says_something(text: str) -> bool:
    """Whether any of it can be seen; spaces of no width and marks of direction can't."""
    return any(unicodedata.category(letter) not in ("Cc", "Cf", "Zs", "Zl", "Zp") for letter in text)


class Composer(QWidget):
    """`sent(text)` carries a message that isn't empty; it stays in the box until `clear`. `stop_clicked` asks to stop
    the running reply."""

    sent = Signal(str)
    stop_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        column = QVBoxLayout(self)
        column.setContentsMargins(13, 11, 11, 10)
        column.setSpacing(8)
        self.edit = MessageEdit(self)
        self.edit.setPlaceholderText(self.tr("Message"))
        self.edit.setAccessibleName(self.tr("Message"))
        self.edit.submitted.connect(self.on_submitted)
        self.edit.textChanged.connect(self.on_text_changed)
        self.edit.focus_changed.connect(self.update)
        column.addWidget(self.edit)
        row = QHBoxLayout()
        row.setSpacing(8)
        self._note = small_label("", self)
        self._note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.button = QPushButton(self)
        self.button.setProperty("role", "primary")
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the caret in the text
        self.button.clicked.connect(self.on_button_clicked)
        row.addWidget(self._note, 1)
        row.addWidget(self.button)
        column.addLayout(row)
        self._blocked = ""
        self._generating = False
        self._context = ""
        theme.theme().changed.connect(self._update)
        self._update()

    # ------------------------------------------------------------ state

    def set_generating(self, generating: bool) -> None:
        self._generating = generating
        self._update()

    def set_blocked(self, reason: str) -> None:
        """While `reason` isn't empty nothing can be sent, and it is shown."""
        self._blocked = reason
        self._update()

    def set_context(self, used_tokens: int, context_tokens: int) -> None:
        self._context = ""
        if context_tokens:
            self._context = self.tr("Context {0} of {1}").format(
                formats.count(used_tokens), formats.count(context_tokens)
            )
        self._update()

    @property
    def note(self) -> str:
        """What stands below the text: why nothing can be sent, else the context used."""
        return self._note.text()

    @property
    def can_send(self) -> bool:
        return not self._blocked and not self._generating and says_something(self.edit.toPlainText())

    def _update(self) -> None:
        colors = theme.colors()
        self._note.setText(self._blocked or self._context)
        if self._generating:
            self.button.setText(self.tr("Stop"))
            self.button.setIcon(theme.icon("stop", colors.on_accent))
            self.button.setToolTip(self.tr("Stop (Esc)"))
            self.button.setEnabled(True)
        else:
            sendable = self.can_send
            self.button.setText(self.tr("Send"))
            self.button.setIcon(theme.icon("send", colors.on_accent if sendable else colors.muted))
            self.button.setToolTip(formats.tip(self._blocked) or self.tr("Send (Enter)"))
            self.button.setEnabled(sendable)
        self.button.setAccessibleName(self.button.text())
        self.update()

    # ------------------------------------------------------------ what the user does

    def on_text_changed(self) -> None:
        self.edit.wrap_for(self.edit.toPlainText())
        self._update()

    def on_submitted(self) -> None:
        if self.can_send:
            self.sent.emit(self.edit.toPlainText().strip())

    def clear(self) -> None:
        """The text is safe elsewhere."""
        self.edit.clear()

    def give_back(self, text: str) -> None:
        """A message that wasn't answered, before what was typed meanwhile."""
        whole = "\n\n".join(part for part in (text, self.edit.toPlainText().strip()) if part)
        self.edit.wrap_for(whole)
        self.edit.setPlainText(whole)
        self.edit.moveCursor(QTextCursor.MoveOperation.End)

    def on_button_clicked(self) -> None:
        if self._generating:
            self.stop_clicked.emit()
        else:
            self.on_submitted()
        self.edit.setFocus()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colors = theme.colors()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(colors.accent if self.edit.hasFocus() else colors.line))
            painter.setBrush(QColor(colors.panel))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 13, 13)
