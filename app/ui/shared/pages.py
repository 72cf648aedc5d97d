"""What the window's middle shows: the chat, the welcome page while there is nothing to talk to, or the models."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget


class Pages(QStackedWidget):
    """`turned` when another page is shown. The models stay until they are left, whatever happens behind them."""

    turned = Signal()

    def __init__(self, chat: QWidget, welcome: QWidget, models: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._chat, self._welcome, self._models = chat, welcome, models
        for page in (chat, welcome, models):
            self.addWidget(page)
        self._behind = chat  # what the models cover

    @property
    def on_models(self) -> bool:
        return self.currentWidget() is self._models

    @property
    def on_welcome(self) -> bool:
        return self.currentWidget() is self._welcome

    @property
    def welcome_waits(self) -> bool:
        """Whether that page is shown, or would be without the models."""
        return self._behind is self._welcome

    def show_models(self) -> None:
        self._turn(self._models)

    def leave_models(self) -> None:
        self._turn(self._behind)

    def set_welcome(self, welcome: bool) -> None:
        """The welcome page instead of the chat."""
        self._behind = self._welcome if welcome else self._chat
        if not self.on_models:
            self._turn(self._behind)

    def _turn(self, page: QWidget) -> None:
        if page is not self.currentWidget():
            self.setCurrentWidget(page)
            self.turned.emit()
