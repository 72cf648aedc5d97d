"""A question, or news that can't wait: a sentence, what it means, and buttons to go on with."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.shared import theme
from app.ui.shared.dialog import Dialog

WIDTH = 400  # at the usual size of text, as the next one
MOST_WIDTH = 700  # of buttons beside each other
SIGN = 26
Role = QDialogButtonBox.ButtonRole


class Question(Dialog):
    """Every button closes it. `finished` says so, and `answer` which one did; with Cancel, Close and Escape it is None.

    It is gone after that.
    """

    def __init__(self, parent: QWidget | None, text: str = "", details: str = "", *, warns: bool = False,
                 news: bool = False) -> None:  # fmt: skip
        """`warns`: with a sign; `news`: it is closed, since there is nothing to cancel."""
        super().__init__(parent)
        self.answer: QAbstractButton | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setWindowTitle(self.tr("TurboQuant Chat"))
        self._head, self._details, self._sign = _words(self), _words(self), QLabel(self)
        self._head.setFont(theme.font(1.08, bold=True))
        self._details.setProperty("role", "muted")
        self._sign.setVisible(warns)
        self._buttons = QDialogButtonBox(self)
        self._buttons.clicked.connect(self.on_clicked)
        self.leave = self._buttons.addButton(self.tr("Close") if news else self.tr("Cancel"), Role.RejectRole)
        self.leave.setDefault(True)
        words = QVBoxLayout()
        words.setSpacing(8)
        words.addWidget(self._head)
        words.addWidget(self._details)
        row = QHBoxLayout()
        row.setSpacing(14)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        self._column = column = QVBoxLayout(self)
        column.setContentsMargins(22, 20, 22, 18)
        column.setSpacing(20)
        column.addLayout(row)
        column.addWidget(self._buttons)
        theme.theme().changed.connect(self.on_theme_changed)
        self.on_theme_changed()
        self.say(text, details)

    def say(self, text: str, details: str) -> None:
        """Both are plain text."""
        self._head.setText(text)
        self._details.setText(details)
        self._details.setVisible(bool(details))
        self.setAccessibleName(text)
        self.setAccessibleDescription(details)

    @property
    def text(self) -> str:
        return self._head.text()

    @property
    def details(self) -> str:
        return self._details.text()

    def add_button(self, words: str, *, default: bool = False, destroys: bool = False) -> QPushButton:
        """`default`: Enter presses it, else the one that leaves all as it is."""
        role = Role.DestructiveRole if destroys else Role.AcceptRole if default else Role.ActionRole
        button = self._buttons.addButton(words, role)
        if default:
            button.setProperty("role", "primary")
            button.setDefault(True)
        return button

    def on_clicked(self, button: QAbstractButton) -> None:
        if button is not self.leave:
            self.answer = button
        self.done(int(self.answer is not None))

    def showEvent(self, event: QShowEvent) -> None:
        """As wide as its words like to be, the buttons beside each other where there is room."""
        wide = self._buttons.sizeHint().width() > min(theme.at_scale(MOST_WIDTH), self._room())
        self._buttons.setOrientation(Qt.Orientation.Vertical if wide else Qt.Orientation.Horizontal)
        for button in self._buttons.buttons():
            if isinstance(button, QPushButton) and button.isDefault():
                button.setFocus()
        super().showEvent(event)
        self._column.activate()
        self.fit()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def on_theme_changed(self) -> None:
        self._sign.setPixmap(theme.icon("warning", theme.colors().warn).pixmap(theme.sized(SIGN)))
        for label in (self._head, self._details):
            label.setMinimumWidth(min(theme.at_scale(WIDTH), self._room() - 100) - theme.sized(SIGN))

    def _room(self) -> int:
        """The width that the screen has for it."""
        return self.screen().availableSize().width() * 9 // 10


def _words(parent: QWidget) -> QLabel:
    label = QLabel(parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
