"""How the window looks, as the user wants it: light, dark or as the system is, and the size of its text."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.settings import Settings
from app.ui.shared import theme

LOOKS = ("system", "light", "dark")
PERCENTS = (80, 90, 100, 110, 125, 150, 175, 200)


class Appearance(QObject):
    """`changed` when either is another. Both take effect at once."""

    changed = Signal()

    def __init__(self, settings: Settings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        self.look = settings.get("appearance", "system", valid=LOOKS.__contains__)
        self.percent = settings.get("text_percent", 100, valid=PERCENTS.__contains__)
        if "appearance" in settings:  # else whoever made the theme has chosen
            self._show_look()
        theme.theme().set_scale(self.percent / 100)

    def set_look(self, look: str) -> None:
        self.look = look
        self._settings.set("appearance", look)
        self._show_look()
        self.changed.emit()

    def set_percent(self, percent: int) -> None:
        self.percent = percent
        self._settings.set("text_percent", percent)
        theme.theme().set_scale(percent / 100)
        self.changed.emit()

    def on_larger(self) -> None:
        self._step(1)

    def on_smaller(self) -> None:
        self._step(-1)

    def on_usual_size(self) -> None:
        self.set_percent(100)

    def _step(self, step: int) -> None:
        place = PERCENTS.index(self.percent) + step
        self.set_percent(PERCENTS[min(max(place, 0), len(PERCENTS) - 1)])

    def _show_look(self) -> None:
        theme.theme().force({"light": False, "dark": True}.get(self.look))
