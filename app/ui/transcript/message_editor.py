"""A message of the user while it is edited, in the place of its bubble."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QPushButton, QSizePolicy, QTextEdit, QVBoxLayout, QWidget

from app import attachments
from app.ui.composer.attachment_row import AttachmentRow
from app.ui.composer.message_edit import MessageEdit, says_something, trimmed
from app.ui.shared import formats, painting, theme

MARGINS = (13, 11, 11, 10)


class MessageEditor(QWidget):
    """`saved(id, text)` wants the text answered in the message's place; it stays until somebody takes it away.
    `changed(id, text)`: what is typed so far.
    """

    saved = Signal(str, str)
    changed = Signal(str, str)
    cancelled = Signal(str)

    def __init__(self, message_id: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.message_id = message_id
        self.setAccessibleName(self.tr("Edit this message"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        column = QVBoxLayout(self)
        column.setContentsMargins(*MARGINS)
        column.setSpacing(8)
        self.edit = _Edit(self)
        self.edit.setAccessibleName(self.tr("Edit this message"))
        words, files = attachments.split(text)
        self.files = AttachmentRow(self)
        self.files.set_all(files)
        self.files.changed.connect(self.on_text_changed)
        self.files.wanted_as_text.connect(self.edit.insert)
        self.edit.replace(words)
        self.edit.submitted.connect(self.on_save)
        self.edit.cancelled.connect(self.on_cancel)
        self.edit.textChanged.connect(self.on_text_changed)
        self.edit.focus_changed.connect(self.update)
        self.setFocusProxy(self.edit)
        column.addWidget(self.files)
        column.addWidget(self.edit)
        self._row = row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        row.setSpacing(8)
        row.addStretch()
        self.cancel = QPushButton(self.tr("Cancel"), self)
        self.cancel.setToolTip(self.tr("Leave the message as it was (Esc)"))
        self.cancel.clicked.connect(self.on_cancel)
        self.save = QPushButton(self.tr("Save && answer"), self)
        self.save.setProperty("role", "primary")
        self.save.setAccessibleName(self.tr("Save and answer"))
        keys = formats.keys("Return")
        words = self.tr("Answer this instead; what was said before is kept ({0})").format(keys)
        self.save.setToolTip(formats.tip(words))
        self.save.clicked.connect(self.on_save)
        row.addWidget(self.cancel)
        row.addWidget(self.save)
        column.addLayout(row)
        theme.theme().changed.connect(self.on_theme_changed)

    @property
    def text(self) -> str:
        """The whole message, with its files."""
        return self.files.content(trimmed(self.edit.toPlainText()))

    def _says_something(self) -> bool:
        return says_something(self.edit.toPlainText()) or bool(self.files.chips)

    def on_text_changed(self) -> None:
        words = self.edit.toPlainText()
        self.edit.wrap_for(words)
        self.save.setEnabled(self._says_something())
        self.changed.emit(self.message_id, self.files.content(words))

    def on_save(self) -> None:
        if self._says_something():
            self.saved.emit(self.message_id, self.text)

    def on_cancel(self) -> None:
        self.cancelled.emit(self.message_id)

    def on_theme_changed(self) -> None:
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The buttons stand beside each other where there is room."""
        super().resizeEvent(event)
        wanted = self.cancel.sizeHint().width() + self._row.spacing() + self.save.sizeHint().width()
        beside = wanted <= self.width() - MARGINS[0] - MARGINS[2]
        self._row.setDirection(QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.BottomToTop)

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painting.input_frame(painter, QRectF(self.rect()), focused=self.edit.hasFocus())


class _Edit(MessageEdit):
    """Enter submits and Shift+Enter breaks the line, as in the composer; Esc cancels."""

    cancelled = Signal()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and self._means(event):
            event.accept()  # else the window's Stop or Send would hear it
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        signal = self._means(event)
        if signal is None:
            QTextEdit.keyPressEvent(self, event)
        elif not self._composing and not event.isAutoRepeat():
            signal.emit()

    def _means(self, event: QKeyEvent) -> SignalInstance | None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            return self.submitted
        return self.cancelled if event.key() == Qt.Key.Key_Escape else None
