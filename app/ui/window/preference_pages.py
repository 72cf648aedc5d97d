"""The pages of the preferences that are nobody else's: General and Models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from app.settings import Settings
from app.ui.models.account import AccountBox
from app.ui.models.hub_link import Hub
from app.ui.shared import language, theme
from app.ui.shared.cards import small_label
from app.ui.shared.choice import Choice
from app.ui.shared.usual import IDLE_MINUTES, LOAD_LAST, OPEN_LAST, USUAL_SCHEME, idle_minutes, usual_scheme
from app.ui.window.appearance import PERCENTS, Appearance

IDLE_CHOICES = (0, 5, 15, 30, 60, 240)
SCHEMES = ("turbo4", "turbo3", "turbo2", "turbo4v3", "turbo4v2", "turbo8v4", "turbo8", "turbo0v4", "turbo0v2", "none")


class GeneralPage(QWidget):
    """`scheme_changed(name)` of new conversations; empty: the one chosen last."""

    scheme_changed = Signal(str)

    def __init__(self, settings: Settings, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._settings, self._appearance = settings, appearance
        self._form = QFormLayout(self)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setVerticalSpacing(10)
        self._form.setHorizontalSpacing(18)
        self._form.setLabelAlignment(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        self._form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        looks = ((self.tr("Match the system"), "system"), (self.tr("Light"), "light"), (self.tr("Dark"), "dark"))
        self.look = self._choice(self.tr("Appearance"), looks, appearance.look, self.on_look)
        sizes = ((f"{percent} %", percent) for percent in PERCENTS)
        self.text_size = self._choice(self.tr("Text size"), sizes, appearance.percent, self.on_size)
        names = ((self.tr("Match the system"), ""), *((name, code) for code, name in language.NAMES.items()))
        self.language = self._choice(self.tr("Language"), names, language.chosen(settings), self.on_language)
        self._note(self.tr("The language changes with the next start."))
        schemes = ((self.tr("The one chosen last"), ""), *((name, name) for name in SCHEMES))
        words = self.tr("Compression of new conversations")
        self.scheme = self._choice(words, schemes, usual_scheme(settings), self.on_scheme)
        self._form.addRow(_heading(self.tr("When the program starts"), self))
        self.open_last = self._check(self.tr("Open the conversation used last"), OPEN_LAST)
        self.load_last = self._check(self.tr("Load the model used last"), LOAD_LAST)
        appearance.changed.connect(self.on_appearance_changed)

    def _choice(self, words: str, choices: Iterable[tuple[str, Any]], chosen: object,
                on_chosen: Callable[[], None]) -> Choice:  # fmt: skip
        label, box = QLabel(words, self), Choice(self)
        label.setBuddy(box)
        box.setAccessibleName(words)
        for name, value in choices:
            box.addItem(name, value)
        box.setCurrentIndex(box.findData(chosen))
        box.activated.connect(on_chosen)
        self._form.addRow(label, box)
        return box

    def _note(self, words: str) -> None:
        self._form.addRow("", small_label(words, self))

    def _check(self, words: str, key: str) -> QCheckBox:
        box = QCheckBox(words, self)
        box.setChecked(self._settings.get(key, True))
        box.toggled.connect(lambda on: self._settings.set(key, on))
        self._form.addRow(box)
        return box

    def on_look(self) -> None:
        self._appearance.set_look(self.look.currentData())

    def on_size(self) -> None:
        self._appearance.set_percent(self.text_size.currentData())

    def on_appearance_changed(self) -> None:
        """The menu changes the size too."""
        self.look.setCurrentIndex(self.look.findData(self._appearance.look))
        self.text_size.setCurrentIndex(self.text_size.findData(self._appearance.percent))

    def on_language(self) -> None:
        self._settings.set(language.SETTING, self.language.currentData())

    def on_scheme(self) -> None:
        self._settings.set(USUAL_SCHEME, self.scheme.currentData())
        self.scheme_changed.emit(self.scheme.currentData())


class ModelsPage(QWidget):
    """`idle_changed(minutes)`: how long a model may lie idle in memory."""

    idle_changed = Signal(int)

    def __init__(self, settings: Settings, hub: Hub, parent: QWidget) -> None:
        super().__init__(parent)
        self._settings = settings
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        form = QFormLayout()
        form.setHorizontalSpacing(18)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        label, self.idle = QLabel(self.tr("Unload an idle model"), self), Choice(self)
        label.setBuddy(self.idle)
        self.idle.setAccessibleName(label.text())
        minutes = idle_minutes(settings)
        for choice in sorted({*IDLE_CHOICES, minutes}):
            self.idle.addItem(self.tr("After %n minutes", "", choice) if choice else self.tr("Never"), choice)
        self.idle.setCurrentIndex(self.idle.findData(minutes))
        self.idle.activated.connect(self.on_idle)
        form.addRow(label, self.idle)
        column.addLayout(form)
        words = small_label(self.tr("Its memory goes back to other programs; the next message loads it again."), self)
        words.setWordWrap(True)
        column.addWidget(words)
        column.addSpacing(14)
        self.account = AccountBox(hub, self)
        column.addWidget(self.account)

    def on_idle(self) -> None:
        minutes = int(self.idle.currentData())
        self._settings.set(IDLE_MINUTES, minutes)
        self.idle_changed.emit(minutes)


def _heading(words: str, parent: QWidget) -> QLabel:
    label = QLabel(words, parent)
    label.setFont(theme.font(bold=True))
    label.setContentsMargins(0, 14, 0, 0)
    return label
