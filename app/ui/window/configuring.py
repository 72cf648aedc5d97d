"""The preferences' window, made when it is first wanted, and what a change there means for the main one."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.settings import Settings
from app.ui.chat.chat import Chat
from app.ui.conversations.storage import Storage
from app.ui.conversations.storage_page import StoragePage
from app.ui.models.hub_link import Hub
from app.ui.shared.actions import Actions
from app.ui.shared.turn import EngineLink
from app.ui.shared.usual import idle_minutes
from app.ui.window.appearance import Appearance
from app.ui.window.preferences import Preferences


class Configuring(QObject):
    """`window` is None until then."""

    def __init__(self, settings: Settings, engine: EngineLink, hub: Hub, chat: Chat, storage: Storage, actions: Actions,
                 parent: QWidget) -> None:  # fmt: skip
        super().__init__(parent)
        self._settings, self._engine, self._hub, self._chat = settings, engine, hub, chat
        self._storage, self._parent = storage, parent
        self.appearance = Appearance(settings, self)
        self.window: Preferences | None = None
        actions.preferences.triggered.connect(self.on_general)
        actions.larger.triggered.connect(self.appearance.on_larger)
        actions.smaller.triggered.connect(self.appearance.on_smaller)
        actions.usual_size.triggered.connect(self.appearance.on_usual_size)
        self.on_idle_changed(idle_minutes(settings))

    def on_general(self) -> None:
        self.show("general")

    def on_account(self) -> None:
        self.show("models")

    def show(self, page: str) -> None:
        if self.window is None:
            self.window = Preferences(self._settings, self.appearance, self._hub, self._parent)
            storage = StoragePage(self._storage, self.window)
            self.window.add_page("storage", self.tr("Storage"), "storage", storage)
            self.window.models.idle_changed.connect(self.on_idle_changed)
            self.window.general.scheme_changed.connect(self._chat.set_usual)
        self.window.begin(page)

    def on_idle_changed(self, minutes: int) -> None:
        self._engine.idle_unload_s = 60.0 * minutes
