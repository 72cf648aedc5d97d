"""A window beside the main one, which stays usable."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QWidget


class Dialog(QDialog):
    """Closes with Escape and with Ctrl+W (⌘W), which closes whatever is in front."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        QShortcut(QKeySequence("Ctrl+W"), self, self.close)

    def bring_up(self) -> None:
        self.show()
        self.raise_()
        self.activateWindow()
