"""A window beside the main one, which stays usable."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QDialog, QLayout, QWidget

from app.ui.shared import focus_ring, theme


class Dialog(QDialog):
    """Closes with Escape and with Ctrl+W (⌘W), which closes whatever is in front. Larger text makes it larger."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        QShortcut(QKeySequence("Ctrl+W"), self, self.close)
        self._scale = theme.theme().scale
        theme.theme().changed.connect(self.on_text_size)

    def showEvent(self, event: QShowEvent) -> None:
        self._forget_sizes()
        super().showEvent(event)
        self._fit_text()

    def focusNextPrevChild(self, forward: bool) -> bool:
        moved = super().focusNextPrevChild(forward)
        focus_ring.mark()
        return moved

    def usual_size(self) -> QSize:
        """At the present size of text; by default what the layout wants."""
        return self.sizeHint()

    def fit(self) -> None:
        """As large as usual, and no larger than the screen."""
        self.resize(self.usual_size().boundedTo(self.screen().availableSize() * 0.95))

    def on_text_size(self) -> None:
        if self.isVisible():  # else what it wants isn't known before it is shown
            self._fit_text()

    def _fit_text(self) -> None:
        if self._scale != theme.theme().scale:  # else only colours have changed
            self._scale = theme.theme().scale
            self._forget_sizes()
            self.fit()

    def _forget_sizes(self) -> None:
        """Text that grew has told no layout while nobody saw it, and tells one that does only later."""
        for layout in self.findChildren(QLayout):
            layout.invalidate()

    def bring_up(self) -> None:
        self.show()
        self.raise_()
        self.activateWindow()
