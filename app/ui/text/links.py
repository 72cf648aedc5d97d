"""Addresses in a conversation lead outside only after they were shown in full."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QPushButton, QWidget

from app.ui.shared import formats
from app.ui.shared.question import Question

OPENED = ("http", "https", "mailto")


class LinkQuestion(Question):
    """Shows where a link leads, and opens it when the reader says so. Other kinds of address can only be copied."""

    def __init__(self, address: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.url, self._address = QUrl(address), address
        opens = self.url.isValid() and self.url.scheme().lower() in OPENED
        words = (
            self.tr("Open this address outside the program?")
            if opens
            else self.tr("Addresses of this kind aren't opened from a conversation.")
        )
        self.say(words, _lines(address))
        self.setWindowTitle(self.tr("Open a link"))
        self.open_button: QPushButton | None = None
        if opens:
            words = self.tr("Write a message") if self.url.scheme() == "mailto" else self.tr("Open in the browser")
            self.open_button = self.add_button(words, default=True)
            self.open_button.clicked.connect(self.on_open)
        self.copy_button = self.add_button(self.tr("Copy the address"))
        self.copy_button.clicked.connect(self.on_copy)

    def on_open(self) -> None:
        QDesktopServices.openUrl(self.url)

    def on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._address)


def ask(address: str, parent: QWidget) -> LinkQuestion:
    """Show where the link leads. `address` is written out as it is sent: letters of other alphabets are encoded."""
    question = LinkQuestion(address, parent)
    question.open()
    return question


def _lines(address: str, width: int = 64, most: int = 16) -> str:
    """The address in lines, since a label breaks no word."""
    lines = [address[start : start + width] for start in range(0, len(address), width)]
    if len(lines) > most:
        left_out = QCoreApplication.translate("LinkQuestion", "… {0} more characters", "", len(address) - most * width)
        lines[most:] = [left_out.format(formats.count(len(address) - most * width))]
    return "\n".join(lines)
