"""The files that a message in the transcript carries: folded to their names, each opened by a press."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QToolButton, QVBoxLayout, QWidget

from app.attachments import Attachment
from app.ui.shared import formats, theme

SHOWN_LINES = 16  # more of them scroll
NAME_WIDTH = 300


class AttachedFiles(QWidget):
    """`toggled` when one is opened or closed: the height is another then."""

    toggled = Signal()

    def __init__(self, files: Sequence[Attachment], parent: QWidget) -> None:
        super().__init__(parent)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self._files = list(files)
        self.buttons = [self._button(file) for file in files]
        self._texts: dict[QToolButton, QPlainTextEdit] = {}  # of those that were opened
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()

    @property
    def open_texts(self) -> list[str]:
        return [text.toPlainText() for button, text in self._texts.items() if button.isChecked()]

    @property
    def opened(self) -> list[QPlainTextEdit | None]:
        """Of each file its text, where that was opened and is."""
        return [self._texts.get(button) if button.isChecked() else None for button in self.buttons]

    def reveal(self, number: int) -> QPlainTextEdit:
        button = self.buttons[number]
        if not button.isChecked():
            button.click()
        return self._texts[button]

    def _button(self, file: Attachment) -> QToolButton:
        button = QToolButton(self)
        button.setProperty("role", "file")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setCheckable(True)
        size = formats.data_size(file.size_bytes)
        name = button.fontMetrics().elidedText(file.name, Qt.TextElideMode.ElideMiddle, NAME_WIDTH)
        button.setText(f"{name}  {formats.isolated(size)}".replace("&", "&&"))
        button.setToolTip(formats.tip(self.tr("Show or hide {0}").format(file.name)))
        button.setAccessibleName(f"{file.name}, {size}")
        button.clicked.connect(self.on_clicked)
        self._column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeading)
        return button

    def on_clicked(self) -> None:
        button = self.sender()
        assert isinstance(button, QToolButton)
        if button not in self._texts:
            self._texts[button] = text = _FileText(self._files[self.buttons.index(button)], self)
            self._column.insertWidget(self._column.indexOf(button) + 1, text)
        self._texts[button].setVisible(button.isChecked())
        self.toggled.emit()

    def natural_width(self, limit: int) -> int:
        return limit if self.open_texts else min(limit, self.sizeHint().width())

    def on_theme_changed(self) -> None:
        colors = theme.colors()
        for button in self.buttons:
            button.setIcon(theme.icon("file", colors.muted))
        self.setStyleSheet(
            f'QToolButton[role="file"] {{ border: 1px solid {colors.line}; border-radius: 8px;'
            f" padding: 3px 9px 3px 6px; background: {colors.background}; }}"
            f'QToolButton[role="file"]:hover, QToolButton[role="file"]:checked {{ background: {colors.hover}; }}'
            f'QToolButton[role="file"]:focus {{ border-color: {colors.accent}; }}'
            f"QPlainTextEdit {{ border: 1px solid {colors.line}; border-radius: 8px; padding: 4px;"
            f" background: {colors.code}; color: {colors.text}; }}"
        )


class _FileText(QPlainTextEdit):
    """Quick with a megabyte, as no document of rich text is."""

    def __init__(self, file: Attachment, parent: QWidget) -> None:
        super().__init__(file.text.rstrip("\n"), parent)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(theme.mono_font(0.94))
        self.setTabChangesFocus(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # its message has one
        self.setAccessibleName(file.name)
        lines = min(self.blockCount() + 1, SHOWN_LINES)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 18)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """What can't be scrolled here scrolls the transcript."""
        bar = self.verticalScrollBar()
        before = bar.value()
        super().wheelEvent(event)
        event.setAccepted(bar.value() != before)
