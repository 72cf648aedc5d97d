"""A question, or news that can't wait: a sentence, what it means, and buttons to go on with."""

from __future__ import annotations

import sys
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
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


class Question(Dialog):
    """Every button closes it. `finished` says so, and `answer` which one did; with Cancel, Close and Escape it is None.

    It is gone after that.
    """

    def __init__(self, parent: QWidget | None, text: str = "", details: str = "", *, warns: bool = False,
                 news: bool = False) -> None:  # fmt: skip
        """`warns`: with a sign; `news`: it is closed, since there is nothing to cancel."""
        super().__init__(parent)
        self.answer: QPushButton | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setWindowTitle(self.tr("TurboQuant Chat"))
        self._head, self._details, self._sign = _words(self), _words(self), QLabel(self)
        self._head.setFont(theme.font(1.08, bold=True))
        self._details.setProperty("role", "muted")
        self._sign.setVisible(warns)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._row.setSpacing(8)
        self._buttons: list[QPushButton] = []
        self.leave = self.add_button(self.tr("Close") if news else self.tr("Cancel"), default=True)
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
        column.addLayout(self._row)
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

    def add_button(self, words: str, *, default: bool = False) -> QPushButton:
        """`default`: Enter presses it, else the one that leaves all as it is."""
        button = QPushButton(words, self)
        if default and self._buttons:
            button.setProperty("role", "primary")
        if default:
            button.setDefault(True)
        button.clicked.connect(self.on_clicked)
        self._buttons.append(button)
        return button

    def on_clicked(self) -> None:
        pressed = self.sender()
        if isinstance(pressed, QPushButton) and pressed is not self.leave:
            self.answer = pressed
        self.done(int(self.answer is not None))

    def showEvent(self, event: QShowEvent) -> None:
        """The buttons stand beside each other where there is room."""
        self._place_buttons()
        super().showEvent(event)
        self._column.activate()
        self.fit()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def _place_buttons(self) -> None:
        """What Enter presses first, then the others, last the one that leaves; the other way round on a Mac."""
        order = sorted(self._buttons, key=lambda button: (not button.isDefault(), button is self.leave))
        if order[0] is self.leave:
            order = [*order[1:], self.leave]
        wanted = sum(button.sizeHint().width() + self._row.spacing() for button in order)
        beside = wanted <= min(theme.at_scale(MOST_WIDTH), self._room())
        self._row.setDirection(QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom)
        while self._row.takeAt(0):
            pass
        if beside:
            self._row.addStretch(1)
        for button in reversed(order) if beside and sys.platform == "darwin" else order:
            self._row.addWidget(button)
        for before, after in pairwise(order):
            self.setTabOrder(before, after)
        next(button for button in order if button.isDefault()).setFocus()

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
